import { Annotations } from 'aws-cdk-lib'
import { PolicyDocument, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct } from 'constructs'

/**
 * Lambda takes 20,480 bytes of permissions for a function. One for an authorizer takes 300 bytes with the shortest
 * names and some 380 with those that CloudFormation makes.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const POLICY_BYTES = 20_480
const MIN_BYTES = 300
const WARN_ABOVE = 40

/**
 * A role with which API Gateway may call one function and do nothing else.
 *
 * @param handlers the function, and its alias: stages call the former until they are deployed anew.
 */
export function invokeRoleFor(scope: Construct, handlers: readonly IFunction[]): Role {
  const resources = handlers.map(({ functionArn }) => functionArn)
  const statements = [new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources })]
  return new Role(scope, 'InvokeRole', {
    description: 'Sluice: by this API Gateway calls the authorizer',
    assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
    inlinePolicies: { Invoke: new PolicyDocument({ statements }) },
  })
}

/** Why so many APIs cannot have a permission each; warns near that number. */
export function permissionMistakes(scope: Construct, apis: number): string[] {
  const most = Math.floor(POLICY_BYTES / MIN_BYTES)
  const reason = `Lambda takes 20 KB of permissions for a function, which is about 50 APIs (${scope.node.path})`
  if (apis > most) return [`invokeRole must be true for more than ${most} protected APIs, got ${apis}: ${reason}`]
  if (apis > WARN_ABOVE)
    Annotations.of(scope).addWarningV2(
      'sluice:invokeRole',
      `${apis} protected APIs have a permission each: ${reason}. Set invokeRole: true before a deployment fails`,
    )
  return []
}

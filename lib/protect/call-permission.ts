import { Stack } from 'aws-cdk-lib'
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct, IConstruct } from 'constructs'

/** What stands behind an authorizer. */
export interface ProtectingLimiter {
  readonly handler: IFunction
  /** What a deployment writes for it to enforce: until then nothing is limited. */
  readonly seeds: readonly IConstruct[]
}

/** How API Gateway names a function that it calls. */
export function functionUri(scope: Construct, handler: IFunction): string {
  const { partition, region } = Stack.of(scope)
  return `arn:${partition}:apigateway:${region}:lambda:path/2015-03-31/functions/${handler.functionArn}/invocations`
}

/**
 * Lets one authorizer of one API call the function. The permission is made in `scope`, so that the function's stack
 * need not know the API.
 *
 * @returns what has to be there before the first request: until then each is a 500.
 */
export function permitAuthorizer(
  scope: Construct,
  { handler, seeds }: ProtectingLimiter,
  apiId: string,
  authorizerId: string,
): IConstruct[] {
  handler.addPermission('Permission', {
    scope,
    principal: new ServicePrincipal('apigateway.amazonaws.com'),
    sourceArn: Stack.of(scope).formatArn({
      service: 'execute-api',
      resource: apiId,
      resourceName: `authorizers/${authorizerId}`,
    }),
  })
  return [scope.node.findChild('Permission'), ...seeds]
}

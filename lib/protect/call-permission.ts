import { Stack } from 'aws-cdk-lib'
import { CfnAuthorizer as CfnRestAuthorizer } from 'aws-cdk-lib/aws-apigateway'
import type { CfnAuthorizer as CfnHttpAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2'
import { type IRole, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct, IConstruct } from 'constructs'
import { isResource } from './is-resource'

/** What stands behind an authorizer. */
export interface ProtectingLimiter {
  readonly handler: IFunction
  /** By which API Gateway calls the function. @default a permission for each authorizer */
  readonly invokeRole?: IRole
  /** Whether API Gateway may call the function already, as the owner of its account has said. @default false */
  readonly isPermitted?: boolean
  /** Changes with how the function is called: a stage calls it as it was when the stage was deployed. */
  readonly called: readonly string[]
  /** What a deployment writes for it to enforce: until then nothing is limited. */
  readonly seeds: readonly IConstruct[]
}

/** How API Gateway names a function that it calls. */
export function functionUri(scope: Construct, handler: IFunction): string {
  const { partition, region } = Stack.of(scope)
  return `arn:${partition}:apigateway:${region}:lambda:path/2015-03-31/functions/${handler.functionArn}/invocations`
}

/**
 * Lets one authorizer of one API call the function: by the limiter's role, or else by a permission of its own. That is
 * made in `scope`, so that the function's stack need not know the API.
 *
 * @returns what has to be there before the first request: until then each is a 500.
 */
export function permitAuthorizer(
  scope: Construct,
  { handler, invokeRole, isPermitted, seeds }: ProtectingLimiter,
  apiId: string,
  authorizer: CfnRestAuthorizer | CfnHttpAuthorizer,
): IConstruct[] {
  if (invokeRole) {
    if (isResource(authorizer, CfnRestAuthorizer.CFN_RESOURCE_TYPE_NAME))
      (authorizer as CfnRestAuthorizer).authorizerCredentials = invokeRole.roleArn
    else (authorizer as CfnHttpAuthorizer).authorizerCredentialsArn = invokeRole.roleArn
    return [invokeRole, ...seeds]
  }
  if (isPermitted) return [...seeds]
  handler.addPermission('Permission', {
    scope,
    principal: new ServicePrincipal('apigateway.amazonaws.com'),
    sourceArn: Stack.of(scope).formatArn({
      service: 'execute-api',
      resource: apiId,
      resourceName: `authorizers/${authorizer.ref}`,
    }),
  })
  return [scope.node.findChild('Permission'), ...seeds]
}

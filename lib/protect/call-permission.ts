import { Stack } from 'aws-cdk-lib'
import { CfnAuthorizer as CfnRestAuthorizer } from 'aws-cdk-lib/aws-apigateway'
import type { CfnAuthorizer as CfnHttpAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2'
import { type IRole, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import type { Construct, IConstruct } from 'constructs'
import { isResource } from './is-resource'

/** The function behind an authorizer. */
export interface ProtectingLimiter {
  readonly handler: IFunction
  /** The role with which API Gateway calls the function. @default a permission for each authorizer */
  readonly invokeRole?: IRole | undefined
  /** Whether the function's owner already lets API Gateway call it. @default false */
  readonly isPermitted?: boolean | undefined
  /**
   * Changes with the way in which the function is called: a stage calls it as configured when the stage was deployed.
   */
  readonly called: readonly string[]
  /** The resources that write its tiers: until then nothing is limited. */
  readonly seeds: readonly IConstruct[]
}

/** The URI of a function that API Gateway calls. */
export function functionUri(scope: Construct, handler: IFunction): string {
  const { partition, region } = Stack.of(scope)
  return `arn:${partition}:apigateway:${region}:lambda:path/2015-03-31/functions/${handler.functionArn}/invocations`
}

/**
 * Lets one authorizer of one API call the function.
 *
 * @returns what must exist before the first request: until then each is a 500.
 */
export function permitAuthorizer(
  scope: Construct,
  limiter: ProtectingLimiter,
  apiId: string,
  authorizer: CfnRestAuthorizer | CfnHttpAuthorizer,
): IConstruct[] {
  const { invokeRole, seeds } = limiter
  authorizer.node.addDependency(...seeds) // an API whose limiter is not seeded stays with what it had
  if (invokeRole)
    if (isResource(authorizer, CfnRestAuthorizer.CFN_RESOURCE_TYPE_NAME))
      (authorizer as CfnRestAuthorizer).authorizerCredentials = invokeRole.roleArn
    else (authorizer as CfnHttpAuthorizer).authorizerCredentialsArn = invokeRole.roleArn
  return [...permitCalls(scope, limiter, apiId, authorizer.ref), authorizer]
}

/**
 * Lets an API call the function: by the limiter's role, or else by a permission of its own. The permission is created
 * in `scope`, so that the function's stack need not know the API.
 *
 * @param authorizerId `*` for all authorizers of the API.
 * @returns what must exist before the first call.
 */
export function permitCalls(
  scope: Construct,
  { handler, invokeRole, isPermitted }: ProtectingLimiter,
  apiId: string,
  authorizerId: string,
): IConstruct[] {
  if (invokeRole) return [invokeRole]
  if (isPermitted) return []
  handler.addPermission('Permission', {
    scope,
    principal: new ServicePrincipal('apigateway.amazonaws.com'),
    sourceArn: Stack.of(scope).formatArn({
      service: 'execute-api',
      resource: apiId,
      resourceName: `authorizers/${authorizerId}`,
    }),
  })
  return [scope.node.findChild('Permission')]
}

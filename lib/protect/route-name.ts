import { CfnResource, Reference, Tokenization } from 'aws-cdk-lib'
import { CfnMethod, CfnResource as CfnPath, CfnRestApi, type IRestApi } from 'aws-cdk-lib/aws-apigateway'
import { CfnRoute } from 'aws-cdk-lib/aws-apigatewayv2'
import { isResource } from './is-resource'

/** A method of a REST API or a route of another one. */
export type AnyRoute = CfnMethod | CfnRoute

export const isRoute = (node: unknown): node is AnyRoute =>
  isResource(node, CfnMethod.CFN_RESOURCE_TYPE_NAME) || isResource(node, CfnRoute.CFN_RESOURCE_TYPE_NAME)

/**
 * `GET /orders/{id}` or `$default`, as people name it; a method whose path is not known at synth is named by its place
 * in the app.
 */
export function routeName(route: AnyRoute, api: unknown): string {
  if (!isResource(route, CfnMethod.CFN_RESOURCE_TYPE_NAME)) return (route as CfnRoute).routeKey
  const { httpMethod, resourceId, node } = route as CfnMethod
  const path = pathOf(resourceId, api as IRestApi)
  return `${httpMethod} ${path ?? `of ${node.path}`}`
}

/** Whether browsers send it as a preflight: these are not limited. */
export const isPreflight = (name: string): boolean => name.startsWith('OPTIONS ')

/** The path of a REST API's resource, from the resources that the app makes; undefined below one that it imports. */
function pathOf(resourceId: string, api: IRestApi): string | undefined {
  if (isRootOf(resourceId, api)) return '/'
  const target = targetOf(resourceId)
  if (isResource(target, CfnRestApi.CFN_RESOURCE_TYPE_NAME)) return '/'
  if (!isResource(target, CfnPath.CFN_RESOURCE_TYPE_NAME)) return undefined
  const { parentId, pathPart } = target as CfnPath
  const parent = pathOf(parentId, api)
  return parent === undefined ? undefined : `${parent === '/' ? '' : parent}/${pathPart}`
}

/** An API that is imported by its id alone throws when its root is read. */
function isRootOf(resourceId: string, api: IRestApi): boolean {
  try {
    return resourceId === api.restApiRootResourceId
  } catch {
    return false
  }
}

/** The resource that a token refers to, also in another stack. */
function targetOf(token: string): unknown {
  const [first] = Tokenization.reverseString(token).tokens
  return Reference.isReference(first) && CfnResource.isCfnResource(first.target) ? first.target : undefined
}

import { Stack } from 'aws-cdk-lib'
import { CfnAuthorizer as CfnRestAuthorizer } from 'aws-cdk-lib/aws-apigateway'
import { CfnAuthorizer as CfnHttpAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2'
import type { CfnAlias, CfnFunction, IFunction } from 'aws-cdk-lib/aws-lambda'
import type { IConstruct } from 'constructs'
import { isResource } from './is-resource'

/**
 * Reports every authorizer of the app that calls this function or one of these aliases of it, and caches its answers.
 * `protect()` creates none, but a hand-made authorizer caches for five minutes by default.
 */
export function cachingAuthorizers([handler, ...aliases]: readonly [IFunction, ...IFunction[]]): string[] {
  const ids = [handler, ...aliases].map((one) =>
    Stack.of(one).getLogicalId(one.node.defaultChild as CfnFunction | CfnAlias),
  )
  return handler.node.root.node.findAll().flatMap((node) => {
    if (!isAuthorizer(node)) return []
    const uri = JSON.stringify(Stack.of(node).resolve(node.authorizerUri) ?? '')
    if (!ids.some((id) => uri.includes(id))) return []
    const ttl = node.authorizerResultTtlInSeconds ?? (isWebSocket(node) ? 0 : 300)
    if (ttl === 0) return []
    return [
      `resultsCacheTtl must be 0, got ${ttl} seconds (${node.node.path}): API Gateway would answer from its cache without calling Sluice, so requests ` +
        'would not be counted, and one denial would reject every caller with the same cache key for that time',
    ]
  })
}

type AnyAuthorizer = CfnRestAuthorizer | CfnHttpAuthorizer

function isAuthorizer(node: IConstruct): node is AnyAuthorizer {
  return (
    isResource(node, CfnRestAuthorizer.CFN_RESOURCE_TYPE_NAME) ||
    isResource(node, CfnHttpAuthorizer.CFN_RESOURCE_TYPE_NAME)
  )
}

/** WebSocket authorizers have no cache; they are recognised by having no payload version. */
function isWebSocket(node: AnyAuthorizer): boolean {
  return (
    isResource(node, CfnHttpAuthorizer.CFN_RESOURCE_TYPE_NAME) &&
    (node as CfnHttpAuthorizer).authorizerPayloadFormatVersion === undefined
  )
}

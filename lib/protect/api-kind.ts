import type { CfnResource } from 'aws-cdk-lib'
import type { RestApi, SpecRestApi } from 'aws-cdk-lib/aws-apigateway'
import type { HttpApi, WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'

/** An API that this app makes. */
export type OwnApi = RestApi | SpecRestApi | HttpApi | WebSocketApi

/**
 * Decided by the CloudFormation resource type, because a program can have several copies of the CDK's classes. A
 * document is a REST API whose methods are in an OpenAPI document.
 */
export function kindOf(api: OwnApi): 'REST' | 'DOCUMENT' | 'HTTP' | 'WEBSOCKET' {
  const resource = api.node.defaultChild as
    | (CfnResource & { readonly protocolType?: string; readonly body?: unknown; readonly bodyS3Location?: unknown })
    | undefined
  if (resource?.cfnResourceType === 'AWS::ApiGateway::RestApi')
    return resource.body || resource.bodyS3Location ? 'DOCUMENT' : 'REST'
  if (resource?.protocolType === 'HTTP' || resource?.protocolType === 'WEBSOCKET') return resource.protocolType
  throw new Error(
    `protect() needs a RestApi, SpecRestApi, HttpApi or WebSocketApi of this app, got ${api.node.path}: use attachTo() for an imported REST API`,
  )
}

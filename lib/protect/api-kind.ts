import type { CfnResource } from 'aws-cdk-lib'
import type { RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { HttpApi, WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'

/** Decided by the CloudFormation resource type, because a program can have several copies of the CDK's classes. */
export function kindOf(api: RestApi | HttpApi | WebSocketApi): 'REST' | 'HTTP' | 'WEBSOCKET' {
  const resource = api.node.defaultChild as
    | (CfnResource & { readonly protocolType?: string; readonly body?: unknown; readonly bodyS3Location?: unknown })
    | undefined
  if (resource?.cfnResourceType === 'AWS::ApiGateway::RestApi' && !resource.body && !resource.bodyS3Location)
    return 'REST'
  if (resource?.protocolType === 'HTTP' || resource?.protocolType === 'WEBSOCKET') return resource.protocolType
  throw new Error(
    `protect() needs a RestApi, HttpApi or WebSocketApi of this app, got ${api.node.path}: use attachTo() for an imported REST API, ` +
      'and for an OpenAPI document see docs/deploy.md',
  )
}

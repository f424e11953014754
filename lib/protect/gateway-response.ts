import { Stack } from 'aws-cdk-lib'
import { CfnGatewayResponse, type IRestApi } from 'aws-cdk-lib/aws-apigateway'
import type { Construct } from 'constructs'
import { ACCESS_DENIED, answering429, DEFAULT_4XX, mergeOver } from '../../provisioning/gateway-response'
import { isResource } from './is-resource'

/**
 * Makes a denial a 429 with headers and a problem body. An existing ACCESS_DENIED response is extended, because an API
 * can have only one: its other headers and templates are kept.
 */
export function tooManyRequestsResponse(scope: Construct, api: IRestApi): CfnGatewayResponse {
  const [present] = gatewayResponsesOf(api, ACCESS_DENIED.type)
  const response =
    present ??
    new CfnGatewayResponse(scope, 'OverLimit', { restApiId: api.restApiId, responseType: ACCESS_DENIED.type })
  const { statusCode, parameters, templates } = answering429({
    parameters: headersOf(response),
    templates: (response.responseTemplates ?? {}) as Headers,
  })
  response.statusCode = statusCode
  response.responseParameters = parameters
  response.responseTemplates = templates
  return response
}

/** Until now `DEFAULT_4XX` answered denials: its headers, usually CORS, are kept on denials. */
export function inheritHeaders(response: CfnGatewayResponse, api: IRestApi): void {
  for (const general of gatewayResponsesOf(api, DEFAULT_4XX))
    response.responseParameters = mergeOver(headersOf(general), headersOf(response))
}

type Headers = Readonly<Record<string, string>>

export const headersOf = ({ responseParameters }: CfnGatewayResponse): Headers => (responseParameters ?? {}) as Headers

export function gatewayResponsesOf(api: IRestApi, type: string): CfnGatewayResponse[] {
  return Stack.of(api)
    .node.findAll()
    .filter((node): node is CfnGatewayResponse => isResource(node, CfnGatewayResponse.CFN_RESOURCE_TYPE_NAME))
    .filter(({ restApiId, responseType }) => restApiId === api.restApiId && responseType === type)
}

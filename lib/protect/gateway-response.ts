import { Stack } from 'aws-cdk-lib'
import { CfnGatewayResponse, type IRestApi } from 'aws-cdk-lib/aws-apigateway'
import type { Construct } from 'constructs'
import { ACCESS_DENIED, ACCESS_DENIED_PARAMETERS } from '../../provisioning/gateway-response'
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
  response.statusCode = ACCESS_DENIED.statusCode
  response.responseParameters = withHeaders(response.responseParameters, ACCESS_DENIED_PARAMETERS)
  response.responseTemplates = { ...response.responseTemplates, ...ACCESS_DENIED.templates }
  return response
}

/** Until now `DEFAULT_4XX` answered denials: its headers, usually CORS, are kept on denials. */
export function inheritHeaders(response: CfnGatewayResponse, api: IRestApi): void {
  for (const { responseParameters } of gatewayResponsesOf(api, 'DEFAULT_4XX'))
    response.responseParameters = withHeaders(responseParameters, response.responseParameters)
}

/** Both, with the second's in place of the first's: names of headers are case-insensitive (RFC 9110 §5.1). */
function withHeaders(present: unknown, wanted: unknown): Record<string, string> {
  const ours = (wanted ?? {}) as Record<string, string>
  const names = new Set(Object.keys(ours).map((name) => name.toLowerCase()))
  const kept = Object.entries((present ?? {}) as Record<string, string>).filter(
    ([name]) => !names.has(name.toLowerCase()),
  )
  return { ...Object.fromEntries(kept), ...ours }
}

export function gatewayResponsesOf(api: IRestApi, type: string): CfnGatewayResponse[] {
  return Stack.of(api)
    .node.findAll()
    .filter((node): node is CfnGatewayResponse => isResource(node, CfnGatewayResponse.CFN_RESOURCE_TYPE_NAME))
    .filter(({ restApiId, responseType }) => restApiId === api.restApiId && responseType === type)
}

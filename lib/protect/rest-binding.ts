import { Names } from 'aws-cdk-lib'
import { CfnAuthorizer, type CfnGatewayResponse, type IRestApi } from 'aws-cdk-lib/aws-apigateway'
import type { Construct } from 'constructs'
import { ACCESS_DENIED } from '../../provisioning/gateway-response'
import type { Binding, BindingProps } from './binding'
import { functionUri, type ProtectingLimiter, permitAuthorizer } from './call-permission'
import { bindAndCheck } from './check-binding'
import { inheritHeaders, tooManyRequestsResponse } from './gateway-response'

interface RestBindingProps extends Pick<BindingProps, 'only' | 'selection' | 'isOfThisApp'> {
  /** Whether denials become a 429. */
  readonly answers429: boolean
}

interface RestBinding {
  readonly authorizer: CfnAuthorizer
  readonly binding: Binding
  /** Undefined if denials do not become a 429. */
  readonly response: CfnGatewayResponse | undefined
}

/**
 * Creates the resources in front of a REST API's methods, whether the app makes or imports it: an authorizer that
 * caches nothing, the permission to call the function, the 429, and the binding of the methods to all of this.
 *
 * @param scope the scope of the resources.
 */
export function bindRestApi(
  scope: Construct,
  api: IRestApi,
  limiter: ProtectingLimiter,
  { only, selection, isOfThisApp, answers429 }: RestBindingProps,
): RestBinding {
  const apiId = api.restApiId
  // A cached decision is not counted, and a request without an identity source would get a 401 without a call.
  // `RequestAuthorizer` does not synthesise with an imported API: it needs a method of this app.
  const authorizer = new CfnAuthorizer(scope, 'Authorizer', {
    restApiId: apiId,
    name: Names.uniqueResourceName(scope, { maxLength: 128 }),
    type: 'REQUEST',
    authorizerUri: functionUri(scope, limiter.handler),
    authorizerResultTtlInSeconds: 0,
  })
  const permission = permitAuthorizer(scope, limiter, apiId, authorizer)
  const response = answers429 ? tooManyRequestsResponse(scope, api) : undefined
  const binding = bindAndCheck(
    scope,
    {
      api,
      apiId,
      authorizer,
      noun: 'method',
      only,
      selection,
      before: [...(response ? [response] : []), ...permission],
      contents: [response && ACCESS_DENIED],
      called: limiter.called,
      isOfThisApp,
    },
    (resource) => {
      if (response && resource === response) inheritHeaders(response, api)
    },
  )
  return { authorizer, binding, response }
}

import { Names } from 'aws-cdk-lib'
import { CfnAuthorizer, type Method, type RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Construct } from 'constructs'
import { ACCESS_DENIED } from '../../provisioning/gateway-response'
import type { LabelOptions } from '../seed/label-resource'
import { Binding } from './binding'
import { functionUri, type ProtectingLimiter, permitAuthorizer } from './call-permission'
import { warnOfNoDeployment } from './deployments'
import { gatewayResponsesOf, inheritHeaders, tooManyRequestsResponse } from './gateway-response'
import { checkSelection, type SelectionOptions } from './selection'

/** How `protect` protects a REST API. */
export interface ProtectRestApiOptions extends LabelOptions, SelectionOptions {
  /**
   * The methods to protect; not together with `except`.
   * @default all of the API, those that come later too, but `OPTIONS`
   */
  readonly methods?: readonly Method[]
}

/** An authorizer in front of a REST API's methods, which answers denials with 429. It stands in the API's stack. */
export class RestApiProtection extends Construct {
  readonly authorizer: CfnAuthorizer

  constructor(api: RestApi, limiter: ProtectingLimiter, options: ProtectRestApiOptions) {
    const only = { prop: 'methods', routes: options.methods } as const
    checkSelection(api, only, options)
    super(api, 'Sluice')
    // A cached decision is not counted, and a request without an identity source would get a 401 without a call.
    this.authorizer = new CfnAuthorizer(this, 'Authorizer', {
      restApiId: api.restApiId,
      name: Names.uniqueResourceName(this, { maxLength: 128 }),
      type: 'REQUEST',
      authorizerUri: functionUri(this, limiter.handler),
      authorizerResultTtlInSeconds: 0,
    })
    const permission = permitAuthorizer(this, limiter, api.restApiId, this.authorizer)
    const response = tooManyRequestsResponse(this, api)
    const binding = new Binding(
      this,
      {
        api,
        apiId: api.restApiId,
        authorizer: this.authorizer,
        noun: 'method',
        only,
        selection: options,
        before: [response, ...permission],
        contents: [ACCESS_DENIED],
        isOfThisApp: true,
      },
      (resource) => {
        if (resource === response) inheritHeaders(response, api)
      },
    )
    this.node.addValidation({
      validate: () => {
        warnOfNoDeployment(this, api, binding.deployments)
        return gatewayResponsesOf(api, ACCESS_DENIED.type).length > 1
          ? [`an API has one ${ACCESS_DENIED.type} gateway response: add yours before protect(), which then extends it`]
          : []
      },
    })
  }
}

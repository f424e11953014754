import type { CfnAuthorizer, Method, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Construct } from 'constructs'
import { ACCESS_DENIED } from '../../provisioning/gateway-response'
import type { LabelOptions } from '../seed/label-resource'
import type { ProtectingLimiter } from './call-permission'
import { warnOfNoDeployment } from './deployments'
import { gatewayResponsesOf } from './gateway-response'
import { bindRestApi } from './rest-binding'
import { checkSelection, type SelectionOptions } from './selection'

/** How `protect` protects a REST API. */
export interface ProtectRestApiOptions extends LabelOptions, SelectionOptions {
  /**
   * The methods to protect; not together with `except`.
   * @default all of the API, those that come later too, but `OPTIONS`
   */
  readonly methods?: readonly Method[] | undefined
}

/** An authorizer in front of a REST API's methods, which answers denials with 429. It belongs to the API's stack. */
export class RestApiProtection extends Construct {
  readonly authorizer: CfnAuthorizer

  constructor(api: RestApi, limiter: ProtectingLimiter, options: ProtectRestApiOptions) {
    const only = { prop: 'methods', routes: options.methods } as const
    checkSelection(api, only, options)
    super(api, 'Sluice')
    const { authorizer, binding } = bindRestApi(this, api, limiter, {
      only,
      selection: options,
      isOfThisApp: true,
      answers429: true,
    })
    this.authorizer = authorizer
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

import { Annotations } from 'aws-cdk-lib'
import {
  type CfnAuthorizer,
  type CfnGatewayResponse,
  CfnRestApi,
  Deployment,
  type IRestApi,
  type Method,
} from 'aws-cdk-lib/aws-apigateway'
import { Construct } from 'constructs'
import type { LabelOptions } from '../seed/label-resource'
import type { ProtectingLimiter } from './call-permission'
import { isResource } from './is-resource'
import { bindRestApi } from './rest-binding'
import { checkSelection, type SelectionOptions } from './selection'

/** How `attachTo` protects a REST API that another stack or template owns. */
export interface AttachToOptions extends LabelOptions, SelectionOptions {
  /**
   * The stage to deploy when the protection changes. A deployment includes the complete API: undeployed edits of others
   * go live with it.
   */
  readonly stageName: string
  /**
   * The methods to protect, of those that this app adds to the API; not together with `except`.
   * @default all of them but `OPTIONS`
   */
  readonly methods?: readonly Method[] | undefined
  /**
   * Whether to create the `ACCESS_DENIED` response that makes denials a 429. An API has only one: if another template
   * defines it, set it there.
   *
   * @default true
   */
  readonly gatewayResponse?: boolean | undefined
  /**
   * Any text: a new value deploys the stage again, as is needed after methods were changed elsewhere.
   *
   * @default none
   */
  readonly redeploy?: string | undefined
}

/**
 * What an imported REST API needs to use the limiter: an authorizer without caching, its permission, the 429, and a
 * deployment of the stage. Methods that this app adds get it; methods of other templates must name `authorizerId`
 * there.
 */
export class ImportedRestApiProtection extends Construct {
  readonly authorizer: CfnAuthorizer
  /** For methods of other templates, beside the type `CUSTOM`. */
  readonly authorizerId: string
  /** Undefined where `gatewayResponse` is false. */
  readonly gatewayResponse?: CfnGatewayResponse
  readonly deployment: Deployment

  constructor(api: IRestApi, limiter: ProtectingLimiter, options: AttachToOptions) {
    if (isResource(api.node.defaultChild, CfnRestApi.CFN_RESOURCE_TYPE_NAME))
      throw new Error(
        `attachTo() needs an imported REST API, got ${api.node.path}, which is made in this app: use protect()`,
      )
    const only = { prop: 'methods', routes: options.methods } as const
    checkSelection(api, only, options)
    super(api, 'Sluice')
    const { stageName, gatewayResponse = true, redeploy } = options
    const { authorizer, response } = bindRestApi(this, api, limiter, {
      only,
      selection: options,
      isOfThisApp: false,
      answers429: gatewayResponse,
    })
    this.authorizer = authorizer
    this.authorizerId = authorizer.ref
    this.gatewayResponse = response

    // Retained when it is replaced or the stack is deleted: API Gateway cannot delete a deployment that a stage uses,
    // and this stage stays.
    this.deployment = new Deployment(this, 'Deployment', { api, stageName, retainDeployments: true })
    this.deployment.addToLogicalId({ redeploy: [stageName, redeploy] })

    Annotations.of(this).addWarningV2(
      'sluice:attachTo-methods',
      `methods of ${api.node.path} that are defined in another template must name the authorizer: set type CUSTOM and this authorizerId there, and deploy; ` +
        'or use `sluice attach` instead of attachTo(), and free them before attachTo() is removed: see docs/deploy.md',
    )
  }
}

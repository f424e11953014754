import { AspectPriority, Aspects, Names, Stack } from 'aws-cdk-lib'
import { CfnAuthorizer, CfnMethod, type Method, type RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct, type IConstruct } from 'constructs'
import { ACCESS_DENIED } from '../../provisioning/gateway-response'
import type { LabelOptions } from '../seed/label-resource'
import { bindMethod } from './bind-method'
import { functionUri, permitAuthorizer } from './function-uri'
import { gatewayResponsesOf, inheritHeaders, tooManyRequestsResponse } from './gateway-response'
import { isResource } from './is-resource'

/** How `protect` protects a REST API. */
export interface ProtectRestApiOptions extends LabelOptions {
  /**
   * The methods to protect.
   * @default all of the API, those that come later too, but `OPTIONS`
   */
  readonly methods?: readonly Method[]
}

/** An authorizer in front of a REST API's methods, which answers denials with 429. It stands in the API's stack. */
export class RestApiProtection extends Construct {
  readonly authorizer: CfnAuthorizer
  private readonly found = new Set<IConstruct>()

  constructor(
    private readonly api: RestApi,
    handler: IFunction,
    private readonly options: ProtectRestApiOptions,
  ) {
    super(api, 'Sluice')
    // A cached decision is not counted, and a request without an identity source would get a 401 without a call.
    this.authorizer = new CfnAuthorizer(this, 'Authorizer', {
      restApiId: api.restApiId,
      name: Names.uniqueResourceName(this, { maxLength: 128 }),
      type: 'REQUEST',
      authorizerUri: functionUri(this, handler),
      authorizerResultTtlInSeconds: 0,
    })
    permitAuthorizer(this, handler, api.restApiId, this.authorizer.ref)
    const response = tooManyRequestsResponse(this, api)

    // Methods and the response take effect with a new deployment, which CloudFormation does not create by itself.
    api.latestDeployment?.node.addDependency(this.authorizer, response)
    api.latestDeployment?.addToLogicalId({
      sluice: [this.node.addr, options.methods?.map(({ node }) => node.addr), ACCESS_DENIED],
    })

    Aspects.of(Stack.of(api)).add(
      {
        visit: (node) => {
          if (node === response) inheritHeaders(response, api)
          if (isResource(node, CfnMethod.CFN_RESOURCE_TYPE_NAME)) this.protect(node as CfnMethod)
        },
      },
      { priority: AspectPriority.MUTATING },
    )
    this.node.addValidation({ validate: () => this.mistakes() })
  }

  private protect(method: CfnMethod): void {
    const { methods } = this.options
    if (method.restApiId !== this.api.restApiId || method.httpMethod === 'OPTIONS') return
    if (methods && !methods.some(({ node }) => node.defaultChild === method)) return
    this.found.add(method)
    bindMethod(method, this.authorizer)
  }

  private mistakes(): string[] {
    const mistakes: string[] = []
    if (this.found.size === 0)
      mistakes.push('protect() needs an API with methods, got one without; for an OpenAPI document see docs/deploy.md')
    if (gatewayResponsesOf(this.api, ACCESS_DENIED.type).length > 1)
      mistakes.push(
        `an API has one ${ACCESS_DENIED.type} gateway response: add yours before protect(), which then extends it`,
      )
    return mistakes
  }
}

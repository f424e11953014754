import { Annotations, AspectPriority, Aspects, Names, Stack } from 'aws-cdk-lib'
import { CfnAuthorizer, CfnIntegration, CfnRoute, type HttpApi, type HttpRoute } from 'aws-cdk-lib/aws-apigatewayv2'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct, type IConstruct } from 'constructs'
import type { LabelOptions } from '../seed/label-resource'
import { functionUri, permitAuthorizer } from './function-uri'
import { isResource } from './is-resource'
import { withDecisionHeaders } from './response-mapping'

/** How `protect` protects an HTTP API. */
export interface ProtectHttpApiOptions extends LabelOptions {
  /**
   * The routes to protect.
   * @default all of the API, those that come later too, but `OPTIONS`
   */
  readonly routes?: readonly HttpRoute[]
  /**
   * Whether the gateway adds the decision's headers to responses, so that backends need not.
   * @default true, unless `denials` is 'backend-429', where backends do it
   */
  readonly mapHeaders?: boolean
}

/** An authorizer in front of an HTTP API's routes. It stands in the API's stack. */
export class HttpApiProtection extends Construct {
  readonly authorizer: CfnAuthorizer
  private readonly found = new Set<IConstruct>()

  constructor(
    private readonly api: HttpApi,
    handler: IFunction,
    private readonly options: ProtectHttpApiOptions,
  ) {
    super(api, 'Sluice')
    this.authorizer = new CfnAuthorizer(this, 'Authorizer', {
      apiId: api.apiId,
      name: Names.uniqueResourceName(this, { maxLength: 128 }),
      authorizerType: 'REQUEST',
      authorizerUri: functionUri(this, handler),
      authorizerPayloadFormatVersion: '2.0',
      enableSimpleResponses: true,
      authorizerResultTtlInSeconds: 0, // a decision that is cached does not count
      identitySource: [], // one that a request lacks would be a 401 without a call
    })
    permitAuthorizer(this, handler, api.apiId, this.authorizer.ref)
    Aspects.of(Stack.of(api)).add(
      { visit: (node) => void (isResource(node, CfnRoute.CFN_RESOURCE_TYPE_NAME) && this.protect(node as CfnRoute)) },
      { priority: AspectPriority.MUTATING },
    )
    this.node.addValidation({
      validate: () => (this.found.size === 0 ? ['protect() needs an API with routes, got one without'] : []),
    })
  }

  private protect(route: CfnRoute): void {
    const { routes } = this.options
    if (route.apiId !== this.api.apiId || route.routeKey.startsWith('OPTIONS ')) return
    if (routes && !routes.some(({ node }) => node.defaultChild === route)) return
    this.found.add(route)
    const { authorizationType = 'NONE' } = route
    if (authorizationType !== 'NONE') {
      Annotations.of(route).addError(
        `protect() found a route that already has authorization ${authorizationType}, and a route can have only one: ` +
          'name the other routes in `routes`, or let Sluice verify its tokens',
      )
      return
    }
    route.authorizationType = 'CUSTOM'
    route.authorizerId = this.authorizer.ref
    if (this.options.mapHeaders ?? true) this.mapHeaders(route)
  }

  private mapHeaders(route: CfnRoute): void {
    const target = JSON.stringify(Stack.of(route).resolve(route.target) ?? '')
    for (const node of Stack.of(route).node.findAll()) {
      if (!isResource(node, CfnIntegration.CFN_RESOURCE_TYPE_NAME)) continue
      const integration = node as CfnIntegration
      if (target.includes(JSON.stringify(Stack.of(route).resolve(integration.ref))))
        integration.responseParameters = withDecisionHeaders(integration.responseParameters)
    }
  }
}

import { Annotations, AspectPriority, Aspects, Names, Stack } from 'aws-cdk-lib'
import { CfnAuthorizer, CfnRoute, type WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { LabelOptions } from '../seed/label-resource'
import { functionUri, permitAuthorizer } from './function-uri'
import { isResource } from './is-resource'

/** How `protect` protects a WebSocket API. */
export interface ProtectWebSocketApiOptions extends LabelOptions {}

const CONNECT = '$connect'

/**
 * An authorizer in front of a WebSocket API's `$connect`, the only route that can have one: it limits connections, not
 * messages.
 */
export class WebSocketApiProtection extends Construct {
  readonly authorizer: CfnAuthorizer
  private found = false

  constructor(
    private readonly api: WebSocketApi,
    handler: IFunction,
  ) {
    super(api, 'Sluice')
    this.authorizer = new CfnAuthorizer(this, 'Authorizer', {
      apiId: api.apiId,
      name: Names.uniqueResourceName(this, { maxLength: 128 }),
      authorizerType: 'REQUEST',
      authorizerUri: functionUri(this, handler),
      identitySource: [], // one that a request lacks would be a 401 without a call
    })
    permitAuthorizer(this, handler, api.apiId, this.authorizer.ref)
    Aspects.of(Stack.of(api)).add(
      { visit: (node) => void (isResource(node, CfnRoute.CFN_RESOURCE_TYPE_NAME) && this.protect(node as CfnRoute)) },
      { priority: AspectPriority.MUTATING },
    )
    this.node.addValidation({
      validate: () => (this.found ? [] : [`protect() needs an API with a ${CONNECT} route, got one without`]),
    })
  }

  private protect(route: CfnRoute): void {
    if (route.apiId !== this.api.apiId || route.routeKey !== CONNECT) return
    this.found = true
    const { authorizationType = 'NONE' } = route
    if (authorizationType !== 'NONE') {
      Annotations.of(route).addError(
        `protect() found ${CONNECT} with authorization ${authorizationType}, and a route can have only one`,
      )
      return
    }
    route.authorizationType = 'CUSTOM'
    route.authorizerId = this.authorizer.ref
  }
}

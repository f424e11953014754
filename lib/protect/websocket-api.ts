import { Names } from 'aws-cdk-lib'
import { CfnAuthorizer, type WebSocketApi } from 'aws-cdk-lib/aws-apigatewayv2'
import { Construct } from 'constructs'
import type { LabelOptions } from '../seed/label-resource'
import { functionUri, type ProtectingLimiter, permitAuthorizer } from './call-permission'
import { bindAndCheck } from './check-binding'
import { StageWatch } from './deployments'

/** How `protect` protects a WebSocket API. */
export interface ProtectWebSocketApiOptions extends LabelOptions {}

const CONNECT = '$connect'

/**
 * An authorizer in front of a WebSocket API's `$connect`, the only route that can have one: it limits connections, not
 * messages.
 */
export class WebSocketApiProtection extends Construct {
  readonly authorizer: CfnAuthorizer

  constructor(api: WebSocketApi, limiter: ProtectingLimiter) {
    super(api, 'Sluice')
    this.authorizer = new CfnAuthorizer(this, 'Authorizer', {
      apiId: api.apiId,
      name: Names.uniqueResourceName(this, { maxLength: 128 }),
      authorizerType: 'REQUEST',
      authorizerUri: functionUri(this, limiter.handler),
      identitySource: [], // a request without one would get a 401 without a call
    })
    const stages = new StageWatch()
    const binding = bindAndCheck(
      this,
      {
        api,
        apiId: api.apiId,
        authorizer: this.authorizer,
        noun: 'route',
        only: { prop: 'routes' },
        selection: {},
        isCandidate: (name) => name === CONNECT,
        before: permitAuthorizer(this, limiter, api.apiId, this.authorizer),
        contents: [],
        called: limiter.called,
        isOfThisApp: true,
      },
      (resource) => stages.visit(resource),
    )
    this.node.addValidation({ validate: () => stages.warn(this, api, binding.deployments) })
  }
}

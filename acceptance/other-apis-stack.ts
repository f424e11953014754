import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib'
import { CfnRoute, HttpApi, HttpMethod, WebSocketApi, WebSocketStage } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpLambdaIntegration, WebSocketLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import type { Construct } from 'constructs'
import { RateLimiter } from '../lib/rate-limiter'
import { backendFunction } from './backend-function'

interface OtherApisProps extends StackProps {
  readonly limiter: RateLimiter
  /** Whether the HTTP API has `protect()`, or `unprotect()` in its place. */
  readonly isProtected: boolean
  /** It knows no route responses, and answers without them. */
  readonly isEmulator: boolean
}

/** APIs in another stack than their limiter: a WebSocket API, and an HTTP API from which `protect()` is taken out. */
export class OtherApisStack extends Stack {
  constructor(scope: Construct, id: string, { limiter, isProtected, isEmulator, ...props }: OtherApisProps) {
    super(scope, id, props)
    const socket = backendFunction(this, 'Socket', 'socket')
    const integration = (name: string) => new WebSocketLambdaIntegration(name, socket)
    const chat = new WebSocketApi(this, 'Chat', {
      apiName: `${this.stackName}-chat`,
      connectRouteOptions: { integration: integration('Connect') },
      defaultRouteOptions: { integration: integration('Message'), returnResponse: !isEmulator },
    })
    const stage = new WebSocketStage(this, 'Stage', { webSocketApi: chat, stageName: 'prod', autoDeploy: true })
    limiter.protect(chat)

    const left = new HttpApi(this, 'Left', { apiName: `${this.stackName}-left` })
    const backend = new HttpLambdaIntegration('Integration', backendFunction(this, 'Backend', 'handler'))
    const [route] = left.addRoutes({ path: '/l2', methods: [HttpMethod.GET], integration: backend })
    const { target } = route!.node.defaultChild as CfnRoute
    new CfnRoute(this, 'L1', { apiId: left.apiId, routeKey: 'GET /l1', target })
    if (isProtected) limiter.protect(left)
    else RateLimiter.unprotect(left)

    new CfnOutput(this, 'SocketUrl', { value: stage.url })
    new CfnOutput(this, 'LeftUrl', { value: `${left.apiEndpoint}/` })
  }
}

import { CfnOutput, Stack } from 'aws-cdk-lib'
import { WebSocketApi, WebSocketStage } from 'aws-cdk-lib/aws-apigatewayv2'
import { WebSocketLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { backend } from './backend.mjs'

/** A WebSocket API. */
export class ChatStack extends Stack {
  constructor(scope, id) {
    super(scope, id)
    const handler = backend(this, 'Backend')
    this.api = new WebSocketApi(this, 'Api', {
      connectRouteOptions: { integration: new WebSocketLambdaIntegration('Connect', handler) },
      defaultRouteOptions: { integration: new WebSocketLambdaIntegration('Message', handler) },
    })
    const stage = new WebSocketStage(this, 'Stage', { webSocketApi: this.api, stageName: 'live', autoDeploy: true })
    new CfnOutput(this, 'Url', { value: stage.url })
  }
}

import { CfnOutput, Stack } from 'aws-cdk-lib'
import { CorsHttpMethod, HttpApi, HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpUserPoolAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { backend } from './backend.mjs'

/** An HTTP API: news for everybody, and those that a customer follows. */
export class NewsStack extends Stack {
  constructor(scope, id, { users, web }) {
    super(scope, id)
    this.api = new HttpApi(this, 'Api', {
      corsPreflight: { allowOrigins: ['*'], allowMethods: [CorsHttpMethod.GET] },
    })
    const handler = backend(this, 'Backend')
    this.api.addRoutes({
      path: '/news',
      methods: [HttpMethod.GET],
      integration: new HttpLambdaIntegration('All', handler),
    })
    this.api.addRoutes({
      path: '/news/mine',
      methods: [HttpMethod.GET],
      integration: new HttpLambdaIntegration('Mine', handler),
      authorizer: new HttpUserPoolAuthorizer('Customers', users, { userPoolClients: [web] }),
    })
    new CfnOutput(this, 'Url', { value: this.api.apiEndpoint })
  }
}

import { CfnOutput, Stack } from 'aws-cdk-lib'
import {
  AuthorizationType,
  CognitoUserPoolsAuthorizer,
  Cors,
  Deployment,
  LambdaIntegration,
  ResponseType,
  RestApi,
  Stage,
  TokenAuthorizer,
} from 'aws-cdk-lib/aws-apigateway'
import { backend } from './backend.mjs'

/** A token that is not known is a 401; one that is known and may not read reports is a 403. */
const CHECK_TOKEN = `
  exports.handler = async ({ authorizationToken: token, methodArn: Resource }) => {
    if (token !== 'auditor' && token !== 'intern') throw new Error('Unauthorized')
    const Effect = token === 'auditor' ? 'Allow' : 'Deny'
    const Statement = [{ Action: 'execute-api:Invoke', Effect, Resource }]
    return { principalId: token, policyDocument: { Version: '2012-10-17', Statement } }
  }
`

/** A REST API with every kind of authorization, and with deployments that it makes itself. */
export class TicketsStack extends Stack {
  constructor(scope, id, { users }) {
    super(scope, id)
    this.api = new RestApi(this, 'Api', {
      deploy: false,
      defaultCorsPreflightOptions: { allowOrigins: Cors.ALL_ORIGINS },
    })
    this.api.addGatewayResponse('Cors', {
      type: ResponseType.DEFAULT_4XX,
      responseHeaders: { 'Access-Control-Allow-Origin': "'*'" }, // browsers shall see our errors, too
    })
    const integration = new LambdaIntegration(backend(this, 'Backend'))
    const customers = new CognitoUserPoolsAuthorizer(this, 'Customers', { cognitoUserPools: [users] })
    const staff = new TokenAuthorizer(this, 'Staff', { handler: backend(this, 'CheckToken', CHECK_TOKEN) })
    const resource = (path) => this.api.root.addResource(path)

    resource('health').addMethod('GET', integration)
    const events = resource('events')
    events.addMethod('GET', integration)
    events.addMethod('POST', integration, { authorizationType: AuthorizationType.IAM })
    resource('orders').addMethod('POST', integration, { authorizer: customers })
    resource('reports').addMethod('GET', integration, { authorizer: staff })
    resource('feed').addMethod('GET', integration, { apiKeyRequired: true })

    const deployment = new Deployment(this, 'Deployment', { api: this.api })
    deployment.node.addDependency(this.api.root) // all methods
    const stage = new Stage(this, 'Stage', { deployment, stageName: 'live' })
    const key = stage.addApiKey('Key')
    const partners = this.api.addUsagePlan('Partners', { throttle: { rateLimit: 50, burstLimit: 100 } })
    partners.addApiStage({ api: this.api, stage })
    partners.addApiKey(key)
    new CfnOutput(this, 'Url', { value: stage.urlForPath('/') })
    new CfnOutput(this, 'KeyId', { value: key.keyId })
  }
}

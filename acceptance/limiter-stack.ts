import { CfnOutput, Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib'
import {
  ApiKey,
  CfnGatewayResponse,
  IdentitySource,
  LambdaIntegration,
  Period,
  RequestAuthorizer,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway'
import { HttpApi, HttpNoneAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2'
import { HttpLambdaAuthorizer, HttpLambdaResponseType } from 'aws-cdk-lib/aws-apigatewayv2-authorizers'
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations'
import { RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { RateLimiter } from '../lib/rate-limiter'
import { backendFunction } from './backend-function'
import { TIERS } from './tiers'

interface LimiterStackProps extends StackProps {
  /** It answers late where it is busy, and a lost answer may count twice. */
  readonly isEmulator: boolean
}

/** A limiter, the APIs that it protects, one that it can be attached to, and two that show what an authorizer sees. */
export class LimiterStack extends Stack {
  readonly limiter: RateLimiter

  constructor(scope: Construct, id: string, { isEmulator, ...props }: LimiterStackProps) {
    super(scope, id, props)
    const { stackName } = this
    this.limiter = new RateLimiter(this, 'Limiter', {
      ...TIERS,
      seed: 'authoritative',
      removalPolicy: RemovalPolicy.DESTROY,
      deletionGuard: false,
      logRetention: RetentionDays.ONE_DAY,
      metricsNamespace: stackName,
      ...(isEmulator && { decisionDeadline: Duration.seconds(8), configTtl: Duration.seconds(5) }),
    })
    const backend = backendFunction(this, 'Backend', 'handler')

    const rest = this.restApi('rest')
    rest.root.addProxy({ defaultIntegration: new LambdaIntegration(backend) })
    const open = rest.root.addResource('open').addMethod('GET', new LambdaIntegration(backend))
    const chat = backendFunction(this, 'Chat', 'chat')
    rest.root.addResource('chat').addMethod('POST', new LambdaIntegration(chat))
    // It is extended by protect(): what a key that is not there becomes is seen in a header beside Sluice's.
    new CfnGatewayResponse(this, 'Denial', {
      restApiId: rest.restApiId,
      responseType: 'ACCESS_DENIED',
      responseParameters: { 'gatewayresponse.header.X-Not-There': 'context.authorizer.notThere' },
    })
    new CfnGatewayResponse(this, 'NoSuchMethod', {
      restApiId: rest.restApiId,
      responseType: 'MISSING_AUTHENTICATION_TOKEN',
      responseParameters: { 'gatewayresponse.header.Content-Type': "'application/problem+json'" },
    })
    this.limiter.protect(rest, { except: [`${open.httpMethod} /open`] })
    this.limiter.grantSettle(chat)

    const http = new HttpApi(this, 'http', { apiName: `${stackName}-http` })
    http.addRoutes({ path: '/{proxy+}', integration: new HttpLambdaIntegration('Integration', backend) })
    this.limiter.protect(http)

    const target = this.restApi('target')
    target.root.addResource('pets').addMethod('GET', new LambdaIntegration(backend))
    const httpTarget = new HttpApi(this, 'http-target', { apiName: `${stackName}-http-target` })
    httpTarget.addRoutes({
      path: '/pets',
      integration: new HttpLambdaIntegration('Integration', backend),
      authorizer: new HttpNoneAuthorizer(),
    })

    for (const [output, api] of Object.entries({ RestUrl: rest, TargetUrl: target, ProbeUrl: this.probe(backend) }))
      new CfnOutput(this, output, { value: api.url })
    for (const [output, api] of Object.entries({
      HttpUrl: http,
      HttpTargetUrl: httpTarget,
      HttpProbeUrl: this.httpProbe(backend),
    }))
      new CfnOutput(this, output, { value: `${api.apiEndpoint}/` })
    new CfnOutput(this, 'ConfigTable', { value: this.limiter.configTable.tableName })
    new CfnOutput(this, 'Function', { value: this.limiter.handler.functionName })
    new CfnOutput(this, 'LogGroup', { value: this.limiter.logGroup.logGroupName })
  }

  private restApi(name: string): RestApi {
    return new RestApi(this, name, { restApiName: `${this.stackName}-${name}`, cloudWatchRole: false })
  }

  /** A REST API whose authorizer says what it sees, and whose `/keyed` wants an API key. */
  private probe(backend: ReturnType<typeof backendFunction>): RestApi {
    const api = this.restApi('probe')
    const authorizer = new RequestAuthorizer(this, 'ProbeAuthorizer', {
      handler: backendFunction(this, 'Probe', 'probe'),
      identitySources: [IdentitySource.header('Host')],
      resultsCacheTtl: Duration.seconds(0),
    })
    const options = { authorizer }
    api.root.addProxy({ defaultIntegration: new LambdaIntegration(backend), defaultMethodOptions: options })
    const keyed = { ...options, apiKeyRequired: true }
    api.root.addResource('keyed').addMethod('GET', new LambdaIntegration(backend), keyed)
    const plan = api.addUsagePlan('Plan', { name: this.stackName, quota: { limit: 100, period: Period.DAY } })
    plan.addApiStage({ stage: api.deploymentStage })
    const key = new ApiKey(this, 'Key', { apiKeyName: this.stackName })
    plan.addApiKey(key)
    new CfnOutput(this, 'KeyId', { value: key.keyId })
    return api
  }

  private httpProbe(backend: ReturnType<typeof backendFunction>): HttpApi {
    const api = new HttpApi(this, 'http-probe', { apiName: `${this.stackName}-http-probe` })
    const authorizer = new HttpLambdaAuthorizer('Authorizer', backendFunction(this, 'HttpProbe', 'probe'), {
      responseTypes: [HttpLambdaResponseType.SIMPLE],
      identitySource: [],
      resultsCacheTtl: Duration.seconds(0),
    })
    api.addRoutes({ path: '/{proxy+}', integration: new HttpLambdaIntegration('Integration', backend), authorizer })
    return api
  }
}

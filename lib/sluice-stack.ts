import { CfnOutput, RemovalPolicy, Stack, type StackProps, Validations } from 'aws-cdk-lib'
import { LambdaIntegration, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { Architecture, Code, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns'
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions'
import type { Construct } from 'constructs'
import { DECISION_HEADERS } from '../lambda/responses/header-table'
import { DEFAULT_RUNTIME, roleFor } from './function-parts'
import { RateLimiter } from './rate-limiter'
import type { SluiceStackOptions } from './stack-options'

/** The headers that every counted request gets, and the context's key of each. */
const HEADERS = DECISION_HEADERS.filter(({ allowed }) => allowed === 'always').map(({ name, key }) => [name, key])

/**
 * What `withRateLimit` of sluice/backend does with headers, in as little as fits into a template: without those that
 * only some requests have.
 */
const SAMPLE_BACKEND = `const HEADERS = ${JSON.stringify(HEADERS)}
exports.handler = async ({ path, requestContext: { authorizer } }) => ({
  statusCode: 200,
  headers: Object.fromEntries(
    HEADERS.filter(([, key]) => authorizer.policy && authorizer[key]).map(([name, key]) => [name, authorizer[key]]),
  ),
  body: JSON.stringify({ path }),
})`

/** The limiter with the tiers of `tiers.yaml`, in front of a sample REST API. */
export class SluiceStack extends Stack {
  constructor(
    scope: Construct,
    id: string,
    {
      stackName,
      tiersFile = 'tiers.yaml',
      dashboard = false,
      alarms,
      ...options
    }: SluiceStackOptions & StackProps = {},
  ) {
    super(scope, id, { description: 'Sluice, a rate limiter for API Gateway', stackName, ...options })
    const limiter = new RateLimiter(this, 'Limiter', { tiersFile, ...options })
    if (dashboard || alarms) limiter.addAlarms({ topic: alarms === undefined ? undefined : this.topicFor(alarms) })
    if (dashboard) {
      limiter.addDashboard()
      limiter.addQueries()
      limiter.addDeniedCallersRule()
    }

    const { runtime = DEFAULT_RUNTIME, architecture = Architecture.ARM_64 } = options
    const { logRetention: retention = RetentionDays.ONE_MONTH } = options
    const logGroup = new LogGroup(this, 'SampleBackendLogs', { retention, removalPolicy: RemovalPolicy.DESTROY })
    const backend = new LambdaFunction(this, 'SampleBackend', {
      runtime,
      architecture,
      code: Code.fromInline(SAMPLE_BACKEND),
      handler: 'index.handler',
      role: roleFor(this, logGroup),
      logGroup,
    })
    const api = new RestApi(this, 'SampleApi', { cloudWatchRole: false })
    api.root.addProxy({ defaultIntegration: new LambdaIntegration(backend) })
    limiter.protect(api, { as: 'sample' })

    new CfnOutput(this, 'ApiUrl', { value: api.url })
    new CfnOutput(this, 'TryIt', {
      description: 'until it says 429',
      value: `for i in $(seq 25); do curl -s -o /dev/null -w '%{http_code} ' ${api.url}hello; done; curl -i ${api.url}hello`,
    })
    new CfnOutput(this, 'AuthorizerFunctionArn', {
      value: limiter.handler.functionArn,
      description: 'the function that `sluice attach` puts in front of existing APIs',
    })
    new CfnOutput(this, 'StateTableName', { value: limiter.stateTable.tableName })
    new CfnOutput(this, 'ConfigTableName', { value: limiter.configTable.tableName })
    acknowledge(this)
  }

  /** @param alarms the topic's ARN, or the e-mail address that a new topic sends to. */
  private topicFor(alarms: string): ITopic {
    if (alarms.startsWith('arn:')) return Topic.fromTopicArn(this, 'Alarms', alarms)
    const topic = new Topic(this, 'Alarms', { enforceSSL: true })
    topic.addSubscription(new EmailSubscription(alarms))
    return topic
  }
}

/** Acknowledged findings of cdk-nag, each with its reason. */
function acknowledge(stack: Stack): void {
  const prefix = 'AwsSolutions::AwsSolutions-'
  const reasons = {
    APIG1: 'the API is a sample to send requests to; access logs are the choice of the API that Sluice is attached to',
    APIG2: 'the sample backend takes any request',
    APIG3: 'a web ACL is the choice of the API that Sluice is attached to',
    APIG6: 'the API is a sample to send requests to',
    COG4: 'the authorizer is Sluice itself',
  }
  for (const [id, reason] of Object.entries(reasons)) Validations.of(stack).acknowledge({ id: prefix + id, reason })
}

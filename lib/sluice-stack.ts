import { CfnOutput, Duration, RemovalPolicy, Stack, type StackProps, Validations } from 'aws-cdk-lib'
import { AuthorizationType, LambdaIntegration, RequestAuthorizer, ResponseType, RestApi } from 'aws-cdk-lib/aws-apigateway'
import { AttributeType, Billing, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Architecture, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs'
import type { Construct } from 'constructs'
import { ACCESS_DENIED } from '../lambda/responses/gateway-response'
import { STATE_TABLE } from '../lambda/state/state-table'
import { CONFIG_TABLE } from '../lambda/tiers/config-items'
import { AuthorizerFunction } from './authorizer-function'

const SAMPLE_BACKEND = `exports.handler = async (event) => ({ statusCode: 200, body: JSON.stringify({ path: event.path }) })`

/** The authorizer with its tables, in front of a sample REST API. */
export class SluiceStack extends Stack {
  constructor(scope: Construct, id: string, props: StackProps = {}) {
    super(scope, id, { description: 'Sluice, a rate limiter for API Gateway', ...props })

    // State is forgotten after its time to live anyway; the configuration is the operator's work and outlives the stack.
    const stateTable = new TableV2(this, 'State', {
      partitionKey: { name: STATE_TABLE.partitionKey, type: AttributeType.STRING },
      timeToLiveAttribute: STATE_TABLE.timeToLiveAttribute,
      billing: Billing.onDemand(),
      removalPolicy: RemovalPolicy.DESTROY,
    })
    const configTable = new TableV2(this, 'Config', {
      partitionKey: { name: CONFIG_TABLE.partitionKey, type: AttributeType.STRING },
      sortKey: { name: CONFIG_TABLE.sortKey, type: AttributeType.STRING },
      billing: Billing.onDemand(),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      removalPolicy: RemovalPolicy.RETAIN,
    })
    const logs = (name: string) => new LogGroup(this, name, { retention: RetentionDays.ONE_MONTH, removalPolicy: RemovalPolicy.DESTROY })
    const { handler } = new AuthorizerFunction(this, 'Authorizer', { stateTable, configTable, logGroup: logs('AuthorizerLogs') })

    const backend = new LambdaFunction(this, 'SampleBackend', {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromInline(SAMPLE_BACKEND),
      handler: 'index.handler',
      logGroup: logs('SampleBackendLogs'),
    })
    const api = new RestApi(this, 'SampleApi', {
      cloudWatchRole: false,
      defaultMethodOptions: {
        authorizationType: AuthorizationType.CUSTOM,
        // A decision that is cached does not count, and a source that a request lacks would be a 401 without a call.
        authorizer: new RequestAuthorizer(this, 'RequestAuthorizer', {
          handler,
          identitySources: [],
          resultsCacheTtl: Duration.seconds(0),
        }),
      },
    })
    api.root.addProxy({ defaultIntegration: new LambdaIntegration(backend) })
    api.addGatewayResponse('OverLimit', {
      type: ResponseType.ACCESS_DENIED,
      statusCode: ACCESS_DENIED.statusCode,
      responseHeaders: ACCESS_DENIED.headers,
      templates: ACCESS_DENIED.templates,
    })

    new CfnOutput(this, 'ApiUrl', { value: api.url })
    new CfnOutput(this, 'StateTableName', { value: stateTable.tableName })
    new CfnOutput(this, 'ConfigTableName', { value: configTable.tableName })
    acknowledge(this)
  }
}

/** Findings of cdk-nag that are as we want them, each with its reason. */
function acknowledge(stack: Stack): void {
  const prefix = 'AwsSolutions::AwsSolutions-'
  const reasons = {
    'IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]':
      'the managed policy allows writing logs and nothing else',
    APIG1: 'the API is a sample to send requests to; access logs are the choice of the API that Sluice is attached to',
    APIG2: 'the sample backend takes any request',
    APIG3: 'a web ACL is the choice of the API that Sluice is attached to',
    APIG6: 'the API is a sample to send requests to',
    COG4: 'the authorizer is Sluice itself',
  }
  for (const [id, reason] of Object.entries(reasons)) Validations.of(stack).acknowledge({ id: prefix + id, reason })
}

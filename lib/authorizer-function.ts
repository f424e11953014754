import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Duration } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { Architecture, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import type { ILogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { buildAuthorizerBundle } from './authorizer-bundle'

export interface AuthorizerFunctionProps {
  /** Where subjects' state is kept, see lambda/state. */
  readonly stateTable: ITableV2
  /** Where tiers, routes and clients are kept, see lambda/tiers. */
  readonly configTable: ITableV2
  readonly logGroup: ILogGroup
}

/**
 * The function that decides every request. It may change single items of the state table and read the config table, and nothing else.
 *
 * 1,769 MB is one whole CPU: a cold start is CPU, and a decision's wait for DynamoDB costs the same few milliseconds at any size.
 * @see https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
 */
export class AuthorizerFunction extends Construct {
  readonly handler: LambdaFunction

  constructor(scope: Construct, id: string, { stateTable, configTable, logGroup }: AuthorizerFunctionProps) {
    super(scope, id)
    const bundle = mkdtempSync(join(tmpdir(), 'sluice-authorizer-'))
    buildAuthorizerBundle(bundle)
    this.handler = new LambdaFunction(this, 'Handler', {
      description: 'Sluice: decides requests of API Gateway by their rate limits',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: Code.fromAsset(bundle),
      handler: 'index.handler',
      memorySize: 1769,
      timeout: Duration.seconds(10), // API Gateway waits no longer for an authorizer
      logGroup,
      environment: { SLUICE_STATE_TABLE: stateTable.tableName, SLUICE_CONFIG_TABLE: configTable.tableName },
    })
    stateTable.grant(this.handler, 'dynamodb:UpdateItem', 'dynamodb:GetItem')
    configTable.grant(this.handler, 'dynamodb:GetItem', 'dynamodb:Query')
  }
}

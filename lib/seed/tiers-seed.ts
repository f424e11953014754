import { readFileSync } from 'node:fs'
import { CustomResource, Duration, Stack } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { Architecture, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { parse } from 'yaml'
import { ConfigError } from '../../lambda/errors'
import { parseTiersFile } from '../../lambda/policies/policy-set'
import { CONFIG_TABLE } from '../../lambda/tiers/config-items'
import { itemsOf, type TiersFile } from '../../lambda/tiers/tiers-file'
import { type AuthorizerFunctionOptions, logGroupFor, roleFor } from '../authorizer-function'
import { bundledCode } from '../bundled-code'
import { SEED_PARTITION } from './seed-items'

export interface TiersSeedProps extends AuthorizerFunctionOptions {
  readonly configTable: ITableV2
  /** A YAML or JSON file, relative to where the synth runs. */
  readonly tiersFile: string
}

/** CloudFormation hands a function at most 256 KB, the rest of its request included. */
const MOST_CHARACTERS = 200_000

/**
 * Writes a tiers file into the config table at each deployment that changes the file: each tier and route on its own, where there is none or where it is still what
 * the last deployment wrote. What operators changed stays, and so does what is no longer in the file. Nothing is removed with the stack.
 */
export class TiersSeed extends Construct {
  constructor(scope: Construct, id: string, props: TiersSeedProps) {
    super(scope, id)
    const { configTable, tiersFile, logGroup = logGroupFor(this, props) } = props
    const items = itemsIn(tiersFile)
    const role = roleFor(this, logGroup)
    const handler = new LambdaFunction(this, 'Handler', {
      description: 'Sluice: writes tiers and routes into the config table when they are deployed',
      runtime: Runtime.NODEJS_24_X,
      architecture: props.architecture ?? Architecture.ARM_64,
      code: bundledCode('seed'),
      handler: 'index.handler',
      role,
      memorySize: 512,
      timeout: Duration.minutes(2),
      logGroup,
    })
    // Clients, and whatever else the table holds, are out of its reach.
    handler.addToRolePolicy(
      new PolicyStatement({
        actions: ['dynamodb:Query', 'dynamodb:PutItem'],
        resources: [configTable.tableArn],
        conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [CONFIG_TABLE.policySet, SEED_PARTITION] } },
      }),
    )
    configTable.encryptionKey?.grantEncryptDecrypt(handler)
    const resource = new CustomResource(this, 'Items', {
      resourceType: 'Custom::SluiceTiers',
      serviceToken: handler.functionArn,
      properties: { TableName: configTable.tableName, Items: items.map((item) => Stack.of(this).toJsonString(item)) },
    })
    resource.node.addDependency(role)
  }
}

/** @throws ConfigError with every mistake in the file, so that none of them gets as far as a deployment. */
function itemsIn(path: string) {
  const file = read(path)
  parseTiersFile(file, path)
  const items = itemsOf(file as TiersFile)
  const length = JSON.stringify(items).length
  if (length > MOST_CHARACTERS)
    throw new ConfigError([`tiersFile must be at most ${MOST_CHARACTERS} characters long as JSON, got ${length} (${path})`])
  return items
}

function read(path: string): unknown {
  try {
    return parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ConfigError([`tiersFile must be a file of YAML, got ${(error as Error).message} (${path})`])
  }
}

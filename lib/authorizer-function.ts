import { Duration } from 'aws-cdk-lib'
import { Grant, PolicyStatement } from 'aws-cdk-lib/aws-iam'
import { type Alias, Architecture, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import type { ILogGroup } from 'aws-cdk-lib/aws-logs'
import { Construct } from 'constructs'
import { LAST_VALID_PARTITION } from '../lambda/config-table/items/config-keys'
import { ConfigError, Mistake } from '../limiter/errors'
import { environmentOf } from './authorizer-environment'
import type { AuthorizerFunctionProps } from './authorizer-options'
import { bundledCode } from './bundled-code'
import { DEFAULT_RUNTIME, logGroupFor, roleFor, vpcOf } from './function-parts'
import { Release } from './release'

/**
 * The function that decides every request. It may change single items of the state table, read the config table, write
 * its log, call the upstream authorizer if there is one, and nothing else.
 */
export class AuthorizerFunction extends Construct {
  readonly handler: LambdaFunction
  readonly logGroup: ILogGroup
  /** What APIs call in place of the function, with `release`. */
  readonly alias: Alias | undefined

  constructor(scope: Construct, id: string, props: AuthorizerFunctionProps) {
    super(scope, id)
    const { stateTable, configTable, vpc, upstream, functionOptions } = props
    if (!upstream) refuseWithoutUpstream(props)
    this.logGroup = props.logGroup ?? logGroupFor(this, props)
    const environment = environmentOf(props)
    this.handler = new LambdaFunction(this, 'Handler', {
      description: 'Sluice: rate-limits requests of API Gateway',
      runtime: props.runtime ?? DEFAULT_RUNTIME,
      architecture: props.architecture ?? Architecture.ARM_64,
      code: bundledCode('authorizer'),
      handler: 'index.handler',
      role: functionOptions?.role ?? roleFor(this, this.logGroup, vpcOf(props)),
      memorySize: props.memorySize ?? 1769,
      timeout: props.timeout ?? Duration.seconds(10),
      reservedConcurrentExecutions: props.reservedConcurrentExecutions,
      vpc,
      vpcSubnets: props.vpcSubnets,
      securityGroups: props.securityGroups,
      logGroup: this.logGroup,
      ...functionOptions,
      environment,
    })
    stateTable.grant(this.handler, 'dynamodb:UpdateItem', 'dynamodb:GetItem')
    configTable.grant(this.handler, 'dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query')
    // Copies of the last valid items, and nothing that an operator has written.
    this.handler.addToRolePolicy(
      new PolicyStatement({
        actions: ['dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
        resources: [configTable.tableArn],
        conditions: {
          'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [LAST_VALID_PARTITION] },
          Null: { 'dynamodb:LeadingKeys': 'false' }, // ForAllValues holds where there is no key, too
        },
      }),
    )
    stateTable.encryptionKey?.grantEncryptDecrypt(this.handler)
    configTable.encryptionKey?.grantEncryptDecrypt(this.handler)
    // Not `grantInvoke`, which opens all versions and aliases of the function, too.
    if (upstream)
      Grant.addToPrincipal({
        grantee: this.handler,
        actions: ['lambda:InvokeFunction'],
        resourceArns: [upstream.functionArn],
      })
    // After everything that changes the function: a version is a copy.
    this.alias = props.release && new Release(this, 'Release', this.handler, props.release).alias
  }
}

/**
 * @throws ConfigError for settings of an upstream authorizer without the authorizer: its owner believes that it is
 * called.
 */
function refuseWithoutUpstream(props: AuthorizerFunctionProps): void {
  const orphans = (['upstreamDeadline', 'upstreamCacheTtl', 'upstreamCacheHeaders'] as const).filter(
    (name) => props[name] !== undefined,
  )
  if (orphans.length > 0)
    throw new ConfigError(
      orphans.map((name) => new Mistake('missing_field', `${name} needs an upstream authorizer, got none`)),
    )
}

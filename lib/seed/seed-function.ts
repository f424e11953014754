import { Duration } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam'
import { Architecture, type FunctionOptions, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { AuthorizerFunctionOptions } from '../authorizer-options'
import { bundledCode } from '../bundled-code'
import { DEFAULT_RUNTIME, logGroupFor, roleFor, vpcOf } from '../function-parts'

export interface SeedFunctionProps extends AuthorizerFunctionOptions {
  readonly configTable: ITableV2
}

/**
 * How long CloudFormation waits for the function: it runs two minutes, and Lambda tries twice more after one and two
 * minutes. Without this a function that cannot answer holds a deployment up for an hour.
 */
export const SERVICE_TIMEOUT = Duration.minutes(10)

/** The `functionOptions` about where and how functions run, which are not specific to the authorizer. */
const OF_EVERY_FUNCTION = [
  'allowAllIpv6Outbound',
  'allowAllOutbound',
  'allowPublicSubnet',
  'architecture',
  'codeSigningConfig',
  'environment',
  'environmentEncryption',
  'ipv6AllowedForDualStack',
  'layers',
  'runtimeManagementMode',
  'securityGroups',
  'tracing',
  'vpc',
  'vpcSubnets',
] as const satisfies readonly (keyof FunctionOptions)[]

const ofEveryFunction = (options: FunctionOptions = {}): Pick<FunctionOptions, (typeof OF_EVERY_FUNCTION)[number]> =>
  Object.fromEntries(OF_EVERY_FUNCTION.flatMap((name) => (name in options ? [[name, options[name]]] : [])))

/**
 * The function that writes into the config table while a stack is deployed. The resources that make it write grant it
 * permissions, by partition.
 */
export class SeedFunction extends Construct {
  readonly handler: LambdaFunction
  readonly configTable: ITableV2
  /** The permissions that a resource of this function depends on, so that the function can write by then. */
  readonly role: Role
  private readonly granted = new Set<string>()

  constructor(scope: Construct, id: string, props: SeedFunctionProps) {
    super(scope, id)
    const { configTable, logGroup = logGroupFor(this, props) } = props
    this.configTable = configTable
    this.role = roleFor(this, logGroup, vpcOf(props))
    this.handler = new LambdaFunction(this, 'Handler', {
      description: 'Sluice: writes tiers, routes and API labels at deployment, and guards what is in use',
      runtime: props.runtime ?? DEFAULT_RUNTIME,
      architecture: props.architecture ?? Architecture.ARM_64,
      vpc: props.vpc,
      vpcSubnets: props.vpcSubnets,
      securityGroups: props.securityGroups,
      ...ofEveryFunction(props.functionOptions),
      code: bundledCode('seed'),
      handler: 'index.handler',
      role: this.role,
      memorySize: 512,
      timeout: Duration.minutes(2),
      logGroup,
    })
    configTable.encryptionKey?.grantEncryptDecrypt(this.handler)
  }

  /** Lets it read the tier of every client, and no other attribute of any item. */
  grantReadingOfTiers(): void {
    this.handler.addToRolePolicy(
      new PolicyStatement({
        actions: ['dynamodb:Scan'],
        resources: [this.configTable.tableArn],
        conditions: {
          'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['pk', 'sk', 'id', 'tier'] },
          StringEquals: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
          Null: { 'dynamodb:Attributes': 'false' }, // ForAllValues holds where there is none, too
        },
      }),
    )
  }

  /**
   * Lets it do something to items of these partitions; clients and everything else in the table stay out of its reach.
   */
  grant(actions: string[], ...partitions: string[]): void {
    const text = JSON.stringify([actions, partitions])
    if (this.granted.has(text)) return
    this.granted.add(text)
    this.handler.addToRolePolicy(
      new PolicyStatement({
        actions,
        resources: [this.configTable.tableArn],
        conditions: {
          'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': partitions },
          Null: { 'dynamodb:LeadingKeys': 'false' }, // ForAllValues holds where there is no key, too
        },
      }),
    )
  }
}

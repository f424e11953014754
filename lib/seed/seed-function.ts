import { Duration } from 'aws-cdk-lib'
import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb'
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam'
import { Architecture, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import { type AuthorizerFunctionOptions, logGroupFor, roleFor } from '../authorizer-function'
import { bundledCode } from '../bundled-code'

export interface SeedFunctionProps extends AuthorizerFunctionOptions {
  readonly configTable: ITableV2
}

/**
 * The function that writes into the config table while a stack is deployed. It may do what those who ask it to write
 * give it a right to, by partition.
 */
export class SeedFunction extends Construct {
  readonly handler: LambdaFunction
  readonly configTable: ITableV2
  /** What a resource that the function makes depends on, so that the function may write by then. */
  readonly role: Role
  private readonly granted = new Set<string>()

  constructor(scope: Construct, id: string, props: SeedFunctionProps) {
    super(scope, id)
    const { configTable, logGroup = logGroupFor(this, props) } = props
    this.configTable = configTable
    this.role = roleFor(this, logGroup)
    this.handler = new LambdaFunction(this, 'Handler', {
      description: 'Sluice: writes tiers, routes and API labels into the config table at deployment',
      runtime: Runtime.NODEJS_24_X,
      architecture: props.architecture ?? Architecture.ARM_64,
      code: bundledCode('seed'),
      handler: 'index.handler',
      role: this.role,
      memorySize: 512,
      timeout: Duration.minutes(2),
      logGroup,
    })
    configTable.encryptionKey?.grantEncryptDecrypt(this.handler)
  }

  /**
   * Lets it do something to items of these partitions; clients, and whatever else the table holds, stay out of its
   * reach.
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

import { RemovalPolicy } from 'aws-cdk-lib'
import { AttributeType, Billing, type ITableV2, TableEncryptionV2, TableV2 } from 'aws-cdk-lib/aws-dynamodb'
import type { IKey } from 'aws-cdk-lib/aws-kms'
import { Construct } from 'constructs'
import { CONFIG_TABLE } from '../lambda/config-table/items/config-keys'
import { STATE_TABLE } from '../limiter/stores/state-table'
import { AUDIT_TIME_TO_LIVE } from '../provisioning/audit-partition'

/** The two tables of a limiter: existing ones, or options for new ones. */
export interface LimiterTablesOptions {
  /**
   * A state table of your own, of the limiter's account and Region: partition key `pk` (string), TTL attribute `exp`.
   * If this app makes it, the synth checks that. Not together with `stateBilling`, `stateTableName` and
   * `statePointInTimeRecovery`.
   * @default one is made
   */
  readonly stateTable?: ITableV2 | undefined
  /**
   * A config table of your own, of the limiter's account and Region: partition key `pk`, sort key `sk` (strings), TTL
   * attribute `exp`, without which records of the audit trail stay forever.
   * Limiters may share one. Not together with `configBilling`, `configTableName`, `configPointInTimeRecovery` and
   * `configDeletionProtection`.
   * @default one is made
   */
  readonly configTable?: ITableV2 | undefined
  /**
   * Capacity of the state table: on demand, with `maxWriteRequestUnits` as a ceiling to what it may cost, or
   * provisioned. Beyond it, the failure mode decides.
   * @default on demand, without a ceiling
   */
  readonly stateBilling?: Billing | undefined
  /**
   * Capacity of the config table.
   * @default on demand
   */
  readonly configBilling?: Billing | undefined
  /**
   * Encrypts both tables. The stack needs to know its account and Region then (`env`), since a table names its key by
   * Region.
   * @default a key that DynamoDB owns
   */
  readonly encryptionKey?: IKey | undefined
  /**
   * Point-in-time recovery of the state table. Its data is worthless a day later, and recovery costs by size.
   *
   * @default false
   */
  readonly statePointInTimeRecovery?: boolean | undefined
  /**
   * Point-in-time recovery of the config table, which operators edit.
   *
   * @default true
   */
  readonly configPointInTimeRecovery?: boolean | undefined
  /**
   * Whether DynamoDB refuses to delete the config table, whoever asks.
   *
   * @default true, unless `removalPolicy` is `DESTROY`
   */
  readonly configDeletionProtection?: boolean | undefined
  /**
   * The removal policy of both tables.
   *
   * @default the state table is deleted; the config table, which operators edit, is retained
   */
  readonly removalPolicy?: RemovalPolicy | undefined
  /** @default CloudFormation generates a name */
  readonly stateTableName?: string | undefined
  /** @default CloudFormation generates a name */
  readonly configTableName?: string | undefined
}

/** The two tables of a limiter: state and configuration. */
export class LimiterTables extends Construct {
  readonly state: ITableV2
  readonly config: ITableV2

  constructor(scope: Construct, id: string, options: LimiterTablesOptions) {
    super(scope, id)
    const { encryptionKey, removalPolicy, statePointInTimeRecovery = false, configPointInTimeRecovery = true } = options
    const encryption = encryptionKey && TableEncryptionV2.customerManagedKey(encryptionKey)
    this.state =
      options.stateTable ??
      new TableV2(this, 'State', {
        partitionKey: { name: STATE_TABLE.partitionKey, type: AttributeType.STRING },
        timeToLiveAttribute: STATE_TABLE.timeToLiveAttribute,
        billing: options.stateBilling ?? Billing.onDemand(),
        pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: statePointInTimeRecovery },
        removalPolicy: removalPolicy ?? RemovalPolicy.DESTROY,
        tableName: options.stateTableName,
        encryption,
      })
    this.config =
      options.configTable ??
      new TableV2(this, 'Config', {
        partitionKey: { name: CONFIG_TABLE.partitionKey, type: AttributeType.STRING },
        sortKey: { name: CONFIG_TABLE.sortKey, type: AttributeType.STRING },
        timeToLiveAttribute: AUDIT_TIME_TO_LIVE, // only records of the audit trail have it
        billing: options.configBilling ?? Billing.onDemand(),
        pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: configPointInTimeRecovery },
        deletionProtection: options.configDeletionProtection ?? removalPolicy !== RemovalPolicy.DESTROY,
        removalPolicy: removalPolicy ?? RemovalPolicy.RETAIN,
        tableName: options.configTableName,
        encryption,
      })
  }
}

import { type DynamoDBDocumentClient, GetCommand, ScanCommand, type ScanCommandOutput } from '@aws-sdk/lib-dynamodb'
import { type AuditTrail, withRecords } from '../../provisioning/audit-trail'
import { allPages, type ItemKey, readPartition, type StoredItem, toStoredItem } from '../../provisioning/documents'
import { fitOneTransaction, type GuardedWrite } from '../../provisioning/guarded-writes'
import { writeRecorded } from '../../provisioning/recorded-writes'
import { UserError } from '../exit'
import { CONFIG_TABLE } from '../facade/tables'

/** The config table as the command line reads and writes it. What is written is recorded in its audit trail. */
export class ConfigTable {
  /** @param trail none: nothing is recorded. */
  constructor(
    readonly documents: DynamoDBDocumentClient,
    readonly name: string,
    private readonly trail?: AuditTrail,
  ) {}

  /** Tiers, routes, settings, and who is blocked. */
  policySet(): Promise<StoredItem[]> {
    return this.partition(CONFIG_TABLE.policySet)
  }

  /** All items of a partition. */
  partition(pk: string): Promise<StoredItem[]> {
    return this.named(() => readPartition(this.documents, this.name, pk))
  }

  /** One item; `undefined` where there is none. */
  item({ pk, sk }: ItemKey): Promise<StoredItem | undefined> {
    return this.named(async () => {
      const { Item } = await this.documents.send(
        new GetCommand({ TableName: this.name, Key: { pk, sk }, ConsistentRead: true }),
      )
      return Item && toStoredItem(Item)
    })
  }

  /**
   * The records of all clients, or of one: several when it has several credentials. The table's key is a credential's,
   * so this reads the whole table and leaves out what it does not look for.
   */
  clients(id?: string): Promise<StoredItem[]> {
    return this.scan(`begins_with(#pk, :client)${id === undefined ? '' : ' AND #id = :id'}`, {
      names: { '#pk': CONFIG_TABLE.partitionKey, ...(id !== undefined && { '#id': 'id' }) },
      values: { ':client': 'client#', ...(id !== undefined && { ':id': id }) },
    })
  }

  /** The items of the whole table for which an expression holds. */
  scan(
    FilterExpression: string,
    { names, values }: Readonly<Record<'names' | 'values', Readonly<Record<string, string>>>>,
  ): Promise<StoredItem[]> {
    return this.named(() =>
      allPages((ExclusiveStartKey) =>
        this.documents.send(
          new ScanCommand({
            TableName: this.name,
            FilterExpression,
            ExpressionAttributeNames: names,
            ExpressionAttributeValues: values,
            ConsistentRead: true,
            ExclusiveStartKey,
          }),
        ),
      ),
    )
  }

  /** The records of all clients, a page after another as they are read: tables may have more than fit into memory. */
  async *clientPages(): AsyncGenerator<StoredItem[], void> {
    let ExclusiveStartKey: ScanCommandOutput['LastEvaluatedKey']
    do {
      const page: ScanCommandOutput = await this.named(() =>
        this.documents.send(
          new ScanCommand({
            TableName: this.name,
            FilterExpression: 'begins_with(#pk, :client)',
            ExpressionAttributeNames: { '#pk': CONFIG_TABLE.partitionKey },
            ExpressionAttributeValues: { ':client': 'client#' },
            ConsistentRead: true,
            ExclusiveStartKey,
          }),
        ),
      )
      yield (page.Items ?? []).map(toStoredItem)
      ExclusiveStartKey = page.LastEvaluatedKey
    } while (ExclusiveStartKey)
  }

  /**
   * Writes a few items that belong together: all or nothing where the engine can, else one after another in this order.
   *
   * @throws WriteConflictError
   */
  async write(writes: readonly GuardedWrite[]): Promise<void> {
    if (this.fits(writes) && (await this.tryWrite(writes))) return
    for (const write of writes) await this.tryWrite([write])
  }

  /** The same table, of whose writes it is recorded that something was erased, and not what. */
  forgetting(): ConfigTable {
    return new ConfigTable(this.documents, this.name, this.trail?.forgetting())
  }

  /** Whether one transaction takes these writes and the records of them. */
  fits(writes: readonly GuardedWrite[]): boolean {
    return fitOneTransaction(this.trail ? withRecords(writes) : writes)
  }

  /**
   * Writes all or nothing.
   *
   * @returns false, with nothing written, where it takes a transaction and the engine has none.
   * @throws WriteConflictError
   */
  tryWrite(writes: readonly GuardedWrite[]): Promise<boolean> {
    return this.named(() => writeRecorded(this.documents, this.name, writes, this.trail))
  }

  /** Does something with the table, and names it when it is not there. */
  async named<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if ((error as Error).name !== 'ResourceNotFoundException') throw error
      throw new UserError(
        `there is no table "${this.name}" here: name it with --table or SLUICE_CONFIG_TABLE, or use --stack`,
      )
    }
  }
}

import { type DynamoDBClient, GetItemCommand, QueryCommand, ScanCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { CONFIG_TABLE, fromAttributes } from '../lambda/config-table/items/config-items'
import type { PolicySetItem } from '../provisioning/tiers-file'
import { UserError } from './exit'
import { type Attributes, fitOneTransaction, type ItemWrite, writeAlone, writeTogether } from './item-writes'

/** An item as an object, and as DynamoDB has it. */
export interface StoredItem {
  readonly item: PolicySetItem
  readonly attributes: Attributes
}

/** The config table as the command line reads and writes it. */
export class ConfigTable {
  constructor(
    readonly client: Pick<DynamoDBClient, 'send'>,
    readonly name: string,
  ) {}

  /** Tiers, routes, settings, and who is blocked. */
  async policySet(): Promise<StoredItem[]> {
    return this.all(async (ExclusiveStartKey) =>
      this.client.send(
        new QueryCommand({
          TableName: this.name,
          KeyConditionExpression: '#pk = :set',
          ExpressionAttributeNames: { '#pk': CONFIG_TABLE.partitionKey },
          ExpressionAttributeValues: { ':set': { S: CONFIG_TABLE.policySet } },
          ConsistentRead: true,
          ExclusiveStartKey,
        }),
      ),
    )
  }

  /** One item; `undefined` where there is none. */
  async item({ pk, sk }: ItemWrite['key']): Promise<StoredItem | undefined> {
    return this.named(async () => {
      const { Item } = await this.client.send(
        new GetItemCommand({ TableName: this.name, Key: { pk: { S: pk }, sk: { S: sk } }, ConsistentRead: true }),
      )
      return Item && { attributes: Item, item: toItem(Item) }
    })
  }

  /**
   * The records of all clients, or of one: several when it has several credentials. The table's key is a credential's,
   * so this reads the whole table and leaves out what it does not look for.
   */
  async clients(id?: string): Promise<StoredItem[]> {
    return this.all(async (ExclusiveStartKey) =>
      this.client.send(
        new ScanCommand({
          TableName: this.name,
          FilterExpression: `begins_with(#pk, :client)${id === undefined ? '' : ' AND #id = :id'}`,
          ExpressionAttributeNames: { '#pk': CONFIG_TABLE.partitionKey, ...(id !== undefined && { '#id': 'id' }) },
          ExpressionAttributeValues: { ':client': { S: 'client#' }, ...(id !== undefined && { ':id': { S: id } }) },
          ConsistentRead: true,
          ExclusiveStartKey,
        }),
      ),
    )
  }

  /**
   * Writes a few items that belong together: all or nothing where the engine can, else one after another in this order.
   *
   * @throws ChangedMeanwhile
   */
  async write(writes: readonly ItemWrite[]): Promise<void> {
    await this.named(async () => {
      if (writes.length > 1 && fitOneTransaction(writes) && (await writeTogether(this.client, this.name, writes)))
        return
      for (const write of writes) await writeAlone(this.client, this.name, write)
    })
  }

  /** Does something with the table, and names it when it is not there. */
  async named<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if ((error as Error).name !== 'ResourceNotFoundException') throw error
      throw new UserError(
        `there is no table "${this.name}" here: name it with --table or SLUICE_CONFIG_TABLE, or say --stack`,
      )
    }
  }

  private all(
    page: (from: Attributes | undefined) => Promise<{ Items?: Attributes[]; LastEvaluatedKey?: Attributes }>,
  ): Promise<StoredItem[]> {
    return this.named(async () => {
      const found: StoredItem[] = []
      let from: Attributes | undefined
      do {
        const { Items = [], LastEvaluatedKey } = await page(from)
        for (const attributes of Items) found.push({ attributes, item: toItem(attributes) })
        from = LastEvaluatedKey
      } while (from)
      return found
    })
  }
}

/** An item as DynamoDB has it. Fields without a value are left out. */
export const toAttributes = (item: Readonly<Record<string, unknown>>): Attributes =>
  marshall(item, { removeUndefinedValues: true })

/** The keys are there whatever else the item holds, for they are keys. */
const toItem = (attributes: Attributes): PolicySetItem => ({
  ...fromAttributes(attributes),
  pk: attributes.pk!.S!,
  sk: attributes.sk!.S!,
})

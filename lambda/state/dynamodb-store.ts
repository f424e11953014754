import { type AttributeValue, DeleteItemCommand, type DynamoDBClient, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
import { ConfigError, printed } from '../errors'
import { toItem } from './attributes'
import { authentic } from './authentic'
import { toStoreUnavailable } from './dynamodb-errors'
import { toUpdate } from './expressions'
import type { CallOptions, Item, ItemWrite, StateStore, WriteOutcome } from './store'

export interface DynamoDbStoreOptions {
  /** A plain client. Give it `maxAttempts: 1`: the limiter retries by itself, within its deadline and without counting twice. */
  readonly client: Pick<DynamoDBClient, 'send'>
  readonly tableName: string
}

/** One item per subject in a DynamoDB table with the string key `pk`; every change is one `UpdateItem`. */
export class DynamoDbStore implements StateStore {
  private readonly client: Pick<DynamoDBClient, 'send'>
  private readonly tableName: string
  /** Whether this engine returns the item with a failed condition. DynamoDB does; some emulators leave it out without a word. */
  private returnsRefusedItems: boolean | undefined

  constructor({ client, tableName }: DynamoDbStoreOptions) {
    const issues: string[] = []
    if (typeof client?.send !== 'function') issues.push(`client must be a DynamoDBClient, got ${printed(client)}`)
    if (typeof tableName !== 'string' || tableName === '') issues.push(`tableName must be the name of a table, got ${printed(tableName)}`)
    if (issues.length > 0) throw new ConfigError(issues)
    this.client = client
    this.tableName = tableName
  }

  async write(key: string, write: ItemWrite, options: CallOptions = {}): Promise<WriteOutcome> {
    const command = new UpdateItemCommand({
      TableName: this.tableName,
      Key: { pk: { S: key } },
      ...toUpdate(write),
      ReturnValues: 'ALL_OLD',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    })
    try {
      const { Attributes } = authentic(await this.client.send(command, { abortSignal: options.signal }))
      return { kind: 'applied', item: toItem(Attributes) }
    } catch (error) {
      const refusal = error as { readonly name?: string; readonly Item?: Record<string, AttributeValue> }
      if (refusal?.name !== 'ConditionalCheckFailedException') throw toStoreUnavailable(error, this.tableName)
      const item = await this.refusedItem(key, refusal.Item, options)
      return { kind: item.marks[write.id.mark] === write.id.value ? 'repeated' : 'refused', item }
    }
  }

  async read(key: string, options: CallOptions = {}): Promise<Item> {
    try {
      const command = new GetItemCommand({ TableName: this.tableName, Key: { pk: { S: key } }, ConsistentRead: true })
      return toItem(authentic(await this.client.send(command, { abortSignal: options.signal })).Item)
    } catch (error) {
      throw toStoreUnavailable(error, this.tableName)
    }
  }

  async delete(key: string, options: CallOptions = {}): Promise<void> {
    try {
      await this.client.send(new DeleteItemCommand({ TableName: this.tableName, Key: { pk: { S: key } } }), { abortSignal: options.signal })
    } catch (error) {
      throw toStoreUnavailable(error, this.tableName)
    }
  }

  /** No item with a refusal means that there is none, once the engine has shown that it would return one. */
  private async refusedItem(key: string, attributes: Record<string, AttributeValue> | undefined, options: CallOptions): Promise<Item> {
    if (attributes) this.returnsRefusedItems = true
    if (attributes || this.returnsRefusedItems) return this.understood(attributes)
    const item = await this.read(key, options)
    if (Object.keys(item.policies).length > 0) this.returnsRefusedItems = false
    return item
  }

  private understood(attributes: Record<string, AttributeValue> | undefined): Item {
    try {
      return toItem(attributes)
    } catch (error) {
      throw toStoreUnavailable(error, this.tableName)
    }
  }
}

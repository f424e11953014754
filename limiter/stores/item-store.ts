import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import { toItem } from './attributes'
import { toStoreUnavailable } from './dynamodb-errors'
import { toDeletion, toUpdate } from './expressions'
import type { ItemCalls } from './item-calls'
import type { CallOptions, DeleteOutcome, Item, ItemWrite, SeenMarks, StateStore, WriteOutcome } from './store'

interface Refusal {
  readonly name?: string
  readonly Item?: Record<string, AttributeValue>
  readonly $metadata?: { readonly attempts?: number }
}

const RETURNING_OLD = { ReturnValues: 'ALL_OLD', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const

/** One item per subject in a DynamoDB table with the string key `pk`; every change is one `UpdateItem`. */
export class ItemStore implements StateStore {
  /**
   * Whether this engine returns the item with a failed condition. DynamoDB does; some emulators leave it out without a
   * word.
   */
  private returnsRefusedItems: boolean | undefined

  constructor(
    private readonly calls: ItemCalls,
    private readonly tableName: string,
  ) {}

  async write(key: string, write: ItemWrite, options: CallOptions = {}): Promise<WriteOutcome> {
    const input = { ...this.at(key), ...toUpdate(write), ...RETURNING_OLD }
    try {
      const { Attributes } = await this.calls.call('UpdateItem', input, options)
      return { kind: 'applied', item: toItem(Attributes) }
    } catch (error) {
      const refusal = error as Refusal
      if (refusal?.name !== 'ConditionalCheckFailedException') throw toStoreUnavailable(error, this.tableName)
      const item = await this.refusedItem(key, refusal.Item, options)
      return {
        kind: item.marks[write.id.mark] === write.id.value ? 'already-applied' : 'refused',
        item,
        ...resent(refusal),
      }
    }
  }

  async read(key: string, options: CallOptions = {}): Promise<Item> {
    try {
      const { Item } = await this.calls.call('GetItem', { ...this.at(key), ConsistentRead: true }, options)
      return toItem(Item)
    } catch (error) {
      throw toStoreUnavailable(error, this.tableName)
    }
  }

  async delete(key: string, whileMarks: SeenMarks, options: CallOptions = {}): Promise<DeleteOutcome> {
    const input = { ...this.at(key), ...toDeletion(whileMarks), ...RETURNING_OLD }
    try {
      const { Attributes } = await this.calls.call('DeleteItem', input, options)
      return { kind: 'deleted', item: toItem(Attributes) }
    } catch (error) {
      const refusal = error as Refusal
      if (refusal?.name !== 'ConditionalCheckFailedException') throw toStoreUnavailable(error, this.tableName)
      return { kind: 'refused', item: await this.refusedItem(key, refusal.Item, options), ...resent(refusal) }
    }
  }

  private at(key: string) {
    return { TableName: this.tableName, Key: { pk: { S: key } } }
  }

  /** No item with a refusal means that there is none, once the engine has shown that it would return one. */
  private async refusedItem(
    key: string,
    attributes: Record<string, AttributeValue> | undefined,
    options: CallOptions,
  ): Promise<Item> {
    if (attributes) this.returnsRefusedItems = true
    if (attributes || this.returnsRefusedItems) return this.understood(attributes)
    try {
      const item = await this.read(key, options)
      if (Object.keys(item.policies).length > 0) this.returnsRefusedItems = false
      return item
    } catch (error) {
      // who may write and not read, as a backend that settles, is at DynamoDB
      if (((error as Error).cause as Refusal | undefined)?.name !== 'AccessDeniedException') throw error
      this.returnsRefusedItems = true
      return this.understood(undefined)
    }
  }

  private understood(attributes: Record<string, AttributeValue> | undefined): Item {
    try {
      return toItem(attributes)
    } catch (error) {
      throw toStoreUnavailable(error, this.tableName)
    }
  }
}

const resent = ({ $metadata }: Refusal): { readonly resent: true } | undefined =>
  ($metadata?.attempts ?? 1) > 1 ? { resent: true } : undefined

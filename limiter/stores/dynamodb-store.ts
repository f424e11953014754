import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb'
import { ConfigError, Mistake, printed } from '../errors'
import { toItem } from './attributes'
import { toStoreUnavailable } from './dynamodb-errors'
import { assertDynamoDbResponse } from './dynamodb-response'
import { toDeletion, toUpdate } from './expressions'
import type { CallOptions, DeleteOutcome, Item, ItemWrite, SeenMarks, StateStore, WriteOutcome } from './store'

/** Where a `DynamoDbStore` keeps its items. */
export interface DynamoDbStoreOptions {
  /**
   * A plain client. Give it `maxAttempts: 1`: the limiter retries by itself, within its deadline and without counting
   * twice.
   */
  readonly client: Pick<DynamoDBClient, 'send'>
  readonly tableName: string
}

interface Refusal {
  readonly name?: string
  readonly Item?: Record<string, AttributeValue>
  readonly $metadata?: { readonly attempts?: number }
}

/** One item per subject in a DynamoDB table with the string key `pk`; every change is one `UpdateItem`. */
export class DynamoDbStore implements StateStore {
  private readonly client: Pick<DynamoDBClient, 'send'>
  private readonly tableName: string
  /**
   * Whether this engine returns the item with a failed condition. DynamoDB does; some emulators leave it out without a
   * word.
   */
  private returnsRefusedItems: boolean | undefined

  constructor({ client, tableName }: DynamoDbStoreOptions) {
    const issues: Mistake[] = []
    if (typeof client?.send !== 'function')
      issues.push(new Mistake('invalid_value', `client must be a DynamoDBClient, got ${printed(client)}`))
    if (typeof tableName !== 'string' || tableName === '')
      issues.push(new Mistake('invalid_value', `tableName must be the name of a table, got ${printed(tableName)}`))
    if (issues.length > 0) throw new ConfigError(issues)
    this.client = UpdateItemCommand && client // an SDK that is not installed is told here (dynamodb-sdk.ts)
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
    tellServerTime(command, options)
    try {
      const { Attributes } = assertDynamoDbResponse(await this.client.send(command, { abortSignal: options.signal }))
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
      const command = new GetItemCommand({ TableName: this.tableName, Key: { pk: { S: key } }, ConsistentRead: true })
      tellServerTime(command, options)
      return toItem(assertDynamoDbResponse(await this.client.send(command, { abortSignal: options.signal })).Item)
    } catch (error) {
      throw toStoreUnavailable(error, this.tableName)
    }
  }

  async delete(key: string, whileMarks: SeenMarks, options: CallOptions = {}): Promise<DeleteOutcome> {
    const command = new DeleteItemCommand({
      TableName: this.tableName,
      Key: { pk: { S: key } },
      ...toDeletion(whileMarks),
      ReturnValues: 'ALL_OLD',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    })
    tellServerTime(command, options)
    try {
      const { Attributes } = assertDynamoDbResponse(await this.client.send(command, { abortSignal: options.signal }))
      return { kind: 'deleted', item: toItem(Attributes) }
    } catch (error) {
      const refusal = error as Refusal
      if (refusal?.name !== 'ConditionalCheckFailedException') throw toStoreUnavailable(error, this.tableName)
      return { kind: 'refused', item: await this.refusedItem(key, refusal.Item, options), ...resent(refusal) }
    }
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

interface Dated {
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Passes the date of the answer on, whatever it says; a command's own step, so that the client stays as it was given to
 * us.
 */
function tellServerTime(
  { middlewareStack }: Pick<GetItemCommand, 'middlewareStack'>,
  { onServerTime }: CallOptions,
): void {
  if (!onServerTime) return
  const tell = (response: unknown) => {
    const at = Date.parse((response as Dated | undefined)?.headers?.date ?? '')
    if (at >= 0) onServerTime(at)
  }
  middlewareStack.add(
    (next) => async (args) => {
      try {
        const result = await next(args)
        tell(result.response)
        return result
      } catch (error) {
        tell((error as { readonly $response?: unknown } | undefined)?.$response)
        throw error
      }
    },
    { step: 'deserialize', priority: 'high', name: 'sluiceServerTime' },
  )
}

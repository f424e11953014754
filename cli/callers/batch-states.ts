import { setTimeout as sleep } from 'node:timers/promises'
import { BatchGetItemCommand, type BatchGetItemCommandOutput, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { ServiceError } from '../exit'
import { type Item, NO_ITEM, STATE_TABLE, toItem } from '../facade/tables'

/** @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html */
const MAX_KEYS = 100

/** Waits between calls for keys that DynamoDB did not get to, in milliseconds. */
const WAITS_MS = [50, 100, 200, 400, 800, 1600, 3200] as const

const { partitionKey } = STATE_TABLE

/**
 * The items of many subjects as they are now, a hundred in a call.
 *
 * @throws ServiceError where DynamoDB goes on answering a part of them only.
 */
export async function batchStates(
  client: Pick<DynamoDBClient, 'send'>,
  table: string,
  keys: readonly string[],
  wait: (ms: number) => Promise<unknown> = sleep,
): Promise<ReadonlyMap<string, Item>> {
  const items = new Map<string, Item>(keys.map((key) => [key, NO_ITEM]))
  const all = [...items.keys()]
  for (let from = 0; from < all.length; from += MAX_KEYS) {
    let left: readonly Record<string, { readonly S: string }>[] = all
      .slice(from, from + MAX_KEYS)
      .map((key) => ({ [partitionKey]: { S: key } }))
    for (let tries = 0; left.length > 0; tries++) {
      const Keys = left.map((key) => ({ ...key }))
      const { Responses, UnprocessedKeys }: BatchGetItemCommandOutput = await client.send(
        new BatchGetItemCommand({ RequestItems: { [table]: { Keys, ConsistentRead: true } } }),
      )
      for (const attributes of Responses?.[table] ?? []) items.set(attributes[partitionKey]!.S!, toItem(attributes))
      left = (UnprocessedKeys?.[table]?.Keys ?? []) as typeof left
      if (left.length === 0) break
      const waitMs = WAITS_MS[tries]
      if (waitMs === undefined) throw new ServiceError(`table ${table} is too busy: ${left.length} items were not read`)
      await wait(waitMs)
    }
  }
  return items
}

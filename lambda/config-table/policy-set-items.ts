import type { AttributeValue, QueryInput } from '@aws-sdk/client-dynamodb'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { CONFIG_TABLE, MAX_POLICY_SET_ITEMS } from './items/config-keys'
import { type Reading, readWithRetry } from './read-with-retry'

/** Items as DynamoDB returned them. */
export type Items = readonly Record<string, AttributeValue>[]

/** A policy set has more items than are read. Another try would find as many. */
export class TooManyItems extends Error {}

/**
 * Reads all items of the policy set, strongly consistent, in as many pages as they have.
 *
 * @throws TooManyItems
 */
export async function readPolicySetItems(calls: ItemCalls, reading: Reading): Promise<Items> {
  const items = await readWithRetry(reading, (signal) =>
    itemsOf(calls, reading.tableName, CONFIG_TABLE.policySet, { signal, atMost: MAX_POLICY_SET_ITEMS }),
  )
  if (items.length <= MAX_POLICY_SET_ITEMS) return items
  throw new TooManyItems(`a policy set has at most ${MAX_POLICY_SET_ITEMS} items, this one has more`)
}

/** All items of a partition of the config table; a page more than `atMost` where there are too many. */
export async function itemsOf(
  calls: ItemCalls,
  TableName: string,
  partition: string,
  { signal, atMost = Number.POSITIVE_INFINITY }: { readonly signal: AbortSignal; readonly atMost?: number },
): Promise<Items> {
  const items: Record<string, AttributeValue>[] = []
  let ExclusiveStartKey: Record<string, AttributeValue> | undefined
  do {
    const input: QueryInput = {
      TableName,
      KeyConditionExpression: `${CONFIG_TABLE.partitionKey} = :partition`,
      ExpressionAttributeValues: { ':partition': { S: partition } },
      ConsistentRead: true,
      ExclusiveStartKey,
    }
    const page = await calls.call('Query', input, { signal })
    items.push(...(page.Items ?? []))
    ExclusiveStartKey = page.LastEvaluatedKey
  } while (ExclusiveStartKey && items.length <= atMost)
  return items
}

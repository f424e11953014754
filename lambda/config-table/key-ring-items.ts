import type { AttributeValue, BatchGetItemInput, KeysAndAttributes } from '@aws-sdk/client-dynamodb'
import type { ItemCalls } from '../../limiter/stores/item-calls'
import { CONFIG_TABLE, RING_NAMES, ringKey } from './items/config-keys'
import { type Reading, readWithRetry } from './read-with-retry'

/** Items by partition key. */
export type KeyRingItems = ReadonlyMap<string, Record<string, AttributeValue>>

/** Reads the items of both rings by one consistent call, and again what DynamoDB leaves out of its answer. */
export const readKeyRingItems = (calls: ItemCalls, reading: Reading): Promise<KeyRingItems> =>
  readWithRetry(reading, async (signal) => {
    const { tableName } = reading
    const items = new Map<string, Record<string, AttributeValue>>()
    let Keys: KeysAndAttributes['Keys'] = RING_NAMES.map((name) => {
      const { pk, sk } = ringKey({ name })
      return { [CONFIG_TABLE.partitionKey]: { S: pk }, [CONFIG_TABLE.sortKey]: { S: sk } }
    })
    while (Keys?.length) {
      const input: BatchGetItemInput = { RequestItems: { [tableName]: { Keys, ConsistentRead: true } } }
      const { Responses, UnprocessedKeys } = await calls.call('BatchGetItem', input, { signal })
      for (const item of Object.values(Responses ?? {}).flat()) items.set(item.pk?.S ?? '', item)
      Keys = Object.values(UnprocessedKeys ?? {})[0]?.Keys
    }
    return items
  })

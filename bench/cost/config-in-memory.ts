import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'

type Item = Record<string, AttributeValue>

interface Input {
  readonly Key?: Item
  readonly ExpressionAttributeValues?: Item
  readonly RequestItems?: Readonly<Record<string, { readonly Keys: readonly Item[] }>>
}

/** A config table in this process, which answers the three reads that the authorizer makes of it. */
export function configInMemory(documents: readonly Readonly<Record<string, unknown>>[]): Pick<DynamoDBClient, 'send'> {
  const items = documents.map((item) => marshall(item))
  const { partitionKey, sortKey } = CONFIG_TABLE
  const idOf = (key: Item) => JSON.stringify([key[partitionKey]?.S, key[sortKey]?.S])
  const byKey = new Map(items.map((item) => [idOf(item), item]))
  const found = (keys: readonly Item[]) => keys.map((key) => byKey.get(idOf(key))).filter((item) => item !== undefined)
  const send = async (command: { readonly input: Input }) => {
    const { Key, RequestItems, ExpressionAttributeValues } = command.input
    if (Key) return { Item: byKey.get(idOf(Key)) }
    if (RequestItems)
      return {
        Responses: Object.fromEntries(Object.entries(RequestItems).map(([name, { Keys }]) => [name, found(Keys)])),
      }
    const [partition] = Object.values(ExpressionAttributeValues ?? {})
    return { Items: items.filter((item) => item[partitionKey]?.S === partition?.S) }
  }
  return { send: send as unknown as DynamoDBClient['send'] }
}

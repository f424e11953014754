import { type AttributeValue, type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb'
import { assertDynamoDbResponse } from '../../limiter/stores/dynamodb-response'
import { CONFIG_TABLE, MOST_POLICY_SET_ITEMS } from './items/config-items'
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
export async function readPolicySetItems(client: Pick<DynamoDBClient, 'send'>, reading: Reading): Promise<Items> {
  const items = await readWithRetry(reading, (signal) => query(client, reading.tableName, signal))
  if (items.length <= MOST_POLICY_SET_ITEMS) return items
  throw new TooManyItems(`a policy set has at most ${MOST_POLICY_SET_ITEMS} items, this one has more`)
}

/** All items, or slightly more than the limit where there are too many. */
async function query(
  client: Pick<DynamoDBClient, 'send'>,
  TableName: string,
  abortSignal: AbortSignal,
): Promise<Items> {
  const items: Record<string, AttributeValue>[] = []
  let ExclusiveStartKey: Record<string, AttributeValue> | undefined
  do {
    const command = new QueryCommand({
      TableName,
      KeyConditionExpression: `${CONFIG_TABLE.partitionKey} = :set`,
      ExpressionAttributeValues: { ':set': { S: CONFIG_TABLE.policySet } },
      ConsistentRead: true,
      ExclusiveStartKey,
    })
    const page = assertDynamoDbResponse(await client.send(command, { abortSignal }))
    items.push(...(page.Items ?? []))
    ExclusiveStartKey = page.LastEvaluatedKey
  } while (ExclusiveStartKey && items.length <= MOST_POLICY_SET_ITEMS)
  return items
}

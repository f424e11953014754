import { type AttributeValue, type DynamoDBClient, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-items'
import { makeHmacKey } from '../../provisioning/make-hmac-key'
import { contentHash, type PolicySetItem } from '../../provisioning/tiers-file'

/**
 * Beside each seeded item, under the same sort key: the hash of what was last written there. The authorizer never reads
 * this partition.
 */
export const SEED_PARTITION = 'seed'

/** What became of each item, by sort key. */
export type SeedReport = Readonly<Record<string, 'written' | 'unchanged' | 'kept'>>

/**
 * Writes items of the policy set, but never over what somebody else has changed: an item is written where there is
 * none, or where it is still what was last seeded; otherwise it is kept as it is. Items that are no longer asked for
 * stay.
 */
export async function seedItems(
  client: Pick<DynamoDBClient, 'send'>,
  tableName: string,
  items: readonly PolicySetItem[],
): Promise<SeedReport> {
  const [present, seeded] = [
    await readPartition(client, tableName, CONFIG_TABLE.policySet),
    await readPartition(client, tableName, SEED_PARTITION),
  ]
  const report: Record<string, SeedReport[string]> = {}
  for (const item of items) {
    const { sk } = item
    const [hash, now, last] = [contentHash(item), present.get(sk), seeded.get(sk)?.hash]
    const isWanted = now !== undefined && contentHash(now) === hash
    const isFree = now === undefined || contentHash(now) === last
    report[sk] = isWanted ? 'unchanged' : isFree && (await replace(client, tableName, now, item)) ? 'written' : 'kept'
    // After the item: should this one be lost, the next seed finds the item as wanted, and makes up for it.
    if (report[sk] !== 'kept' && last !== hash) await put(client, tableName, { pk: SEED_PARTITION, sk, hash })
  }
  return report
}

/**
 * Gives a new deployment the secret under which it stores subjects. A table that has tiers may have counted callers
 * already, who would all begin anew: it gets none here, and `sluice hmac-key enable` is for it.
 *
 * @returns whether it got one now.
 */
export async function seedHmacKey(client: Pick<DynamoDBClient, 'send'>, tableName: string): Promise<boolean> {
  const present = await readPartition(client, tableName, CONFIG_TABLE.policySet)
  return present.size === 0 && (await makeHmacKey(client, tableName))
}

export async function readPartition(
  client: Pick<DynamoDBClient, 'send'>,
  tableName: string,
  partition: string,
): Promise<Map<string, PolicySetItem>> {
  const items = new Map<string, PolicySetItem>()
  let ExclusiveStartKey: Record<string, AttributeValue> | undefined
  do {
    const page = await client.send(
      new QueryCommand({
        TableName: tableName,
        KeyConditionExpression: `${CONFIG_TABLE.partitionKey} = :partition`,
        ExpressionAttributeValues: { ':partition': { S: partition } },
        ConsistentRead: true,
        ExclusiveStartKey,
      }),
    )
    for (const attributes of page.Items ?? []) {
      const item = unmarshall(attributes, { wrapNumbers: Number }) as PolicySetItem
      items.set(item.sk, item)
    }
    ExclusiveStartKey = page.LastEvaluatedKey
  } while (ExclusiveStartKey)
  return items
}

/** Writes an item if what is there is still what was read; says whether it was. */
async function replace(
  client: Pick<DynamoDBClient, 'send'>,
  tableName: string,
  before: PolicySetItem | undefined,
  item: PolicySetItem,
): Promise<boolean> {
  const fields = Object.entries(before ?? {})
  const condition =
    before === undefined ? 'attribute_not_exists(pk)' : fields.map((_, i) => `#${i} = :${i}`).join(' AND ')
  try {
    await put(client, tableName, item, {
      ConditionExpression: condition,
      ...(before && {
        ExpressionAttributeNames: Object.fromEntries(fields.map(([name], i) => [`#${i}`, name])),
        ExpressionAttributeValues: marshall(Object.fromEntries(fields.map(([, value], i) => [`:${i}`, value]))),
      }),
    })
    return true
  } catch (error) {
    if ((error as Error).name === 'ConditionalCheckFailedException') return false
    throw error
  }
}

async function put(
  client: Pick<DynamoDBClient, 'send'>,
  tableName: string,
  item: PolicySetItem,
  condition: object = {},
): Promise<void> {
  await client.send(
    new PutItemCommand({ TableName: tableName, Item: marshall(item, { removeUndefinedValues: true }), ...condition }),
  )
}

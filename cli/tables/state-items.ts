import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb'
import { poolsNamedIn } from '../facade/pools'
import { STATE_TABLE, toItem, withSecret } from '../facade/tables'

type Attributes = Record<string, AttributeValue>

export interface StateTable {
  readonly client: Pick<DynamoDBClient, 'send'>
  readonly name: string
}

/** Calls under way at once: some thousand items a second. */
const AT_ONCE = 32

const { partitionKey, timeToLiveAttribute } = STATE_TABLE
const NAMES = { '#pk': partitionKey }

/** What became of the items that have no secret in their key. */
export interface CopyCounts {
  readonly copied: number
  /** Existed already: counted under the secret, or copied before. */
  readonly kept: number
  /** Had expired. */
  readonly expired: number
}

/**
 * Copies every item that is stored without a secret to where its subject is stored with this one. What is there already
 * stays, so no counter goes back, and it may be done again.
 *
 * @param nowSeconds epoch seconds; what has expired by then is left out.
 */
export async function carryState(table: StateTable, secret: Uint8Array, nowSeconds: number): Promise<CopyCounts> {
  const counts = { copied: 0, kept: 0, expired: 0 }
  await eachItem(table, {}, async (item) => {
    const key = withSecret(item[partitionKey]?.S ?? '', secret)
    if (key === undefined) return
    if (Number(item[timeToLiveAttribute]?.N ?? Infinity) < nowSeconds) counts.expired++
    else if (await putIfNone(table, { ...item, [partitionKey]: { S: key } })) counts.copied++
    else counts.kept++
  })
  return counts
}

/** Deletes every item that is stored without a secret, pools of such included; how many they were. */
export async function purgeWithoutSecret(table: StateTable): Promise<number> {
  const noSecret = new Uint8Array()
  let deleted = 0
  await eachItem(table, { ProjectionExpression: '#pk', ExpressionAttributeNames: NAMES }, async (item) => {
    const key = item[partitionKey]?.S ?? ''
    if (withSecret(key.split('.', 1)[0]!, noSecret) === undefined) return
    await deleteItem(table, key)
    deleted++
  })
  return deleted
}

/** Deletes a subject's item and its pools, whatever they are by now; whether there was one. */
export async function deleteSubject(table: StateTable, key: string): Promise<boolean> {
  const deleted = await deleteItem(table, key)
  const pools = poolsNamedIn(key, toItem(deleted)).flatMap(({ keys }) => keys)
  await Promise.all(pools.map((pool) => deleteItem(table, pool)))
  return deleted !== undefined
}

/** @returns the item that was deleted. */
async function deleteItem({ client, name }: StateTable, key: string): Promise<Attributes | undefined> {
  const { Attributes } = await client.send(
    new DeleteItemCommand({ TableName: name, Key: { [partitionKey]: { S: key } }, ReturnValues: 'ALL_OLD' }),
  )
  return Attributes
}

async function putIfNone({ client, name }: StateTable, Item: Attributes): Promise<boolean> {
  try {
    const guard = { ConditionExpression: 'attribute_not_exists(#pk)', ExpressionAttributeNames: NAMES }
    await client.send(new PutItemCommand({ TableName: name, Item, ...guard }))
    return true
  } catch (error) {
    if ((error as Error).name === 'ConditionalCheckFailedException') return false
    throw error
  }
}

async function eachItem(
  { client, name }: StateTable,
  projection: object,
  work: (item: Attributes) => Promise<void>,
): Promise<void> {
  let ExclusiveStartKey: Attributes | undefined
  do {
    const page: { Items?: Attributes[]; LastEvaluatedKey?: Attributes } = await client.send(
      new ScanCommand({ TableName: name, ConsistentRead: true, ExclusiveStartKey, ...projection }),
    )
    const left = page.Items ?? []
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let item = left.pop(); item; item = left.pop()) await work(item)
      }),
    )
    ExclusiveStartKey = page.LastEvaluatedKey
  } while (ExclusiveStartKey)
}

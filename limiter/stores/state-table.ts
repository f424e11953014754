import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { EXPIRY } from './attributes'
import { toStoreUnavailable } from './dynamodb-errors'
import { loadDynamoDbSdk } from './dynamodb-sdk'

/** Key and expiry of the state table: as `createStateTable` makes it, and as the stack declares it. */
export const STATE_TABLE = { partitionKey: 'pk', timeToLiveAttribute: EXPIRY } as const

const POLL_MS = 200
const MAX_WAIT_MS = 60_000

/**
 * Makes the table that a `DynamoDbStore` needs, for development and tests; a deployment's comes from the stack.
 * Resolves when it takes requests. A table of that name that is there already is left as it is, except that its TTL is
 * switched on.
 */
export async function createStateTable(client: Pick<DynamoDBClient, 'send'>, tableName: string): Promise<void> {
  await createTable(client, tableName, [STATE_TABLE.partitionKey])
}

/** Makes a table with string keys and a TTL, unless it is there, and waits until it takes requests. */
export async function createTable(
  client: Pick<DynamoDBClient, 'send'>,
  tableName: string,
  keys: readonly [string, string?],
): Promise<void> {
  const { CreateTableCommand } = await loadDynamoDbSdk()
  const names = keys.filter((name) => name !== undefined)
  const command = new CreateTableCommand({
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: names.map((AttributeName, i) => ({ AttributeName, KeyType: i === 0 ? 'HASH' : 'RANGE' })),
  })
  try {
    await client.send(command)
  } catch (error) {
    if ((error as Error).name !== 'ResourceInUseException') throw toStoreUnavailable(error, tableName)
  }
  await active(client, tableName)
  await expire(client, tableName)
}

async function active(client: Pick<DynamoDBClient, 'send'>, tableName: string): Promise<void> {
  const { DescribeTableCommand } = await loadDynamoDbSdk()
  for (let waitedMs = 0; waitedMs < MAX_WAIT_MS; waitedMs += POLL_MS) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: tableName }))
    if (Table?.TableStatus === 'ACTIVE') return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`table "${tableName}" was not active after ${MAX_WAIT_MS / 1000} seconds`)
}

/** TTL is housekeeping: no decision relies on it, so an engine without it is good enough. */
async function expire(client: Pick<DynamoDBClient, 'send'>, tableName: string): Promise<void> {
  const { UpdateTimeToLiveCommand } = await loadDynamoDbSdk()
  const TimeToLiveSpecification = { AttributeName: STATE_TABLE.timeToLiveAttribute, Enabled: true }
  try {
    await client.send(new UpdateTimeToLiveCommand({ TableName: tableName, TimeToLiveSpecification }))
  } catch (error) {
    if (!/ValidationException|UnknownOperation|NotImplemented/.test((error as Error).name))
      throw toStoreUnavailable(error, tableName)
  }
}

import { randomBytes } from 'node:crypto'
import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { hmacKeyItem, SECRET_BYTES } from '../lambda/config-table/items/hmac-key-item'
import type { HmacKey } from '../lambda/config-table/subject-keys'
import type { EpochMs } from '../limiter/clock'

export const newHmacKey = (activeFrom: EpochMs): HmacKey => ({ secret: randomBytes(SECRET_BYTES), activeFrom })

/**
 * Gives a deployment that has counted nothing yet its secret, unless it has one: of several that try, one does it.
 *
 * @returns whether this call did.
 */
export async function makeHmacKey(client: Pick<DynamoDBClient, 'send'>, tableName: string): Promise<boolean> {
  const Item = marshall(hmacKeyItem([newHmacKey(0)]))
  try {
    await client.send(
      new PutItemCommand({ TableName: tableName, Item, ConditionExpression: 'attribute_not_exists(pk)' }),
    )
    return true
  } catch (error) {
    if ((error as Error).name === 'ConditionalCheckFailedException') return false
    throw error
  }
}

import { randomBytes } from 'node:crypto'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { HMAC_KEY_ITEM, hmacKeyItem, SECRET_BYTES } from '../lambda/config-table/items/hmac-key-item'
import type { HmacKey } from '../lambda/config-table/subject-keys'
import type { EpochMs } from '../limiter/clock'
import { tryWrite } from './guarded-writes'

export const newHmacKey = (activeFrom: EpochMs): HmacKey => ({ secret: randomBytes(SECRET_BYTES), activeFrom })

/**
 * Gives a deployment that has counted nothing yet its secret, unless it has one: of several that try, one does it.
 *
 * @returns whether this call did.
 */
export const makeHmacKey = (documents: DynamoDBDocumentClient, tableName: string): Promise<boolean> =>
  tryWrite(documents, tableName, { key: HMAC_KEY_ITEM, after: hmacKeyItem([newHmacKey(0)]) })

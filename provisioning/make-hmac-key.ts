import { randomBytes } from 'node:crypto'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { HMAC_KEY_ITEM, hmacKeyItem, SECRET_BYTES } from '../lambda/config-table/items/hmac-key-item'
import type { HmacKey } from '../lambda/config-table/subject-keys'
import type { EpochMs } from '../limiter/clock'
import type { AuditTrail } from './audit-trail'
import { tryRecorded } from './recorded-writes'

export const newHmacKey = (activeFrom: EpochMs): HmacKey => ({ secret: randomBytes(SECRET_BYTES), activeFrom })

/**
 * Creates the secret of a new deployment, unless it has one. Of several concurrent calls, one succeeds.
 *
 * @returns whether this call created it.
 */
export const makeHmacKey = (
  documents: DynamoDBDocumentClient,
  tableName: string,
  trail?: AuditTrail,
): Promise<boolean> =>
  tryRecorded(documents, tableName, { key: HMAC_KEY_ITEM, after: hmacKeyItem([newHmacKey(0)]) }, trail)

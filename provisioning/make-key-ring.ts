import { randomBytes } from 'node:crypto'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { ringKey } from '../lambda/config-table/items/config-keys'
import { keyRingItem, type RingKey, type RingKind, SECRET_BYTES } from '../lambda/config-table/items/key-ring'
import { RANDOM_BYTES, signedKey } from '../lambda/config-table/items/signing-keys'
import type { EpochMs } from '../limiter/clock'
import type { AuditTrail } from './audit-trail'
import { tryRecorded } from './recorded-writes'

export const newRingKey = (activeFrom: EpochMs): RingKey => ({ secret: randomBytes(SECRET_BYTES), activeFrom })

/** A new random API key. */
export const newSignedKey = (signer: RingKey): string => signedKey(signer, randomBytes(RANDOM_BYTES))

/**
 * Creates the first secret of a ring, which is active at once, unless the deployment has one. Of several concurrent
 * calls, one succeeds.
 *
 * @returns whether this call created it.
 */
export const makeKeyRing = (
  kind: RingKind,
  documents: DynamoDBDocumentClient,
  tableName: string,
  trail?: AuditTrail,
): Promise<boolean> =>
  tryRecorded(documents, tableName, { key: ringKey(kind), after: keyRingItem(kind, [newRingKey(0)]) }, trail)

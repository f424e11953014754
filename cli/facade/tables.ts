/** Both tables: the keys of their items, the secrets among these, the stores that ask them, and signed calls of AWS. */

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { type Answer, type SignedCall, SignedCalls, type SignedCallsOptions } from '../../limiter/aws/signed-calls'

export {
  apiKey,
  CONFIG_TABLE,
  clientKey,
  lastValidKey,
  ringKey,
  switchKey,
  tierKey,
} from '../../lambda/config-table/items/config-keys'
export {
  type KeyRing,
  keyRingItem,
  MAX_RING_KEYS,
  parseKeyRing,
  RING_KEY_LEAD_MS,
  type RingKey,
  type RingKind,
} from '../../lambda/config-table/items/key-ring'
export { SIGNING_RING, signingKeyId } from '../../lambda/config-table/items/signing-keys'
export { HMAC_RING, type SubjectKeys } from '../../lambda/config-table/subject-keys'
export { domainOf } from '../../limiter/aws/endpoint'
export type { Answer } from '../../limiter/aws/signed-calls'
export { toItem } from '../../limiter/stores/attributes'
export { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
export { STATE_TABLE } from '../../limiter/stores/state-table'
export { type Item, NO_ITEM, type StateStore } from '../../limiter/stores/store'
export { subjectKey, withSecret } from '../../limiter/subject-key'

/** A call of a service for which the command line has no client. */
export interface ServiceCall extends SignedCall, Pick<SignedCallsOptions, 'service' | 'endpoint'> {
  readonly signal: AbortSignal
}

const MAX_ANSWER_BYTES = 64 * 2 ** 20

/** Makes one call in the Region of a DynamoDB client, with its credentials. */
export async function signedCall(client: DynamoDBClient, call: ServiceCall): Promise<Answer> {
  const { service, endpoint, signal } = call
  const region = await client.config.region()
  const { credentials } = client.config
  const calls = new SignedCalls({ service, endpoint, region, credentials, maxAnswerBytes: MAX_ANSWER_BYTES })
  try {
    return await calls.send(call, { signal })
  } finally {
    calls.destroy()
  }
}

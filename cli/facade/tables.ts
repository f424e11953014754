/** Both tables: the keys of their items, the secrets among these, the stores that ask them, and signed calls of AWS. */

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
export { RANDOM_BYTES, SIGNING_RING, signedKey, signingKeyId } from '../../lambda/config-table/items/signing-keys'
export { HMAC_RING, type SubjectKeys } from '../../lambda/config-table/subject-keys'
export { domainOf } from '../../limiter/aws/endpoint'
export { type Answer, type SignedCall, SignedCalls, type SignedCallsOptions } from '../../limiter/aws/signed-calls'
export { toItem } from '../../limiter/stores/attributes'
export { DynamoDbStore } from '../../limiter/stores/dynamodb-store'
export { sdkCalls } from '../../limiter/stores/sdk-calls'
export {
  type CallOptions,
  type DeleteOutcome,
  type Item,
  type ItemWrite,
  NO_ITEM,
  type PolicyWrite,
  type SeenMarks,
  type StateStore,
  type WriteOutcome,
} from '../../limiter/stores/store'
export { STATE_TABLE } from '../../limiter/stores/table-schema'
export { subjectKey, withSecret } from '../../limiter/subject-key'

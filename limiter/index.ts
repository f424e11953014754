/** `sluice/limiter`: rate limiting in any Node program. */

export type { Clock, EpochMs } from './clock'
export {
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type SubjectCharge,
  type TakeOptions,
} from './create-limiter'
export type { Decision, Standing } from './decision'
export {
  ChargedAtError,
  ClockError,
  ConfigError,
  CostError,
  SluiceError,
  type StoreFailure,
  StoreUnavailableError,
  SubjectError,
} from './errors'
export type { LimiterEvent, OnEvent } from './events'
export type { FailureMode } from './fallback'
export type { AlgorithmName, PolicyInput } from './policies/policy'
export type { RefundOptions } from './rate-limiter'
export { DynamoDbStore, type DynamoDbStoreOptions } from './stores/dynamodb-store'
export { MemoryStore, type MemoryStoreOptions } from './stores/memory-store'
export { createStateTable } from './stores/state-table'
export type { DeleteOutcome, Item, ItemWrite, SeenMarks, StateStore, WriteOutcome } from './stores/store'

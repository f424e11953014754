/** `sluice/limiter`: rate limiting in any Node program. */

export type { Clock, EpochMs } from '../clock'
export type { Decision, Standing } from '../decision'
export {
  ChargedAtError,
  ClockError,
  ConfigError,
  CostError,
  SluiceError,
  type StoreFailure,
  StoreUnavailableError,
  SubjectError,
} from '../errors'
export type { PolicyInput } from '../policies/policy'
export type { AlgorithmName } from '../policies/quota'
export { DynamoDbStore, type DynamoDbStoreOptions } from '../state/dynamodb-store'
export { MemoryStore, type MemoryStoreOptions } from '../state/memory-store'
export { createStateTable } from '../state/state-table'
export type { DeleteOutcome, Item, ItemWrite, SeenMarks, StateStore, WriteOutcome } from '../state/store'
export { createLimiter, type Limiter, type LimiterOptions, type SubjectCharge, type TakeOptions } from './create-limiter'
export type { LimiterEvent, OnEvent } from './events'
export type { FailureMode } from './fallback'
export type { RefundOptions } from './rate-limiter'

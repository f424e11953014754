/**
 * Rate limiting in any Node program.
 *
 * @module sluice/limiter
 */

import './stores/both-builds'

export type { Exceeded } from './algorithms/algorithm'
export type { Assignment, Clause, Comparison, ConditionalWrite, Fields } from './algorithms/conditional-write'
export type { AwsCredentials, CredentialProvider } from './aws/credentials'
export type { Clock, EpochMs } from './clock'
export { createLimiter } from './create-limiter'
export type { Decision, Standing, Standings } from './decision'
export {
  ChargedAtError,
  ClockError,
  ConfigError,
  CostError,
  type Mistake,
  type MistakeCode,
  ReservationError,
  SluiceError,
  type StoreFailure,
  StoreUnavailableError,
  SubjectError,
} from './errors'
export type { Limiter, LimiterOf, LimiterOptions, SubjectCharge, WaitOptions } from './limiter'
export type {
  AcquiredDecision,
  AsyncDispose,
  FailureMode,
  LimiterEvent,
  OnEvent,
  ReservedDecision,
  ReserveOptions,
  Slot,
  TakeOptions,
  UsedUnits,
} from './options'
export type {
  AlgorithmName,
  AnyPolicyInput,
  ConcurrencyInput,
  Consistency,
  Duration,
  PolicyInput,
} from './policies/policy'
export type { Costs, PolicyMistakes, Wrong } from './policies/written'
export type { RefundOptions } from './rate-limiter'
export type { Meter, MeterOptions } from './reservations/meter'
export { DynamoDbStore, type DynamoDbStoreOptions } from './stores/dynamodb-store'
export { MemoryStore, type MemoryStoreOptions } from './stores/memory-store'
export { createStateTable } from './stores/state-table'
export type {
  CallOptions,
  DeleteOutcome,
  Item,
  ItemWrite,
  PolicyWrite,
  Resent,
  SeenMarks,
  StateStore,
  WriteId,
  WriteOutcome,
} from './stores/store'

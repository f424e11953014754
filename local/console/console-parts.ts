import type { BreakableDynamoDb } from './breakable-dynamodb'
import type { Callers } from './callers'
import type { ConsoleOptions } from './console-options'
import type { EventStreams } from './event-stream'
import type { Firing } from './firing'
import type { TierChanges } from './tier-changes'

/** The parts that the endpoints use. */
export interface ConsoleParts {
  readonly streams: EventStreams
  readonly firing: Firing
  readonly dynamodb: BreakableDynamoDb
  readonly callers: Callers
  readonly changes: TierChanges
  readonly options: ConsoleOptions
  readonly isLocal: boolean
  /** Puts the counting proxy before DynamoDB, once. */
  watch(): Promise<void>
  changed(): void
}

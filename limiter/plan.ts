import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import type { OnEvent } from './options'
import type { FleetClock } from './steps'
import type { Tried } from './store-calls'
import type { DeleteOutcome, Item, ItemWrite, PolicyWrite, SeenMarks, WriteId, WriteOutcome } from './stores/store'
import type { View } from './view'

/** What a plan knows of subjects without a call: `SubjectItems` of a store, and the items of a simulation. */
export interface KnownItems {
  readonly options: {
    /** How long a cached denial is trusted, in milliseconds, so that a reset or a raised limit takes effect. */
    readonly denialTtlMs: number
    readonly onEvent: OnEvent
  }
  readonly fleet: FleetClock
  now(): EpochMs
  /** What was last seen of a subject. */
  view(key: string): View | undefined
  /** What was last seen of a subject, if that is recent enough to go by. */
  recentView(key: string): View | undefined
  /** Names a write, so that it counts once however often it is sent. */
  nextId(): WriteId
  /**
   * Fits a write into DynamoDB's limits: the store leaves nothing out of what it is handed.
   *
   * @param id @default a new one
   */
  fit(
    parts: readonly PolicyWrite[],
    policies: readonly CompiledPolicy[],
    seen: Item | undefined,
    now: EpochMs,
    id?: WriteId,
  ): ItemWrite
}

/**
 * What a plan asks of a subject's item next: to be read or wiped as it was last seen, or changed.
 * `isTidying`: nobody waits for what the write does. It is tried once, and a failure says nothing of the item.
 */
export type Call =
  | { readonly kind: 'read' }
  | { readonly kind: 'write'; readonly write: ItemWrite; readonly isTidying?: boolean }
  | { readonly kind: 'delete'; readonly whileMarks: SeenMarks }

/**
 * What a call came to, with the item as it was just before it; with `already-applied`, as it is now. After a write,
 * `view` has the item as it is after it.
 */
export type Answer = Tried<{
  readonly kind: 'read' | WriteOutcome['kind'] | DeleteOutcome['kind']
  readonly item: Item
}>

/**
 * What is done to one subject: a generator that yields each call, is resumed with its answer, and returns what came of
 * it. It has no I/O of its own.
 */
export type Plan<T> = Generator<Call, T, Answer>

export const READ: Call = { kind: 'read' }
export const writing = (write: ItemWrite): Call => ({ kind: 'write', write })

/**
 * Times to live stand on the hour, so that a busy subject moves its own about once an hour, and instances agree on it.
 */
const STEP_SECONDS = 3600

/**
 * Where a write has to move the item's time to live; `undefined` when it lies far enough ahead already, which
 * is never taken back. Always an hour or more later than the last moment at which any of these policies' state matters,
 * whatever skew clocks have.
 */
export function expiryFor(
  policies: readonly CompiledPolicy[],
  known: Item | undefined,
  now: EpochMs,
): number | undefined {
  const retentionMs = policies.reduce((longest, policy) => Math.max(longest, policy.counter.retentionMs), 0)
  const neededSeconds = Math.ceil((now + retentionMs) / 1000) + STEP_SECONDS
  if (known && known.expiresAtSeconds >= neededSeconds) return undefined
  return Math.ceil(neededSeconds / STEP_SECONDS) * STEP_SECONDS + STEP_SECONDS
}

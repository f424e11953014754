import type { Clock, EpochMs } from './clock'
import type { Decision } from './decision'
import type { StoreFailure } from './errors'
import type { Duration } from './policies/policy'
import type { StateStore } from './stores/store'

/**
 * What to answer when the store cannot be reached; every such decision says `degraded`.
 * - `local`: the same policies, counted in this instance's memory, which admits its share of each limit.
 * - `allow`: let everything pass.
 * - `deny`: let nothing pass.
 * - `throw`: no answer, the caller gets the `StoreUnavailableError`.
 */
export type FailureMode = 'local' | 'allow' | 'deny' | 'throw'
export const FAILURE_MODES: readonly FailureMode[] = ['local', 'allow', 'deny', 'throw']

export interface RateLimiterOptions {
  readonly store: StateStore
  /** @default the system's clock */
  readonly clock?: Clock
  /** Time for one decision, in milliseconds. @default 300 */
  readonly deadlineMs?: number
  /** Time for the first decision, which has to connect. @default 2000, or the deadline if that is longer */
  readonly firstDeadlineMs?: number
  /** How long a denial is answered from memory before the store is read again, in milliseconds. @default 5000 */
  readonly denialTtlMs?: number
  /** Subjects whose state is remembered, about a kilobyte each. @default 50,000 */
  readonly maxSubjects?: number
  /** @default 'local' */
  readonly onStoreError?: FailureMode
  /**
   * The share of each limit that this instance admits while the store cannot be reached, above 0 and up to 1: 1 /
   * number of instances.
   * @default 1
   */
  readonly localShare?: number
  /** Told what happens on the way to decisions, for metrics. @default none */
  readonly onEvent?: OnEvent
}

/** What a refund knows of the charge. */
export interface RefundOptions {
  /**
   * `chargedAt` of the decision, in epoch milliseconds; `null`, as denials have it, when there is nothing to give back.
   * Units whose window is over are not taken from another, and of those that time gives back, only the rest is.
   * @default now
   */
  readonly chargedAt?: EpochMs | null
  /**
   * `delayMs` of the decision, for a policy with `action: delay`, which charged the request at its turn. @default not
   * known: only while no request waits
   */
  readonly delayMs?: number
}

/** How one decision is made where the store cannot be asked; what is not given is as in the limiter's options. */
export type WithoutStore = Pick<RateLimiterOptions, 'onStoreError' | 'localShare'>

/** What a request takes. */
export interface TakeOptions {
  /** Whole units that the request takes; 0 peeks. @default 1 */
  readonly cost?: number
  /**
   * Whole units that it takes of the policies with a `cost`, by the name that they say: `{ tokens: 500 }`. A policy of
   * which it takes 0 is not asked.
   * @default 1 each
   */
  readonly costs?: Readonly<Record<string, number>>
}

/** What a request takes of which the true cost is known afterwards. */
export interface ReserveOptions extends TakeOptions {
  /**
   * How long the units stay reserved, a duration such as `2m`, from `1s` to `24h`: `settle` counts what was really used
   * until then. A reservation that nobody settles stays charged in full.
   */
  readonly reserve: Duration
}

/**
 * A decision whose units can be settled. Its `chargedAt` is then `null`, for `settle` gives back what was not used, and
 * `refund` must not give it back again.
 */
export interface ReservedDecision extends Decision {
  /**
   * What `settle` and `meter` want: a string to hand only to the process that knows the true cost. Absent where nothing
   * is reserved: the request was denied, or decided without the store.
   */
  readonly reservation?: string
}

/** Units that were used, of everything that is reserved or by the name of each cost. */
export type UsedUnits = number | { readonly cost?: number; readonly costs?: Readonly<Record<string, number>> }

/** What a request takes that gets a slot; with `reserve`, units that are settled, too. */
export interface AcquireOptions extends TakeOptions {
  /** As that of `take`. @default no units are reserved */
  readonly reserve?: ReserveOptions['reserve']
}

/** `Symbol.asyncDispose`, where the types of the program that imports this know it. */
export type AsyncDispose = SymbolConstructor extends { readonly asyncDispose: infer Name extends symbol }
  ? { readonly [Dispose in Name]: () => Promise<void> }
  : unknown

/** A decision, and the slots that an allowed request has from then on. */
export interface AcquiredDecision extends ReservedDecision {
  /**
   * Frees the slots, and settles what is reserved. It counts once, however often it is called, and frees no other
   * request's slot.
   *
   * @param used units that were used, as for `settle`. @default what is reserved stays charged
   * @returns false when nothing is held any more: it was released or settled before, its time is over, the subject was
   * reset, or the request never had a slot.
   * @throws StoreUnavailableError when it is not known whether that worked. It may be called again.
   */
  release(used?: UsedUnits): Promise<boolean>
}

/**
 * What `acquire` resolves with. `await using slot = await limiter.acquire(…)` releases it at the end of the block. If
 * the store cannot be reached then, the slot lasts until its timeout, and nothing is thrown.
 */
export type Slot = AcquiredDecision & AsyncDispose

/**
 * What happened on the way to a decision, for metrics. Nothing in it identifies a caller.
 * - `store-call`: one call to the store, how long it took, and how it failed if it did.
 * - `conflict`: a write's guard did not hold, and the decision was made again.
 * - `lease`: units were leased in one write, to be spent from memory.
 * - `hot-key`: one item gets more writes than DynamoDB takes, and its subject is leased for a while.
 * - `circuit`: the store is no longer called, or called again.
 * - `clock`: the system's clock is more than a minute off the store's, whose time is used instead, or it agrees again.
 */
export type LimiterEvent =
  | { readonly kind: 'store-call'; readonly ms: number; readonly failure?: StoreFailure }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'lease'; readonly units: number }
  | { readonly kind: 'hot-key' }
  | { readonly kind: 'circuit'; readonly state: 'open' | 'closed' }
  | { readonly kind: 'clock'; readonly state: 'wrong' | 'right'; readonly offMs: number }

/** Receives the events of a limiter, for metrics and logs. */
export type OnEvent = (event: LimiterEvent) => void

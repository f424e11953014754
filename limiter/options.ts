import type { Clock, EpochMs } from './clock'
import type { Decision } from './decision'
import type { StoreFailure } from './errors'
import type { Duration } from './policies/policy'
import type { Costs } from './policies/written'
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
  readonly clock?: Clock | undefined
  /** Time for one decision, in milliseconds. @default 300 */
  readonly deadlineMs?: number | undefined
  /** Time for the first decision, which has to connect. @default 2000, or the deadline if that is longer */
  readonly firstDeadlineMs?: number | undefined
  /** How long a denial is answered from memory before the store is read again, in milliseconds. @default 5000 */
  readonly denialTtlMs?: number | undefined
  /** Subjects whose state is remembered, about a kilobyte each. @default 50,000 */
  readonly maxSubjects?: number | undefined
  /** @default 'local' */
  readonly onStoreError?: FailureMode | undefined
  /**
   * The share of each limit that this instance admits while the store cannot be reached, above 0 and up to 1: 1 /
   * number of instances.
   * @default 1
   */
  readonly localShare?: number | undefined
  /** Told what happens on the way to decisions, for metrics. @default none */
  readonly onEvent?: OnEvent | undefined
}

/** What a refund knows of the charge. */
export interface RefundOptions {
  /**
   * `chargedAt` of the decision, in epoch milliseconds; `null`, as denials have it, when there is nothing to give back.
   * Units whose window is over are not taken from another, and of those that time gives back, only the rest is.
   * @default now
   */
  readonly chargedAt?: EpochMs | null | undefined
  /**
   * `delayMs` of the decision, for a policy with `action: delay`, which charged the request at its turn. @default not
   * known: only while no request waits
   */
  readonly delayMs?: number | undefined
}

/** How one decision is made where the store cannot be asked; what is not given is as in the limiter's options. */
export type WithoutStore = Pick<RateLimiterOptions, 'onStoreError' | 'localShare'>

/** What a request takes. */
export interface TakeOptions<CostName extends string = string> {
  /** Whole units that the request takes; 0 peeks. @default 1 */
  readonly cost?: number | undefined
  /**
   * Whole units that it takes of the policies with a `cost`, by the name that they say: `{ tokens: 500 }`. A policy of
   * which it takes 0 is not asked.
   * @default 1 each
   */
  readonly costs?: Costs<CostName> | undefined
}

/** What a request takes, of which the true cost may be known afterwards. */
export interface ReserveOptions<CostName extends string = string> extends TakeOptions<CostName> {
  /**
   * How long the units stay reserved, a duration such as `2m`, from `1s` to `24h`: `settle` counts what was really used
   * until then. A reservation that nobody settles stays charged in full.
   * @default no units are reserved
   */
  readonly reserve?: Duration | undefined
}

/**
 * A decision whose units can be settled, if it has a `reservation`. Its `chargedAt` is then `null`, for `settle` gives
 * back what was not used, and `refund` must not give it back again.
 */
export interface ReservedDecision<PolicyName extends string = string> extends Decision<PolicyName> {
  /**
   * What `settle` and `meter` want: a string to hand only to the process that knows the true cost. Absent where nothing
   * is reserved: the request did not `reserve`, was denied, or was decided without the store.
   */
  readonly reservation?: string
}

/** Units that were used, of everything that is reserved or by the name of each cost. */
export type UsedUnits<CostName extends string = string> =
  | number
  | { readonly cost?: number | undefined; readonly costs?: Costs<CostName> | undefined }

/** `Symbol.asyncDispose`, where the types of the program that imports this know it. */
export type AsyncDispose = SymbolConstructor extends { readonly asyncDispose: infer Name extends symbol }
  ? { readonly [Dispose in Name]: () => Promise<void> }
  : unknown

/** A decision, and the slots that an allowed request has from then on. */
export interface AcquiredDecision<PolicyName extends string = string, CostName extends string = string>
  extends ReservedDecision<PolicyName> {
  /**
   * Frees the slots, and settles what is reserved. It counts once, however often it is called, and frees no other
   * request's slot.
   *
   * @param used units that were used, as for `settle`. @default what is reserved stays charged
   * @returns false when nothing is held any more: it was released or settled before, its time is over, the subject was
   * reset, or the request never had a slot.
   * @throws StoreUnavailableError when it is not known whether that worked. It may be called again.
   */
  release(used?: UsedUnits<CostName>): Promise<boolean>
}

/**
 * What `acquire` resolves with. `await using slot = await limiter.acquire(…)` releases it at the end of the block. If
 * the store cannot be reached then, the slot lasts until its timeout, and nothing is thrown.
 */
export type Slot<PolicyName extends string = string, CostName extends string = string> = AcquiredDecision<
  PolicyName,
  CostName
> &
  AsyncDispose

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

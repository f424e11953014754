import type { Clock, EpochMs } from './clock'
import type { OnEvent } from './events'
import type { FailureMode } from './failure-mode'
import type { StateStore } from './stores/store'

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

import type { Exceeded } from './algorithms/algorithm'
import type { EpochMs } from './clock'
import type { StoreFailure } from './errors'

/** The numbers of an answer. */
export interface Standing {
  readonly allowed: boolean
  /** Units per window, as the policy was configured. */
  readonly limit: number
  /** The policy's window, in milliseconds; of one on running requests, its timeout. */
  readonly windowMs: number
  /** What the policy counts, where that is not requests or units in time. */
  readonly counts?: 'running'
  /** Whole units still permitted at this instant, after this request; never negative. */
  readonly remaining: number
  /** Time until the quota is full again if no request comes; 0 when it is full. */
  readonly resetAfterMs: number
  /** Time until this very request would pass if no other comes first: 0 when allowed, `Infinity` when it never can. */
  readonly retryAfterMs: number
  /** How long an allowed request should wait for its turn; 0 unless a leaky bucket or `action: delay` queues it. */
  readonly delayMs: number
  /**
   * Units past the quota that are on record for the current window, this request's included. Absent where the policy
   * denies what is past its quota.
   */
  readonly overage?: number
  /** Allowed past the limit, and why: inside an `overrun`, or by the policy's action. Absent for all others. */
  readonly exceeded?: Exceeded
  /** Denied because the caller is locked out, until `retryAfterMs` is over at the earliest. Absent for all others. */
  readonly lockedOut?: true
}

/** The answer to one request over all its policies; the numbers are those of the policy that it is named after. */
export interface Decision extends Standing {
  /**
   * Name of the policy that denied, or of the tightest when allowed: the one with the least left, of several with
   * nothing left the furthest over.
   */
  readonly policy: string
  /**
   * When the units were charged, in epoch milliseconds: what `refund` wants to know. Units of a lease were charged when
   * it was taken, those of a degraded decision in the memory of this limiter. `null` when nothing was charged: a
   * denial, a peek, or a degraded decision of the failure mode `allow`.
   */
  readonly chargedAt: EpochMs | null
  /** A cached denial: subjects that were not checked may make the request wait longer than `retryAfterMs`. */
  readonly retryAfterIsLowerBound: boolean
  /** The store could not be reached, and the failure mode decided. */
  readonly degraded: boolean
  /**
   * Why the store could not be reached. With `item` the subject's own item is refused, and the decision is a denial in
   * every failure mode. Absent where it could.
   */
  readonly failure?: StoreFailure
  /**
   * The failure mode that decided: the limiter's, and `deny` where the subject's own item is refused. Absent where the
   * store was reached.
   */
  readonly failureMode?: 'local' | 'allow' | 'deny'
  /** The part of `delayMs` that the caller of the limiter waits, for policies with `delayIn: authorizer`. */
  readonly waitMs: number
  /** Allowed in the share by which a limit may be overrun. */
  readonly overrun: boolean
  /** Allowed although a policy with `action: observe` would have denied it. */
  readonly observed: boolean
  /** `low`: allowed past the limit of a policy with `action: deprioritize`. */
  readonly priority: 'normal' | 'low'
  /** The same numbers for each policy, by name. */
  readonly policies: Readonly<Record<string, Standing>>
}

import type { Decision } from './decision'
import type { Duration } from './policies/policy'

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

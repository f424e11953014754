import type { EpochMs } from '../clock'
import type { Algorithm, Hold, Step } from './algorithm'
import type { ConditionalWrite, Fields } from './conditional-write'

/**
 * An algorithm bound to one quota: all that the limiter knows of how a policy counts. Its methods and laws are those of
 * `Algorithm`.
 *
 * What a policy does past its limit is a decorator around it: `overrun`, `nonBlocking`, `queued`, `lockingOut`.
 */
export interface Counter {
  step(known: Fields | undefined, cost: number, now: EpochMs, asOf?: EpochMs, holds?: readonly Hold[]): Step
  refund(
    known: Fields,
    units: number,
    chargedAt: EpochMs,
    now: EpochMs,
    holds?: readonly Hold[],
    stays?: boolean,
  ): ConditionalWrite | undefined
  chargeLate(known: Fields | undefined, units: number, chargedAt: EpochMs, now: EpochMs): ConditionalWrite | undefined
  readonly isEndedByOthers: boolean
  readonly retentionMs: number
  readonly storedBytes: number
  readonly recordsDenials: boolean
  leaseExpiresAt(after: Fields, chargedAt: EpochMs): EpochMs | undefined
  extrapolate(seen: Fields, seenAt: EpochMs, now: EpochMs): Fields
  reachedAt(known: Fields | undefined, now: EpochMs): EpochMs | undefined
  canMerge(one: Step, next: Step): boolean
  purge(known: Fields, now: EpochMs): ConditionalWrite | undefined
  /** The same without lock-outs. Absent where there are none. */
  readonly unlocked?: Counter
}

/** Binds an algorithm to its quota; what an algorithm leaves out gets its default here. */
export const bind = <Quota>(algorithm: Algorithm<Quota>, quota: Quota): Counter => ({
  step: (known, cost, now, asOf, holds) => algorithm.step(known, quota, cost, now, asOf, holds),
  refund: (known, units, chargedAt, now, holds, stays) =>
    algorithm.refund(known, quota, units, chargedAt, now, holds, stays),
  chargeLate: (known, units, chargedAt, now) => algorithm.chargeLate(known, quota, units, chargedAt, now),
  isEndedByOthers: algorithm.isEndedByOthers ?? false,
  retentionMs: algorithm.retentionMs(quota),
  storedBytes: algorithm.storedBytes(quota),
  recordsDenials: algorithm.recordsDenials?.(quota) ?? false,
  leaseExpiresAt: (after, chargedAt) => algorithm.leaseExpiresAt?.(after, quota, chargedAt),
  extrapolate: (seen, seenAt, now) => algorithm.extrapolate?.(seen, seenAt, quota, now) ?? seen,
  reachedAt: (known, now) => algorithm.reachedAt?.(known, quota, now),
  canMerge: () => true, // costs add up
  purge: (known, now) => algorithm.purge?.(known, quota, now),
})

/** A counter without its lock-outs. */
export const unlocked = (counter: Counter): Counter => counter.unlocked ?? counter

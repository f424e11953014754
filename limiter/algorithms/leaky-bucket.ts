import type { Algorithm } from './algorithm'
import { arrivalMethods, arrivalStep, emissionUs, type Pace, turnAfterMs } from './arrival'

export interface LeakyBucketQuota {
  /** Units that leak per window, at a steady pace. */
  readonly limit: number
  readonly windowMs: number
  /** Units that the bucket holds. */
  readonly burst: number
  /** `meter`: what fits passes at once. `queue`: what fits is spaced out evenly, each request told how long to wait. */
  readonly mode: 'meter' | 'queue'
  /** Longest wait of a queue's last unit, in milliseconds. */
  readonly maxDelayMs?: number
}

const methods = arrivalMethods(pace)

/**
 * Leaky bucket: fills by one for each unit, leaks at a steady pace, and denies what would overflow.
 *
 * Fields: `t`, when the bucket will have run empty, and `e`, see arrival.ts. As a queue, a request departs when all
 * before it have leaked: request k of a burst after k emission intervals.
 *
 * **For:** a queue gives a backend that cannot take bursts an even stream. **Against:** waiting holds a connection, and
 * in Lambda time.
 */
export const leakyBucket: Algorithm<LeakyBucketQuota> = {
  name: 'leaky-bucket',

  step(known, quota, cost, now, asOf) {
    const { verdict, write } = arrivalStep(known, pace(quota), cost, now, asOf)
    if (quota.mode === 'meter' || !verdict.allowed) return { verdict, write }
    return { verdict: { ...verdict, delayMs: turnAfterMs(known, pace(quota), now) }, write }
  },

  ...methods,

  leaseExpiresAt: (after, quota, chargedAt) =>
    quota.mode === 'queue' ? undefined : methods.leaseExpiresAt!(after, quota, chargedAt),
}

function pace({ limit, windowMs, burst, mode, maxDelayMs }: LeakyBucketQuota): Pace {
  const emission = emissionUs(limit, windowMs)
  const capacity = emission * burst
  // The last unit in the bucket waits for all the others: one emission interval less than the bucket is full.
  const maxWaitUs = mode === 'queue' && maxDelayMs !== undefined ? maxDelayMs * 1000 + emission : Infinity
  return { emissionUs: emission, toleranceUs: Math.min(capacity, maxWaitUs), inTurn: mode === 'queue' }
}

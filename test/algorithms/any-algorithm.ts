import fc from 'fast-check'
import type { Algorithm } from '../../limiter/algorithms/algorithm'
import { anchoredWindow } from '../../limiter/algorithms/anchored-window'
import { fixedWindow } from '../../limiter/algorithms/fixed-window'
import { gcra } from '../../limiter/algorithms/gcra'
import { leakyBucket } from '../../limiter/algorithms/leaky-bucket'
import { slidingBuckets } from '../../limiter/algorithms/sliding-buckets'
import { slidingLog } from '../../limiter/algorithms/sliding-log'
import { slidingWindow } from '../../limiter/algorithms/sliding-window'
import { tokenBucket } from '../../limiter/algorithms/token-bucket'
import { epochGrid } from '../../limiter/algorithms/window-grid'

/** An algorithm and a quota for it, whose fields only that algorithm reads. */
export interface Counted {
  readonly name: string
  readonly algorithm: Algorithm<unknown>
  readonly quota: Readonly<Record<string, unknown>>
  /** The quota with another number of units: the limit, or the burst at the same pace. */
  readonly sized: (units: number) => Readonly<Record<string, unknown>>
}

const counted = <Quota extends object>(
  name: string,
  algorithm: Algorithm<Quota>,
  size: 'limit' | 'burst',
  quota: Quota,
): Counted => ({
  name,
  algorithm: algorithm as Algorithm<unknown>,
  quota: quota as never,
  sized: (units) => ({ ...quota, [size]: units }),
  ...{ [fc.toStringMethod]: () => `${name} ${JSON.stringify(quota)}` },
})

/** Every algorithm that denies, with `limit` units per window. */
const everyAlgorithm = (limit: number, windowMs: number, burst = limit): Counted[] => [
  counted('fixed window', fixedWindow, 'limit', { limit, grid: epochGrid(windowMs) }),
  counted('anchored window', anchoredWindow, 'limit', { limit, windowMs }),
  counted('sliding window', slidingWindow, 'limit', { limit, windowMs }),
  counted('sliding buckets', slidingBuckets, 'limit', { limit, windowMs: 12 * Math.ceil(windowMs / 12), buckets: 4 }),
  counted('sliding log', slidingLog, 'limit', { limit, windowMs, countDenied: false }),
  counted('token bucket', tokenBucket, 'burst', { limit, windowMs, burst, refill: 'greedy' }),
  counted('token bucket by the interval', tokenBucket, 'burst', { limit, windowMs, burst, refill: 'interval' }),
  counted('leaky bucket', leakyBucket, 'burst', { limit, windowMs, burst, mode: 'meter' }),
  counted('GCRA', gcra, 'burst', { limit, windowMs, burst }),
]

export const NAMES = everyAlgorithm(1, 1).map(({ name }) => name)

/** Quotas of the algorithm of this name. */
export const anyQuotaOf = (name: string): fc.Arbitrary<Counted> =>
  fc
    .tuple(
      fc.integer({ min: 1, max: 12 }),
      fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 3000 })),
      fc.nat({ max: 3 }),
    )
    .map(([limit, windowMs, more]) => everyAlgorithm(limit, windowMs, limit + more).find((one) => one.name === name)!)

import type { EpochMs } from '../clock'
import { type Algorithm, MAX_UNITS, type Step } from './algorithm'
import { arrivalMethods, arrivalStep, emissionUs, type Pace } from './arrival'
import {
  type Assignment,
  absentOrAtMost,
  add,
  atLeast,
  atMost,
  between,
  type Comparison,
  exactly,
  type Fields,
  numberOf,
  numbersBytes,
  set,
  when,
} from './conditional-write'
import { edgeAfter } from './window-grid'

export interface TokenBucketQuota {
  /** Tokens that come back per window. */
  readonly limit: number
  readonly windowMs: number
  /** Tokens that the bucket holds. */
  readonly burst: number
  /** `greedy`: tokens come back one by one, evenly. `interval`: `limit` at once, at each multiple of `windowMs`. */
  readonly refill: 'greedy' | 'interval'
}

/**
 * Token bucket: starts full with `burst` tokens, a request takes its cost, `limit` tokens come back per window.
 *
 * Greedy refill keeps the fields `t` and `e` of arrival.ts. Interval refill keeps `k`, the newest interval written, and
 * `u`, the tokens then missing from a full bucket, more than it holds where one with a larger burst charged them; a
 * clock behind `k` finds what is missing there.
 *
 * **For:** the words that most people know; a burst and a pace, each its own number. **Against:** up to `burst + limit`
 * in one window.
 */
export const tokenBucket: Algorithm<TokenBucketQuota> = {
  name: 'token-bucket',

  step: (known, quota, cost, now, asOf) =>
    quota.refill === 'greedy'
      ? arrivalStep(known, pace(quota), cost, now, asOf)
      : intervalStep(known, quota, cost, now),

  refund: (known, quota, units, chargedAt, now) =>
    quota.refill === 'greedy'
      ? greedy.refund(known, quota, units, chargedAt, now)
      : intervalRefund(known, quota, units, chargedAt, now),

  /**
   * Interval refill: a debt is charged in full once the bucket was refilled. How much of that refill it would have
   * taken is not known, since the tokens may have been used meanwhile.
   */
  chargeLate(known, quota, units, chargedAt, now) {
    if (quota.refill === 'greedy') return greedy.chargeLate(known, quota, units, chargedAt, now)
    const missing = numberOf(known, 'u')
    return intervalStep(known, { ...quota, burst: MAX_UNITS }, Math.min(units, MAX_UNITS - missing), chargedAt).write
  },

  retentionMs: (quota) =>
    quota.refill === 'greedy' ? greedy.retentionMs(quota) : (intervalsToFill(quota, quota.burst) + 1) * quota.windowMs,

  storedBytes: () => numbersBytes(2),

  reachedAt: (known, { windowMs }) => numberOf(known, 'k') * windowMs, // under greedy refill there is no `k`

  leaseExpiresAt: (after, quota, chargedAt) =>
    quota.refill === 'greedy' ? greedy.leaseExpiresAt!(after, quota, chargedAt) : edgeAfter(chargedAt, quota.windowMs),

  extrapolate: (seen, seenAt, quota, now) =>
    quota.refill === 'greedy'
      ? greedy.extrapolate!(seen, seenAt, quota, now)
      : intervalExtrapolate(seen, seenAt, quota, now),
}

function pace({ limit, windowMs, burst }: TokenBucketQuota): Pace {
  const emission = emissionUs(limit, windowMs)
  return { emissionUs: emission, toleranceUs: emission * burst }
}

const greedy = arrivalMethods(pace)

/** Intervals until a deficit of `missing` tokens is gone. */
const intervalsToFill = ({ limit }: TokenBucketQuota, missing: number): number => Math.ceil(missing / limit)

function intervalStep(known: Fields | undefined, quota: TokenBucketQuota, cost: number, now: EpochMs): Step {
  const { limit, windowMs, burst } = quota
  const seen = numberOf(known, 'k', -Infinity) // a bucket that was never touched has been filling for ever
  const interval = Math.max(Math.floor(now / windowMs), seen)
  const refilled = limit * (interval - seen)
  const owed = numberOf(known, 'u')
  const missing = Math.max(0, owed - refilled)
  const allowed = missing + cost <= burst
  const after = allowed ? missing + cost : missing
  const refillAfterMs = (intervals: number): number => (intervals <= 0 ? 0 : (interval + intervals) * windowMs - now)

  const verdict = {
    allowed,
    remaining: Math.max(0, burst - after),
    resetAfterMs: refillAfterMs(intervalsToFill(quota, after)),
    retryAfterMs: allowed ? 0 : cost > burst ? Infinity : refillAfterMs(intervalsToFill(quota, missing + cost - burst)),
  }
  if (!allowed || cost === 0) return { verdict }

  if (interval === seen)
    return { verdict, write: when([exactly('k', interval), atMost('u', burst - cost)], add('u', cost)) }

  const intervals = intervalsToFill(quota, burst)
  if (seen <= interval - intervals && owed <= limit * intervals) {
    // A bucket without requests for so long is full, unless a larger one was drained deeper than this one is.
    const untouched = [absentOrAtMost('k', interval - intervals), absentOrAtMost('u', limit * intervals)]
    return { verdict, write: when(untouched, set('k', interval), set('u', cost)) }
  }

  const refill = (owedThen: Comparison, owedNow: Assignment) =>
    when([exactly('k', seen), owedThen], set('k', interval), owedNow)
  if (owed <= refilled) return { verdict, write: refill(atMost('u', refilled), set('u', cost)) }
  return { verdict, write: refill(between('u', refilled + 1, burst - cost + refilled), add('u', cost - refilled)) }
}

/** Tokens charged before the latest refill may have come back with it, so they are not given back twice. */
function intervalRefund(
  known: Fields,
  { windowMs }: TokenBucketQuota,
  units: number,
  chargedAt: EpochMs,
  now: EpochMs,
) {
  const interval = numberOf(known, 'k', -1)
  const owed = numberOf(known, 'u')
  if (interval !== Math.floor(chargedAt / windowMs) || interval < Math.floor(now / windowMs) || owed === 0)
    return undefined
  return units <= owed
    ? when([exactly('k', interval), atLeast('u', units)], add('u', -units))
    : when([exactly('k', interval), exactly('u', owed)], set('u', 0))
}

/**
 * At the pace last seen, another instance has likely written to the present interval already, and refilled the bucket.
 */
function intervalExtrapolate(seen: Fields, seenAt: EpochMs, { windowMs }: TokenBucketQuota, now: EpochMs): Fields {
  const interval = Math.floor(now / windowMs)
  const perMs = numberOf(seen, 'u') / (1 + seenAt - numberOf(seen, 'k') * windowMs)
  return interval > numberOf(seen, 'k') && perMs * (now - interval * windowMs) > LIKELY ? { k: interval, u: 0 } : seen
}

/** Requests expected at which one at least has more likely come than not: ln 2. */
const LIKELY = 0.69

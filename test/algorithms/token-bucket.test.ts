import fc from 'fast-check'
import { type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { type TokenBucketQuota, tokenBucket } from '../../limiter/algorithms/token-bucket'
import vectors from '../vectors/token-bucket.json'
import worked from '../vectors/worked-examples.json'
import { type AlgorithmSpec, anySize, anyWindowMs } from './algorithm-spec'
import { fitsPace, mostAtPace } from './charges'
import { obeysTheLaws } from './laws'
import { applyWrite, type Row, remainingAt, runTimeline, takeAt } from './timeline'

const YEAR_MS = 31_536_000_000

interface Bandwidth {
  readonly capacity: number
  readonly refill: number
  readonly period: number
  readonly initial: number
}

const quotaOf = (
  { capacity, refill, period }: Bandwidth,
  style: 'greedy' | 'interval' = 'greedy',
): TokenBucketQuota => ({
  limit: refill,
  windowMs: period,
  burst: capacity,
  refill: style,
})

/** A bucket that holds its initial tokens at this instant. */
const bucketOf = (bandwidth: Bandwidth, now: number, style?: 'greedy' | 'interval'): Fields => {
  const { write } = tokenBucket.step({}, quotaOf(bandwidth, style), bandwidth.capacity - bandwidth.initial, now)
  return write ? applyWrite(write, {}) : {}
}

describe('token bucket', () => {
  const timelines: [string, TokenBucketQuota, Row[]][] = [
    [
      'greedy refill: ten per second, a bucket of three',
      { limit: 10, windowMs: 1000, burst: 3, refill: 'greedy' },
      [
        [1000, 0, true, 3, 0, 'a bucket starts full'],
        [1000, 3, true, 0, 0, ''],
        [1099, 1, false, 0, 1, 'a millisecond too early'],
        [1100, 1, true, 0, 0, 'just in time'],
        [1100, 4, false, 0, Infinity, 'more than the bucket holds can never pass'],
        [1050, 1, false, 0, 150, 'a clock that steps back refills nothing'],
        [9000, 1, true, 2, 0, 'a long pause fills the bucket and no more'],
      ],
    ],
    [
      'interval refill: four per second, a bucket of ten',
      { limit: 4, windowMs: 1000, burst: 10, refill: 'interval' },
      [
        [1300, 0, true, 10, 0, 'a bucket starts full'],
        [1300, 10, true, 0, 0, 'the whole burst'],
        [1300, 0, true, 0, 0, 'peeking is allowed when nothing is left'],
        [1300, 1, false, 0, 700, 'the next four come with the next second'],
        [1300, 5, false, 0, 1700, 'five take two refills'],
        [1300, 10, false, 0, 2700, 'ten take three'],
        [1300, 11, false, 0, Infinity, 'more than the bucket holds can never pass'],
        [1999, 1, false, 0, 1, 'a millisecond too early'],
        [2000, 1, true, 3, 0, 'just in time: all four come at once'],
        [1500, 4, false, 3, 1500, 'a clock that steps back refills nothing'],
        [1500, 1, true, 2, 0, 'but takes what is there'],
        [3500, 5, true, 1, 0, 'a refill on top of what was left'],
        [4999, 6, false, 5, 1, ''],
        [5000, 0, true, 9, 0, ''],
        [6000, 0, true, 10, 0, 'a long pause fills the bucket and no more'],
        [9700, 2, true, 8, 0, ''],
        [10_200, 1, true, 9, 0, 'a refill is lost where it does not fit'],
      ],
    ],
    [
      'interval refill: five per second, a bucket of two',
      { limit: 5, windowMs: 1000, burst: 2, refill: 'interval' },
      [
        [1300, 2, true, 0, 0, ''],
        [1300, 1, false, 0, 700, ''],
        [1300, 3, false, 0, Infinity, 'though five come back, the bucket holds two'],
        [2000, 1, true, 1, 0, ''],
        [3000, 2, true, 0, 0, ''],
      ],
    ],
    [
      'interval refill: one at a time',
      { limit: 1, windowMs: 1000, burst: 1, refill: 'interval' },
      [
        [5300, 1, true, 0, 0, ''],
        [5999, 1, false, 0, 1, ''],
        [5999, 2, false, 0, Infinity, ''],
        [6000, 1, true, 0, 0, ''],
      ],
    ],
    [
      'interval refill: a window of a millisecond',
      { limit: 1, windowMs: 1, burst: 2, refill: 'interval' },
      [
        [100, 2, true, 0, 0, ''],
        [100, 2, false, 0, 2, ''],
        [101, 1, true, 0, 0, ''],
      ],
    ],
    [
      'interval refill: a window of a year',
      { limit: 1000, windowMs: YEAR_MS, burst: 1500, refill: 'interval' },
      [
        [51 * YEAR_MS - 1, 1500, true, 0, 0, ''],
        [51 * YEAR_MS - 1, 1, false, 0, 1, ''],
        [51 * YEAR_MS, 1000, true, 0, 0, ''],
        [51 * YEAR_MS, 1001, false, 0, 2 * YEAR_MS, ''],
      ],
    ],
  ]
  it.each(timelines)('follows the timeline of %s', (_, quota, timeline) => {
    runTimeline(tokenBucket, quota, timeline)
  })

  it.each(worked.tokenBucket)('decides the worked example: $story', ({ capacity, refill, rows }) => {
    const quota = {
      limit: refill.amount,
      windowMs: refill.everyMs,
      burst: capacity,
      refill: refill.style as 'greedy' | 'interval',
    }
    let state: Fields = {}
    for (const { atMs, cost, allowed, remaining } of rows) {
      const { verdict, write } = tokenBucket.step(state, quota, cost, atMs)
      expect({ atMs, ...verdict }).toMatchObject({ atMs, allowed, remaining })
      if (write) state = applyWrite(write, state)
    }
  })

  describe('agrees with bucket4j', () => {
    const now = 1_000_000

    it.each(vectors.waitUntilConsumable)('%j', ({ cost, wait, bandwidths }) => {
      const waits = bandwidths.map(
        (bandwidth) => tokenBucket.step(bucketOf(bandwidth, now), quotaOf(bandwidth), cost, now).verdict.retryAfterMs,
      )
      expect(Math.max(...waits)).toBe(wait)
    })

    it(`and keeps the remainder of a token: ${vectors.remainderIsKept.story}`, () => {
      let state = bucketOf(vectors.remainderIsKept, now)
      for (const { at, cost, allowed } of vectors.remainderIsKept.rows) {
        const { verdict, write } = tokenBucket.step(state, quotaOf(vectors.remainderIsKept), cost, now + at)
        expect({ at, allowed: verdict.allowed }).toEqual({ at, allowed })
        if (write) state = applyWrite(write, state)
      }
    })

    it(`and refills by the interval: ${vectors.intervalRefill.story}`, () => {
      const state = bucketOf(vectors.intervalRefill, now, 'interval')
      for (const [at, tokens] of vectors.intervalRefill.tokensAt)
        expect({
          at,
          tokens: remainingAt(tokenBucket, quotaOf(vectors.intervalRefill, 'interval'), state, now + at!),
        }).toEqual({
          at,
          tokens,
        })
    })

    it.each(['greedy', 'interval'] as const)(`with ${vectors.manyLimitsAfterIdle.story} (%s refill)`, (style) => {
      const { limits, idleMs, passAtOnce } = vectors.manyLimitsAfterIdle
      const remaining = limits.map(([limit, windowMs]) => {
        const bandwidth = { capacity: limit!, refill: limit!, period: windowMs!, initial: 0 }
        return remainingAt(tokenBucket, quotaOf(bandwidth, style), bucketOf(bandwidth, now, style), now + idleMs)
      })
      expect(Math.min(...remaining)).toBe(passAtOnce)
    })
  })

  describe('with interval refill', () => {
    const quota: TokenBucketQuota = { limit: 4, windowMs: 1000, burst: 10, refill: 'interval' }

    it('reports the time until the bucket is full', () => {
      const resetAfterMs = (cost: number) => tokenBucket.step({}, quota, cost, 1300).verdict.resetAfterMs
      expect([0, 1, 4, 5, 10, 11].map(resetAfterMs)).toEqual([0, 700, 700, 1700, 2700, 0])
    })

    it('keeps its state until the bucket is full, however early in the interval it was drained', () => {
      expect(tokenBucket.retentionMs(quota)).toBe(4000)
      expect(tokenBucket.retentionMs({ ...quota, burst: 8 })).toBe(3000)
    })

    it('writes the number of missing tokens, or adds to it where that gives the same', () => {
      const drained = applyWrite(tokenBucket.step({}, quota, 9, 1300).write!, {})
      expect(drained).toEqual({ k: 1, u: 9 })
      const writeAt = (known: Fields, cost: number, at: number) => tokenBucket.step(known, quota, cost, at).write
      expect(applyWrite(writeAt(drained, 1, 1400)!, drained)).toEqual({ k: 1, u: 10 })
      expect(applyWrite(writeAt(drained, 2, 2400)!, drained)).toEqual({ k: 2, u: 7 })
      expect(applyWrite(writeAt({ k: 1, u: 10 }, 2, 2400)!, { k: 1, u: 10 })).toEqual({ k: 2, u: 8 })
      expect(applyWrite(writeAt({ k: 1, u: 8 }, 2, 3400)!, { k: 1, u: 8 })).toEqual({ k: 3, u: 2 })
      // after three refills, whatever was left
      expect(applyWrite(writeAt(drained, 2, 4400)!, { k: 1, u: 3 })).toEqual({ k: 4, u: 2 })
    })

    it('writes with a guard that holds on all that leaves room, and gives the same', () => {
      const write = (known: Fields, cost: number, at: number) => tokenBucket.step(known, quota, cost, at).write!
      const fits = (known: Fields, cost: number, at: number, stored: Fields) =>
        holds(write(known, cost, at).guard, stored)
      // in the same interval, whoever charged first
      expect(applyWrite(write({ k: 1, u: 0 }, 1, 1400), { k: 1, u: 3 })).toEqual({ k: 1, u: 4 })
      // an interval later: four have come back, and it must be known whether more were missing
      expect([4, 5, 12, 13].map((u) => fits({ k: 1, u: 9 }, 2, 2400, { k: 1, u }))).toEqual([false, true, true, false])
      // three intervals later, when all twelve have come back: an item that is gone is a full bucket too
      expect(applyWrite(write({ k: 1, u: 9 }, 2, 4400), {})).toEqual({ k: 4, u: 2 })
      expect(applyWrite(write({ k: 1, u: 12 }, 2, 4400), {})).toEqual({ k: 4, u: 2 })
      expect(applyWrite(write({ k: 1, u: 15 }, 2, 4400), { k: 1, u: 15 })).toEqual({ k: 4, u: 5 })
      expect(fits({ k: 1, u: 9 }, 2, 4400, { k: 1, u: 13 })).toBe(false)
    })

    it('refunds all that was missing, and no more where others charged meanwhile', () => {
      const write = tokenBucket.refund({ k: 1, u: 3 }, quota, 3, 1300, 1400)!
      expect(applyWrite(write, { k: 1, u: 5 })).toEqual({ k: 1, u: 2 })
      expect(holds(write.guard, { k: 1, u: 2 })).toBe(false)
    })

    it('admits nothing until a bucket that was drained below its new, smaller size has refilled past that', () => {
      const drained: Fields = { k: 1, u: 15 }
      expect([1500, 2500, 3500, 4500].map((at) => remainingAt(tokenBucket, quota, drained, at))).toEqual([0, 0, 3, 7])
      expect(applyWrite(tokenBucket.step(drained, quota, 3, 3500).write!, drained)).toEqual({ k: 3, u: 10 })
    })

    it('refunds units within the interval of the charge, and not after a refill', () => {
      const state = takeAt(tokenBucket, quota, [1300, 1400, 1500])
      expect(applyWrite(tokenBucket.refund(state, quota, 2, 1300, 1999)!, state)).toEqual({ k: 1, u: 1 })
      expect(applyWrite(tokenBucket.refund(state, quota, 9, 1300, 1999)!, state)).toEqual({ k: 1, u: 0 })
      expect(tokenBucket.refund(state, quota, 2, 1300, 2000)).toBeUndefined()
      expect(tokenBucket.refund(state, quota, 2, 999, 1500)).toBeUndefined()
      expect(tokenBucket.refund({ k: 2, u: 3 }, quota, 2, 1300, 2000)).toBeUndefined()
      expect(tokenBucket.refund({ k: 1, u: 0 }, quota, 2, 1300, 1300)).toBeUndefined()
      expect(tokenBucket.refund({}, quota, 2, 1300, 1300)).toBeUndefined()
    })

    it('refunds nothing that the smaller bucket would lack anyway', () => {
      const state: Fields = { k: 1, u: 15 }
      const refunded = applyWrite(tokenBucket.refund(state, quota, 3, 1300, 1500)!, state)
      // without those three, twelve would be missing from ten
      expect(remainingAt(tokenBucket, quota, refunded, 1500)).toBe(0)
    })

    it('extrapolates a refilled bucket once another request since then is likelier than none', () => {
      const seen: Fields = { k: 1, u: 10 } // ten in 301 ms: one every 30
      const expected = (at: number, view = seen) => tokenBucket.extrapolate!(view, 1300, quota, at)
      expect(expected(9020)).toBe(seen)
      expect(expected(9021)).toEqual({ k: 9, u: 0 })
      expect(expected(1999)).toBe(seen)
      expect(expected(900)).toBe(seen)
      expect(expected(9999, { k: 1, u: 0 })).toEqual({ k: 1, u: 0 })
      expect(expected(9999, {})).toEqual({})
    })
  })

  describe('with greedy refill', () => {
    const quota: TokenBucketQuota = { limit: 10, windowMs: 1000, burst: 3, refill: 'greedy' }

    it('keeps its state for as long as the bucket takes to fill', () => {
      expect(tokenBucket.retentionMs(quota)).toBe(300)
    })

    it('extrapolates that a busy subject stays busy', () => {
      expect(tokenBucket.extrapolate!({ t: 1_250_000 }, 1000, quota, 9000)).toEqual({ t: 9_250_000 })
    })
  })

  const spec = (
    refill: TokenBucketQuota['refill'],
  ): Omit<AlgorithmSpec<TokenBucketQuota>, 'admits' | 'maxAdmitted'> => ({
    algorithm: tokenBucket,
    quota: fc.record({ limit: anySize, windowMs: anyWindowMs, burst: anySize, refill: fc.constant(refill) }),
    windowMs: ({ windowMs }) => windowMs,
    largestCost: ({ burst }) => burst,
    withSize: (quota, burst) => ({ ...quota, burst }),
    withNumbers: (quota, limit, burst) => ({ ...quota, limit, burst }),
    largestSkewMs: 1000,
    refundsLevel: true,
    withoutExpired: (fields) => fields,
  })
  describe('with greedy refill obeys the law:', () =>
    obeysTheLaws({
      ...spec('greedy'),
      admits: (past, quota, cost, now) => fitsPace(past, quota, quota.burst, cost, now),
      maxAdmitted: mostAtPace,
    }))
  describe('with interval refill obeys the law:', () =>
    obeysTheLaws({
      ...spec('interval'),
      admits: (past, { limit, windowMs, burst }, cost, now) => {
        let missing = 0
        let refills = -Infinity
        const refillUntil = (at: number) => {
          const due = Math.max(refills, Math.floor(at / windowMs))
          if (due > refills) missing = Math.max(0, missing - limit * (due - refills))
          refills = due
        }
        for (const { at, units } of past) {
          refillUntil(at)
          missing = Math.max(0, missing + units)
        }
        refillUntil(now)
        return missing + cost <= burst
      },
      maxAdmitted: ({ limit, windowMs, burst }, from, to) =>
        burst + limit * (Math.floor(to / windowMs) - Math.floor(from / windowMs)),
    }))
})

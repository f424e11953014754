import fc from 'fast-check'
import type { Fields } from '../../limiter/algorithms/conditional-write'
import { type LeakyBucketQuota, leakyBucket } from '../../limiter/algorithms/leaky-bucket'
import worked from '../vectors/worked-examples.json'
import { type AlgorithmSpec, anyOrderlyRequests, anySize, anyWindowMs, runHistory } from './algorithm-spec'
import { emissionUs, fitsPace, mostAtPace } from './charges'
import { obeysTheLaws } from './laws'
import { applyWrite, type Row, runTimeline, takeAt } from './timeline'

const YEAR_MS = 31_536_000_000

describe('leaky bucket', () => {
  const timelines: [string, LeakyBucketQuota, Row[]][] = [
    [
      'a meter of three that leaks ten per second',
      { limit: 10, windowMs: 1000, burst: 3, mode: 'meter' },
      [
        [1000, 0, true, 3, 0, 'a peek takes nothing'],
        [1000, 3, true, 0, 0, 'full'],
        [1099, 1, false, 0, 1, 'a millisecond too early'],
        [1100, 1, true, 0, 0, 'just in time'],
        [1100, 4, false, 0, Infinity, 'more than the bucket holds can never pass'],
        [1050, 1, false, 0, 150, 'from a bucket nothing leaks while the clock steps back'],
        [9000, 1, true, 2, 0, 'a long pause empties the bucket and no more'],
      ],
    ],
    [
      'a queue of five that leaks four per second, with a maxDelayMs of 600',
      { limit: 4, windowMs: 1000, burst: 5, mode: 'queue', maxDelayMs: 600 },
      [
        [1000, 3, true, 0, 0, 'the last of the three waits for 500 ms'],
        [1000, 1, false, 0, 150, 'the fourth would wait for 750'],
        [1000, 4, false, 0, Infinity, 'four could never all leave in time'],
        [1149, 1, false, 0, 1, 'a millisecond too early'],
        [1150, 1, true, 0, 0, 'just in time'],
        [9000, 3, true, 0, 0, ''],
      ],
    ],
    [
      'a queue with a maxDelayMs of 0: one at a time',
      { limit: 4, windowMs: 1000, burst: 5, mode: 'queue', maxDelayMs: 0 },
      [
        [1000, 2, false, 1, Infinity, ''],
        [1000, 1, true, 0, 0, ''],
        [1249, 1, false, 0, 1, ''],
        [1250, 1, true, 0, 0, ''],
      ],
    ],
    [
      'a queue whose maxDelayMs is longer than its depth',
      { limit: 4, windowMs: 1000, burst: 2, mode: 'queue', maxDelayMs: 60_000 },
      [
        [1000, 2, true, 0, 0, ''],
        [1000, 1, false, 0, 250, ''],
        [1000, 3, false, 0, Infinity, ''],
      ],
    ],
    [
      'a meter, which ignores maxDelayMs',
      { limit: 4, windowMs: 1000, burst: 5, mode: 'meter', maxDelayMs: 0 },
      [[1000, 5, true, 0, 0, '']],
    ],
    [
      'a window of a millisecond',
      { limit: 1, windowMs: 1, burst: 2, mode: 'queue' },
      [
        [100, 2, true, 0, 0, ''],
        [100, 1, false, 0, 1, ''],
        [101, 1, true, 0, 0, ''],
      ],
    ],
    [
      'a window of a year',
      { limit: 1, windowMs: YEAR_MS, burst: 1, mode: 'meter' },
      [
        [123, 1, true, 0, 0, ''],
        [122 + YEAR_MS, 1, false, 0, 1, ''],
        [123 + YEAR_MS, 1, true, 0, 0, ''],
      ],
    ],
  ]
  it.each(timelines)('follows the timeline of %s', (_, quota, timeline) => {
    runTimeline(leakyBucket, quota, timeline)
  })

  describe('as a queue', () => {
    const { leak, rows, story } = worked.leakyBucket
    const quota: LeakyBucketQuota = {
      limit: leak.amount,
      windowMs: leak.everyMs,
      burst: worked.leakyBucket.capacity,
      mode: 'queue',
    }

    it(`decides the worked example: ${story}`, () => {
      let state: Fields = {}
      for (const { atMs, allowed, delayMs } of rows) {
        const { verdict, write } = leakyBucket.step(state, quota, 1, atMs)
        expect({ atMs, ...verdict }).toMatchObject({ atMs, allowed })
        expect({ atMs, delayMs: verdict.delayMs }).toEqual({ atMs, delayMs })
        if (write) state = applyWrite(write, state)
      }
    })

    it('delays a request behind those before it, and reports that delay to a peek', () => {
      const delayMs = (state: Fields, cost: number, at: number) =>
        leakyBucket.step(state, quota, cost, at).verdict.delayMs
      const state = takeAt(leakyBucket, quota, [1000, 1000])
      expect(delayMs({}, 1, 1000)).toBe(0)
      expect(delayMs(state, 1, 1000)).toBe(500)
      expect(delayMs(state, 3, 1000)).toBe(500)
      expect(delayMs(state, 0, 1000)).toBe(500)
      expect(delayMs(state, 1, 1499)).toBe(1)
      expect(delayMs(state, 1, 1500)).toBe(0)
      expect(delayMs(state, 1, 9000)).toBe(0)
      expect(delayMs(state, 1, 900)).toBe(600)
      expect(delayMs(state, 4, 1000)).toBeUndefined()
    })

    it('spaces departures by its pace, and delays no request longer than maxDelayMs', () => {
      fc.assert(
        fc.property(anyQueue(fc.integer({ min: 0, max: 3000 })), anyOrderlyRequests, (queue, requests) => {
          const emissionMs = queue.windowMs / queue.limit
          let free = -Infinity
          let fields: Fields = {}
          for (const { clock, take, fields: after } of runHistory({ ...spec, withSize: undefined }, queue, requests)) {
            const { verdict } = leakyBucket.step(fields, queue, take!.cost, clock)
            fields = after
            if (!verdict.allowed || take!.cost === 0) continue
            const leavesAt = clock + verdict.delayMs!
            expect(leavesAt).toBeGreaterThanOrEqual(free - 1e-3)
            // a delay is rounded up to a whole millisecond
            free = Math.max(leavesAt - 1, free) + emissionMs * take!.cost
            expect(verdict.delayMs! + emissionMs * (take!.cost - 1)).toBeLessThanOrEqual(queue.maxDelayMs! + 1)
          }
        }),
      )
    })
  })

  it('as a meter delays no request', () => {
    const quota: LeakyBucketQuota = { limit: 4, windowMs: 1000, burst: 5, mode: 'meter' }
    expect(leakyBucket.step({ t: 1_500_000 }, quota, 1, 1000).verdict).toEqual({
      allowed: true,
      remaining: 2,
      resetAfterMs: 750,
      retryAfterMs: 0,
    })
  })

  it('keeps its state for as long as the bucket takes to run empty', () => {
    expect(leakyBucket.retentionMs({ limit: 4, windowMs: 1000, burst: 5, mode: 'meter', maxDelayMs: 300 })).toBe(1250)
    expect(leakyBucket.retentionMs({ limit: 4, windowMs: 1000, burst: 5, mode: 'queue' })).toBe(1250)
    expect(leakyBucket.retentionMs({ limit: 4, windowMs: 1000, burst: 5, mode: 'queue', maxDelayMs: 300 })).toBe(550)
  })

  const anyQueue = (maxDelayMs: fc.Arbitrary<number | undefined>): fc.Arbitrary<LeakyBucketQuota> =>
    fc.record({
      limit: anySize,
      windowMs: anyWindowMs,
      burst: anySize,
      mode: fc.constant('queue' as const),
      maxDelayMs,
    })

  /** The units that fit, including a fraction of one. */
  const capacity = ({ limit, windowMs, burst, mode, maxDelayMs }: LeakyBucketQuota): number =>
    mode === 'queue' && maxDelayMs !== undefined
      ? Math.min(burst, 1 + (1000 * maxDelayMs) / emissionUs({ limit, windowMs }))
      : burst

  const spec: AlgorithmSpec<LeakyBucketQuota> = {
    algorithm: leakyBucket,
    quota: anyQueue(fc.option(fc.integer({ min: 0, max: 3000 }), { nil: undefined })),
    windowMs: ({ windowMs }) => windowMs,
    largestCost: (quota) => Math.floor(capacity(quota)),
    withSize: (quota, burst) => ({ ...quota, burst }),
    withNumbers: (quota, limit, burst) => ({ ...quota, limit, burst }),
    largestSkewMs: 1000,
    refundsLevel: true,
    withoutExpired: (fields) => fields,
    admits: (past, quota, cost, now) => fitsPace(past, quota, capacity(quota), cost, now),
    maxAdmitted: mostAtPace,
  }
  describe('as a queue obeys the law:', () => obeysTheLaws(spec))
  describe('as a meter obeys the law:', () =>
    obeysTheLaws({ ...spec, quota: spec.quota.map((quota) => ({ ...quota, mode: 'meter' as const })) }))
})

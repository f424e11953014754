import fc from 'fast-check'
import { apply, type Fields, holds, numberOf } from '../../limiter/algorithms/conditional-write'
import { type SlidingBucketsQuota, slidingBuckets } from '../../limiter/algorithms/sliding-buckets'
import { isSlot, slot, slotIndex } from '../../limiter/algorithms/slots'
import worked from '../vectors/worked-examples.json'
import { anySize, takeWithoutView } from './algorithm-spec'
import { unitsSince } from './charges'
import { obeysTheLaws } from './laws'
import { onlyFields } from './situations'
import { applyWrite, type Row, remainingAt, runTimeline, takeAt } from './timeline'

const YEAR_MS = 31_536_000_000

describe('sliding buckets', () => {
  const timelines: [string, SlidingBucketsQuota, Row[]][] = [
    [
      'three per second in four buckets',
      { limit: 3, windowMs: 1000, buckets: 4 },
      [
        [1000, 0, true, 3, 0, 'a peek takes nothing'],
        [1000, 1, true, 2, 0, ''],
        [1499, 1, true, 1, 0, 'in the next bucket'],
        [1750, 1, true, 0, 0, 'in the fourth'],
        [1750, 1, false, 0, 250, 'full until the first bucket expires'],
        [1750, 2, false, 0, 500, 'two have to'],
        [1750, 3, false, 0, 1000, 'all three'],
        [1750, 4, false, 0, Infinity, 'more than the limit can never pass'],
        [1999, 1, false, 0, 1, 'a millisecond too early'],
        [2000, 1, true, 0, 0, 'just in time'],
        [1000, 1, false, 0, 1250, 'a clock that steps back finds the newest bucket'],
        [1000, 0, true, 0, 0, ''],
        [2249, 1, false, 0, 1, ''],
        [2250, 1, true, 0, 0, 'the second bucket has expired'],
        [1400, 1, false, 0, 1350, 'a clock that steps back does not revive it'],
        [9000, 3, true, 0, 0, 'a long pause gives one window'],
        [9001, 1, false, 0, 999, ''],
      ],
    ],
    [
      'one at a time, in one bucket',
      { limit: 1, windowMs: 1000, buckets: 1 },
      [
        [5300, 1, true, 0, 0, ''],
        [5301, 1, false, 0, 699, ''],
        [5301, 2, false, 0, Infinity, ''],
        [6000, 1, true, 0, 0, ''],
      ],
    ],
    [
      'the most that a window can hold: all at its two ends',
      { limit: 100, windowMs: 8000, buckets: 8 },
      [
        [8999, 100, true, 0, 0, 'at the end of a bucket'],
        [15_999, 1, false, 0, 1, 'seven buckets later it still counts'],
        [16_000, 100, true, 0, 0, 'and then no more: 200 in seven eighths of a window'],
        [16_999, 1, false, 0, 7001, ''],
      ],
    ],
    [
      'a window of a millisecond',
      { limit: 2, windowMs: 1, buckets: 1 },
      [
        [100, 2, true, 0, 0, ''],
        [100, 1, false, 0, 1, ''],
        [101, 1, true, 1, 0, ''],
      ],
    ],
    [
      'a window of a year in days',
      { limit: 1000, windowMs: YEAR_MS, buckets: 365 },
      [
        [50 * YEAR_MS, 400, true, 600, 0, ''],
        [50 * YEAR_MS + 86_400_000, 600, true, 0, 0, 'the day after'],
        [51 * YEAR_MS - 1, 1, false, 0, 1, ''],
        [51 * YEAR_MS, 400, true, 0, 0, ''],
        [51 * YEAR_MS, 1, false, 0, 86_400_000, ''],
      ],
    ],
  ]
  it.each(timelines)('follows the timeline of %s', (_, quota, timeline) => {
    runTimeline(slidingBuckets, quota, timeline)
  })

  it(`decides the worked example: ${worked.slidingBuckets.story}`, () => {
    const { limit, windowMs, buckets, also } = worked.slidingBuckets
    const policies: SlidingBucketsQuota[] = [
      { limit, windowMs, buckets },
      { ...also, buckets: 1 },
    ]
    let states: Fields[] = [{}, {}]
    let admitted = 0
    for (let at = 0; at < windowMs; at += 100) {
      const steps = policies.map((quota, index) => slidingBuckets.step(states[index], quota, 1, at))
      if (!steps.every(({ verdict }) => verdict.allowed)) continue
      admitted++
      states = steps.map(({ write }, index) => applyWrite(write!, states[index]!))
      if (admitted === limit) expect(at).toBe(19_400) // five in each of twenty seconds
    }
    expect(admitted).toBe(limit)
    expect(slidingBuckets.step(states[0], policies[0]!, 1, windowMs - 1).verdict.retryAfterMs).toBe(1)
    expect(remainingAt(slidingBuckets, policies[0]!, states[0]!, windowMs)).toBe(5)
  })

  it('reports the time until the last bucket expires, and 0 when the quota is whole', () => {
    const quota = { limit: 3, windowMs: 1000, buckets: 4 }
    expect(slidingBuckets.step({}, quota, 0, 1200).verdict.resetAfterMs).toBe(0)
    expect(slidingBuckets.step({}, quota, 4, 1200).verdict.resetAfterMs).toBe(0)
    expect(slidingBuckets.step({}, quota, 1, 1200).verdict.resetAfterMs).toBe(800)
    const state = takeAt(slidingBuckets, quota, [1000, 1250])
    expect(slidingBuckets.step(state, quota, 0, 1500).verdict.resetAfterMs).toBe(750)
    expect(slidingBuckets.step(state, quota, 1, 1500).verdict.resetAfterMs).toBe(1000)
    expect(slidingBuckets.step(state, quota, 3, 1500).verdict.resetAfterMs).toBe(750)
  })

  it('finds the oldest and the newest bucket in whichever order they are stored', () => {
    const quota = { limit: 4, windowMs: 1000, buckets: 2 }
    for (const state of [
      { w: 12, o: 11, n: 4, '0b': 3, '0c': 1 },
      { w: 12, o: 11, n: 4, '0c': 1, '0b': 3 },
    ])
      expect(slidingBuckets.step(state, quota, 1, 6400).verdict).toMatchObject({ retryAfterMs: 100, resetAfterMs: 600 })
  })

  it('admits the limit in any interval one bucket shorter than the window, and twice that in a whole one', () => {
    const requests = fc.array(fc.record({ gap: fc.nat(400), cost: fc.integer({ min: 1, max: 5 }) }), { maxLength: 60 })
    const quotas = fc.record({ limit: fc.integer({ min: 1, max: 12 }), buckets: fc.integer({ min: 2, max: 10 }) })
    fc.assert(
      fc.property(requests, quotas, fc.nat(5000), (all, { limit, buckets }, start) => {
        const bucketMs = 100
        const quota = { limit, buckets, windowMs: buckets * bucketMs }
        const admitted: { at: number; cost: number }[] = []
        let [state, now]: [Fields, number] = [{}, start]
        for (const { gap, cost } of all) {
          now += gap
          const { verdict, write } = slidingBuckets.step(state, quota, cost, now)
          if (!verdict.allowed) continue
          state = applyWrite(write!, state)
          admitted.push({ at: now, cost })
        }
        for (const { at: from } of admitted) {
          const within = (ms: number) =>
            admitted.reduce((sum, { at, cost }) => sum + (at >= from && at <= from + ms ? cost : 0), 0)
          expect(within(quota.windowMs - bucketMs)).toBeLessThanOrEqual(limit)
          expect(within(quota.windowMs)).toBeLessThanOrEqual(2 * limit)
        }
      }),
    )
  })

  it('keeps its state for one window', () => {
    expect(slidingBuckets.retentionMs({ limit: 3, windowMs: 1000, buckets: 4 })).toBe(1000)
  })

  describe('keeps a sum of all slots that', () => {
    // more than two units for each bucket, so the oldest slot matters too
    const quota = { limit: 4, windowMs: 1000, buckets: 1 }

    it('includes expired slots while there is room, and drops them when there is none', () => {
      let state = takeAt(slidingBuckets, quota, [10_000, 10_000, 11_000])
      expect(state).toEqual({ w: 11, o: 10, n: 3, '0a': 2, '0b': 1 })
      state = takeAt(slidingBuckets, quota, [11_000, 11_000], state)
      expect(state).toEqual({ w: 11, o: 11, n: 3, '0b': 3 })
    })

    it('drops expired slots when the oldest is two windows old', () => {
      const state = takeAt(slidingBuckets, quota, [10_000, 11_000])
      expect(takeAt(slidingBuckets, quota, [11_500], state)).toEqual({ w: 11, o: 10, n: 3, '0a': 1, '0b': 2 })
      expect(takeAt(slidingBuckets, quota, [12_000], state)).toEqual({ w: 12, o: 12, n: 1, '0c': 1 })
    })

    it('drops no slot for its age where the limit bounds their number', () => {
      const small = { limit: 2, windowMs: 1000, buckets: 1 }
      expect(takeAt(slidingBuckets, small, [10_000, 90_000])).toEqual({ w: 90, o: 10, n: 2, '0a': 1, [slot(90)]: 1 })
    })

    it('drops no slot for its age up to a limit of two for each bucket', () => {
      const small = { limit: 4, windowMs: 2000, buckets: 2 }
      expect(takeAt(slidingBuckets, small, [10_000, 90_000])).toEqual({ w: 90, o: 10, n: 2, '0a': 1, [slot(90)]: 1 })
    })

    it('is added to only where no slot in it is two windows old', () => {
      const { write } = slidingBuckets.step({}, quota, 1, 12_000)
      expect(holds(write!.guard, { w: 11, o: 10, n: 2, '0a': 1, '0b': 1 })).toBe(false)
      expect(holds(write!.guard, { w: 11, o: 11, n: 1, '0b': 1 })).toBe(true)
    })

    it('no longer includes what a charge removes, as far as that has been seen', () => {
      const seen = { w: 12, o: 12, n: 1, '0a': 1, '0c': 1 }
      expect(takeAt(slidingBuckets, quota, [12_500], seen)).toEqual({ w: 12, o: 12, n: 2, '0c': 2 })
    })

    it('drops expired slots while others charge the present one, and not if they refund or drop them too', () => {
      const seen = { w: 11, o: 10, n: 3, '0a': 2, '0b': 1 }
      const write = slidingBuckets.step(seen, quota, 2, 11_500).write!
      expect(applyWrite(write, { ...seen, n: 4, '0b': 2 })).toEqual({ w: 11, o: 11, n: 4, '0b': 4 })
      expect(holds(write.guard, { ...seen, n: 5, '0b': 3 })).toBe(false)
      expect(holds(write.guard, { ...seen, v: 1 })).toBe(false)
      expect(holds(write.guard, { ...seen, o: 11 })).toBe(false)
    })

    it('is not reduced by a slot that was charged after the view, even if it had been refunded before', () => {
      const seen = applyWrite(
        slidingBuckets.refund(takeAt(slidingBuckets, quota, [10_000]), quota, 1, 10_000, 10_000)!,
        takeAt(slidingBuckets, quota, [10_000]),
      )
      expect(seen).toEqual({ w: 10, o: 10, n: 0, v: 1 })
      const stored = takeAt(slidingBuckets, quota, [10_000, 10_000], seen)
      const { write } = slidingBuckets.step(seen, quota, 1, 19_000)
      expect(holds(write!.guard, stored)).toBe(false)
      expect(takeAt(slidingBuckets, quota, [19_000], stored)).toEqual({ w: 19, o: 11, n: 1, v: 1, [slot(19)]: 1 })
    })
  })

  describe('refunds', () => {
    const quota = { limit: 9, windowMs: 1000, buckets: 2 }

    it('units to the bucket that was charged, then to those before it that still count', () => {
      const state = takeAt(slidingBuckets, quota, [5000, 5500, 5500, 6000])
      expect(state).toEqual({ w: 12, o: 10, n: 4, '0a': 1, '0b': 2, '0c': 1 })
      expect(applyWrite(slidingBuckets.refund(state, quota, 1, 5999, 6000)!, state)).toEqual({
        w: 12,
        o: 10,
        n: 3,
        v: 1,
        '0a': 1,
        '0b': 1,
        '0c': 1,
      })
      expect(applyWrite(slidingBuckets.refund(state, quota, 9, 6000, 6000)!, state)).toEqual({
        w: 12,
        o: 10,
        n: 1,
        v: 1,
        '0a': 1,
      })
      expect(slidingBuckets.refund(state, quota, 1, 7000, 7000)).toBeUndefined()
    })

    it('nothing from slots that the sum no longer includes', () => {
      const state = { w: 12, o: 11, n: 3, '0a': 1, '0b': 2, '0c': 1 } // slot 10 has expired and is not removed yet
      expect(slidingBuckets.refund(state, quota, 1, 5000, 6000)).toBeUndefined()
      expect(applyWrite(slidingBuckets.refund(state, quota, 3, 5500, 6000)!, state)).toEqual({
        w: 12,
        o: 11,
        n: 1,
        v: 1,
        '0a': 1,
        '0c': 1,
      })
    })

    it('nothing once others have dropped expired slots since the view', () => {
      const seen = { w: 12, o: 10, n: 4, '0a': 1, '0b': 2, '0c': 1 }
      const write = slidingBuckets.refund(seen, quota, 1, 5500, 6000)!
      expect(holds(write.guard, seen)).toBe(true)
      expect(holds(write.guard, { ...seen, o: 11 })).toBe(false)
    })

    it('only once from the same view', () => {
      const state = takeAt(slidingBuckets, quota, [5000, 5000, 5000])
      const write = slidingBuckets.refund(state, quota, 1, 5000, 5000)!
      expect(holds(write.guard, apply(write, state))).toBe(false)
      const again = takeAt(slidingBuckets, quota, [5000], apply(write, state))
      expect(holds(write.guard, again)).toBe(false)
    })
  })

  describe('removes expired slots', () => {
    const quota = { limit: 1000, windowMs: 60_000, buckets: 60 }
    const minute = Array.from({ length: 60 }, (_, second) => 1_000_000 + 1000 * second)

    it('as far as one write may, and purges the rest once there are many', () => {
      const full = takeAt(slidingBuckets, quota, minute)
      const later = takeAt(slidingBuckets, quota, [2_000_000], full)
      expect(numberOf(later, 'n')).toBe(1)
      const expired = Object.keys(later).filter((name) => isSlot(name) && slotIndex(name) < numberOf(later, 'o'))
      expect(expired.length).toBe(60 - 24)
      const purged = applyWrite(slidingBuckets.purge!(later, quota, 2_000_000)!, later)
      expect(purged).toEqual({ w: 2000, o: 1060, n: 1, [slot(2000)]: 1 })
      expect(slidingBuckets.purge!(takeAt(slidingBuckets, quota, [2_001_000], later), quota, 2_001_000)).toBeUndefined()
    })
  })

  describe('obeys the law:', () =>
    obeysTheLaws<SlidingBucketsQuota>({
      algorithm: slidingBuckets,
      quota: fc
        .record({
          limit: anySize,
          bucketMs: fc.oneof(fc.integer({ min: 1, max: 500 }), fc.constantFrom(1, 1000, 86_400_000)),
          buckets: fc.integer({ min: 1, max: 8 }),
        })
        .map(({ limit, bucketMs, buckets }) => ({ limit, windowMs: bucketMs * buckets, buckets })),
      windowMs: ({ windowMs }) => windowMs,
      largestCost: ({ limit }) => limit,
      withSize: (quota, limit) => ({ ...quota, limit }),
      expiredHistory: fc
        .record({
          bucketMs: fc.integer({ min: 1, max: 500 }),
          full: fc.integer({ min: 90, max: 119 }),
          pause: fc.integer({ min: 12, max: 60 }),
        })
        .map(({ bucketMs, full, pause }) => [
          { limit: full + 80, windowMs: 60 * bucketMs, buckets: 60 },
          [
            ...Array.from({ length: full }, () => takeWithoutView({ twelfths: 0, ms: bucketMs })),
            ...Array.from({ length: 3 }, (_, index) => takeWithoutView({ twelfths: index === 0 ? pause : 1, ms: 0 })),
          ],
        ]),
      withoutExpired: (fields, { buckets }) =>
        onlyFields(
          fields,
          (name) => name === 'w' || (isSlot(name) && slotIndex(name) > numberOf(fields, 'w') - buckets),
        ),
      checkState: (fields, { buckets }) => {
        const slots = Object.keys(fields).filter(isSlot)
        const kept = slots.filter((name) => slotIndex(name) >= numberOf(fields, 'o'))
        const live = slots.filter((name) => slotIndex(name) > numberOf(fields, 'w') - buckets)
        expect({ fields, sum: numberOf(fields, 'n') }).toEqual({
          fields,
          sum: kept.reduce((sum, name) => sum + numberOf(fields, name), 0),
        })
        expect(kept).toEqual(expect.arrayContaining(live))
        expect(slots.filter((name) => numberOf(fields, name) < 1)).toEqual([])
      },
      admits: (past, { limit, windowMs, buckets }, cost, now) => {
        const bucket = (at: number) => Math.floor(at / (windowMs / buckets))
        return unitsSince(past, now, ({ at }, latest) => bucket(at) > bucket(latest) - buckets) + cost <= limit
      },
      maxAdmitted: ({ limit, windowMs, buckets }, from, to) =>
        limit *
        Math.ceil((Math.floor((to * buckets) / windowMs) - Math.floor((from * buckets) / windowMs) + 1) / buckets),
    }))
})

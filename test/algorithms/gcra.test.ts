import fc from 'fast-check'
import type { Fields } from '../../limiter/algorithms/conditional-write'
import { type GcraQuota, gcra } from '../../limiter/algorithms/gcra'
import vectors from '../vectors/gcra.json'
import { anySize, anyWindowMs } from './algorithm-spec'
import { fitsPace, mostAtPace } from './charges'
import { obeysTheLaws } from './laws'
import { applyWrite, type Row, runTimeline, takeAt } from './timeline'

const YEAR_MS = 31_536_000_000

describe('GCRA', () => {
  const timelines: [string, GcraQuota, Row[]][] = [
    [
      'ten per second with a burst of three',
      { limit: 10, windowMs: 1000, burst: 3 }, // one unit every 100 ms
      [
        [1000, 0, true, 3, 0, 'a peek takes nothing'],
        [1000, 1, true, 2, 0, 'a fresh subject may burst'],
        [1000, 1, true, 1, 0, ''],
        [1000, 1, true, 0, 0, 'the last unit of the burst'],
        [1000, 1, false, 0, 100, 'empty: one emission interval to wait'],
        [1000, 3, false, 0, 300, 'three for three'],
        [1099, 1, false, 0, 1, 'a millisecond too early'],
        [1100, 1, true, 0, 0, 'just in time'],
        [1100, 0, true, 0, 0, 'peeking is allowed when nothing is left'],
        [1300, 2, true, 0, 0, 'two units came back in 200 ms'],
        [1300, 4, false, 0, Infinity, 'more than the burst can never pass'],
        [1250, 1, false, 0, 150, 'a clock that steps back refills nothing'],
        [1250, 0, false, 0, 50, 'and has to catch up before there is room even for nothing'],
        [9000, 1, true, 2, 0, 'a long pause refills the burst and no more'],
      ],
    ],
    [
      'one at a time',
      { limit: 1, windowMs: 1000, burst: 1 },
      [
        [5300, 1, true, 0, 0, ''],
        [6299, 1, false, 0, 1, ''],
        [6299, 2, false, 0, Infinity, ''],
        [6300, 1, true, 0, 0, ''],
      ],
    ],
    [
      'three per second: an emission interval of 333 334 µs',
      { limit: 3, windowMs: 1000, burst: 1 },
      [
        [1000, 1, true, 0, 0, ''],
        [1000, 1, false, 0, 334, 'a wait is rounded up to a whole millisecond'],
        [1333, 1, false, 0, 1, ''],
        [1334, 1, true, 0, 0, ''],
      ],
    ],
    [
      'a window of a millisecond',
      { limit: 1000, windowMs: 1, burst: 2 },
      [
        [100, 2, true, 0, 0, 'one unit every microsecond'],
        [100, 1, false, 0, 1, ''],
        [101, 2, true, 0, 0, ''],
      ],
    ],
    [
      'a window of a year',
      { limit: 2, windowMs: YEAR_MS, burst: 1 },
      [
        [123, 1, true, 0, 0, ''],
        [123, 1, false, 0, YEAR_MS / 2, ''],
        [122 + YEAR_MS / 2, 1, false, 0, 1, ''],
        [123 + YEAR_MS / 2, 1, true, 0, 0, ''],
      ],
    ],
  ]
  it.each(timelines)('follows the timeline of %s', (_, quota, timeline) => {
    runTimeline(gcra, quota, timeline)
  })

  it('agrees with the libraries throttled and redis-cell', () => {
    let state: Fields = {}
    for (const { atMs, cost, allowed, remaining, resetAfterMs, retryAfterMs } of vectors.rows) {
      const { verdict, write } = gcra.step(state, vectors.quota, cost, atMs)
      const wait = retryAfterMs ?? (allowed ? 0 : Infinity)
      expect({ atMs, cost, ...verdict }).toEqual({ atMs, cost, allowed, remaining, resetAfterMs, retryAfterMs: wait })
      if (write) state = applyWrite(write, state)
    }
  })

  const quota = { limit: 10, windowMs: 1000, burst: 3 }

  it('keeps its state for as long as the burst takes to come back', () => {
    expect(gcra.retentionMs(quota)).toBe(300)
    expect(gcra.retentionMs({ limit: 3, windowMs: 1000, burst: 1 })).toBe(334)
  })

  it('refunds only what time has not given back already', () => {
    const state = takeAt(gcra, quota, [1000, 1000])
    expect(state).toEqual({ t: 1_200_000, e: 100_000 })
    expect(applyWrite(gcra.refund(state, quota, 1, 1000, 1000)!, state)).toEqual({ t: 1_100_000, e: 100_000 })
    expect(applyWrite(gcra.refund(state, quota, 1, 1000, 1030)!, state)).toEqual({ t: 1_130_000, e: 100_000 })
    expect(applyWrite(gcra.refund(state, quota, 9, 1000, 1030)!, state)).toEqual({ t: 1_030_000, e: 100_000 })
    expect(applyWrite(gcra.refund(state, quota, 1, 1000, 970)!, state)).toEqual({ t: 1_100_000, e: 100_000 })
    expect(gcra.refund(state, quota, 1, 1000, 1100)).toBeUndefined()
    expect(gcra.refund(state, quota, 5, 1000, 1200)).toBeUndefined()
    expect(applyWrite(gcra.refund(state, quota, 5, 1000, 1199)!, state)).toEqual({ t: 1_199_000, e: 100_000 })
  })

  it('extrapolates that a busy subject is as busy now, and that one that was about to be idle is idle', () => {
    expect(gcra.extrapolate!({ t: 1_250_000 }, 1000, quota, 9000)).toEqual({ t: 9_250_000 })
    expect(gcra.extrapolate!({ t: 1_151_000 }, 1000, quota, 9000)).toEqual({ t: 9_151_000 })
    expect(gcra.extrapolate!({ t: 1_150_000 }, 1000, quota, 9000)).toEqual({ t: 1_150_000 })
    expect(gcra.extrapolate!({ t: 1_250_000 }, 1000, quota, 900)).toEqual({ t: 1_250_000 })
    expect(gcra.extrapolate!({}, 1000, quota, 9000)).toEqual({})
  })

  describe('obeys the law:', () =>
    obeysTheLaws<GcraQuota>({
      algorithm: gcra,
      quota: fc.record({ limit: anySize, windowMs: anyWindowMs, burst: anySize }),
      windowMs: ({ windowMs }) => windowMs,
      largestCost: ({ burst }) => burst,
      withSize: (quota, burst) => ({ ...quota, burst }),
      withNumbers: (quota, limit, burst) => ({ ...quota, limit, burst }),
      largestSkewMs: 1000,
      refundsLevel: true,
      withoutExpired: (fields) => fields,
      admits: (past, quota, cost, now) => fitsPace(past, quota, quota.burst, cost, now),
      maxAdmitted: mostAtPace,
    }))
})

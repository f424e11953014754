import fc from 'fast-check'
import { type Fields, listOf, numberOf } from '../../limiter/algorithms/conditional-write'
import { type SlidingLogQuota, slidingLog } from '../../limiter/algorithms/sliding-log'
import worked from '../vectors/worked-examples.json'
import { type AlgorithmSpec, anySize, anyWindowMs } from './algorithm-spec'
import { unitsSince } from './charges'
import { obeysTheLaws } from './laws'
import { applyWrite, type Row, runTimeline, takeAt } from './timeline'

const YEAR_MS = 31_536_000_000

describe('sliding log', () => {
  const timelines: [string, SlidingLogQuota, Row[]][] = [
    [
      'three in any second',
      { limit: 3, windowMs: 1000, countDenied: false },
      [
        [1200, 0, true, 3, 0, 'a peek takes nothing'],
        [1200, 1, true, 2, 0, ''],
        [1500, 2, true, 0, 0, ''],
        [1600, 0, true, 0, 0, 'peeking is allowed when nothing is left'],
        [1600, 1, false, 0, 600, 'until the first is a second old'],
        [1600, 2, false, 0, 900, 'until the second is'],
        [1600, 4, false, 0, Infinity, 'more than the limit can never pass'],
        [2199, 1, false, 0, 1, 'a millisecond too early; the denial before did not count'],
        [2200, 1, true, 0, 0, 'just in time'],
        [1000, 1, false, 0, 1500, 'a clock that steps back sees nothing expire later or sooner'],
        [2600, 1, true, 1, 0, ''],
        [2300, 1, true, 0, 0, 'a clock that steps back records at the newest time'],
        [3300, 1, true, 0, 0, 'so the one of 2200 has expired'],
        [3599, 1, false, 0, 1, 'and the two of 2600 have not'],
        [9000, 3, true, 0, 0, 'a long pause empties the log'],
      ],
    ],
    [
      'three in any second, denials included',
      { limit: 3, windowMs: 1000, countDenied: true },
      [
        [1000, 2, true, 1, 0, ''],
        [1300, 2, false, 0, 1000, 'denied, and recorded: two have to go before two fit'],
        [1300, 0, true, 0, 0, 'a peek is not recorded'],
        [1999, 1, false, 0, 301, 'without that denial this would pass'],
        [2299, 1, false, 0, 1, 'so would this'],
        [2300, 1, true, 0, 0, 'just in time'],
        [2300, 9, false, 0, Infinity, 'more than the limit can never pass, and fills the log'],
        [3299, 1, false, 0, 1, ''],
        [4299, 3, true, 0, 0, 'silence empties it'],
      ],
    ],
    [
      'one at a time',
      { limit: 1, windowMs: 1000, countDenied: false },
      [
        [5300, 1, true, 0, 0, ''],
        [6299, 1, false, 0, 1, ''],
        [6299, 2, false, 0, Infinity, ''],
        [6300, 1, true, 0, 0, ''],
      ],
    ],
    [
      'a window of a millisecond',
      { limit: 2, windowMs: 1, countDenied: false },
      [
        [100, 2, true, 0, 0, ''],
        [100, 1, false, 0, 1, ''],
        [101, 2, true, 0, 0, ''],
      ],
    ],
    [
      'a window of a year',
      { limit: 2, windowMs: YEAR_MS, countDenied: false },
      [
        [123, 1, true, 1, 0, ''],
        [456, 1, true, 0, 0, ''],
        [122 + YEAR_MS, 1, false, 0, 1, ''],
        [123 + YEAR_MS, 1, true, 0, 0, ''],
        [123 + YEAR_MS, 1, false, 0, 333, ''],
      ],
    ],
  ]
  it.each(timelines)('follows the timeline of %s', (_, quota, timeline) => {
    runTimeline(slidingLog, quota, timeline)
  })

  it.each([
    { ...worked.slidingLog, countDenied: false },
    { ...worked.slidingLogCountingRejected, countDenied: true },
  ])('decides the worked example: $story', ({ limit, windowMs, countDenied, rows }) => {
    let state: Fields = {}
    for (const { atMs, allowed } of rows) {
      const { verdict, write } = slidingLog.step(state, { limit, windowMs, countDenied }, 1, atMs)
      expect({ atMs, allowed: verdict.allowed }).toEqual({ atMs, allowed })
      if (write) state = applyWrite(write, state)
    }
  })

  const quota = { limit: 3, windowMs: 1000, countDenied: false }

  it('reports the time until the last entry expires, and 0 when the quota is whole', () => {
    expect(slidingLog.step({}, quota, 0, 1200).verdict.resetAfterMs).toBe(0)
    expect(slidingLog.step({}, quota, 4, 1200).verdict.resetAfterMs).toBe(0)
    expect(slidingLog.step({}, quota, 1, 1200).verdict.resetAfterMs).toBe(1000)
    expect(slidingLog.step(takeAt(slidingLog, quota, [1000, 1100]), quota, 3, 1500).verdict.resetAfterMs).toBe(600)
    expect(slidingLog.step({}, { ...quota, countDenied: true }, 4, 1200).verdict.resetAfterMs).toBe(1000)
  })

  it('keeps its state for one window', () => {
    expect(slidingLog.retentionMs(quota)).toBe(1000)
  })

  it('keeps expired entries until their room is needed', () => {
    const state = takeAt(slidingLog, quota, [1000, 1500, 5000])
    expect(state).toEqual({ l: [1000, 1500, 5000], t: 5000, v: 3 })
    expect(takeAt(slidingLog, quota, [5001], state)).toEqual({ l: [5000, 5001], t: 5001, v: 4 })
  })

  it('denies even a peek if the limit was lowered below the number of entries', () => {
    const state = takeAt(slidingLog, quota, [1000, 1100, 1200])
    const lowered = { ...quota, limit: 1 }
    expect(slidingLog.step(state, lowered, 0, 1200).verdict).toEqual({
      allowed: false,
      remaining: 0,
      resetAfterMs: 1000,
      retryAfterMs: 900,
    })
    expect(slidingLog.step(state, lowered, 1, 1200).verdict).toEqual({
      allowed: false,
      remaining: 0,
      resetAfterMs: 1000,
      retryAfterMs: 1000,
    })
  })

  it('records denials only where countDenied is set', () => {
    expect(slidingLog.recordsDenials!(quota)).toBe(false)
    expect(slidingLog.recordsDenials!({ ...quota, countDenied: true })).toBe(true)
  })

  it('records at most as many entries of a denied request as there are units in the limit', () => {
    const { write } = slidingLog.step({}, { ...quota, countDenied: true }, 2 ** 40, 1000)
    expect(applyWrite(write!, {})).toEqual({ l: [1000, 1000, 1000], t: 1000, v: 1 })
  })

  it('refunds the newest entries that are not newer than the charge', () => {
    const state = takeAt(slidingLog, quota, [1000, 1500, 1700])
    const refunded = (units: number, chargedAt: number) =>
      applyWrite(slidingLog.refund(state, quota, units, chargedAt, 1700)!, state)
    expect(refunded(1, 1500)).toEqual({ l: [1000, 1700], t: 1700, v: 4 })
    expect(refunded(1, 1699)).toEqual({ l: [1000, 1700], t: 1700, v: 4 })
    expect(refunded(2, 1700)).toEqual({ l: [1000], t: 1700, v: 4 })
    expect(refunded(9, 1500)).toEqual({ l: [1700], t: 1700, v: 4 })
    expect(slidingLog.refund(state, quota, 1, 999, 1700)).toBeUndefined()
    expect(slidingLog.refund({}, quota, 1, 1700, 1700)).toBeUndefined()
  })

  const spec: AlgorithmSpec<SlidingLogQuota> = {
    algorithm: slidingLog,
    quota: fc.record({ limit: anySize, windowMs: anyWindowMs, countDenied: fc.constant(false) }),
    windowMs: ({ windowMs }) => windowMs,
    largestCost: ({ limit }) => limit,
    withSize: (quota, limit) => ({ ...quota, limit }),
    withoutExpired: (fields, { windowMs }) =>
      fields.l === undefined
        ? fields
        : {
            t: numberOf(fields, 't'),
            l: listOf(fields, 'l').filter((time) => time > numberOf(fields, 't') - windowMs),
          },
    checkState: (fields) => expect(listOf(fields, 'l')).toEqual([...listOf(fields, 'l')].sort((a, b) => a - b)),
    admits: (past, { limit, windowMs }, cost, now) =>
      unitsSince(past, now, ({ at }, latest) => at > latest - windowMs) + cost <= limit,
    maxAdmitted: ({ limit, windowMs }, from, to) => limit * (1 + Math.floor((to - from) / windowMs)),
  }
  describe('obeys the law:', () => obeysTheLaws(spec))
  describe('that counts denials obeys the law:', () =>
    obeysTheLaws<SlidingLogQuota>({
      ...spec,
      quota: fc.record({ limit: anySize, windowMs: anyWindowMs, countDenied: fc.constant(true) }),
      admits: (past, { limit, windowMs }, cost, now) =>
        Math.min(
          limit,
          unitsSince(past, now, ({ at }, latest) => at > latest - windowMs),
        ) +
          cost <=
        limit,
      withSize: undefined, // entries that a small limit made pointless are gone when it grows again
      withNumbers: (quota, limit) => ({ ...quota, limit }),
      checkState: (fields, quota) => {
        spec.checkState!(fields, quota)
        expect(listOf(fields, 'l').length).toBeLessThanOrEqual(quota.limit)
      },
    }))
})

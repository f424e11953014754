import fc from 'fast-check'
import type { Fields } from '../../limiter/algorithms/conditional-write'
import { type FixedWindowQuota, fixedWindow } from '../../limiter/algorithms/fixed-window'
import { slot } from '../../limiter/algorithms/slots'
import { epochGrid, type WindowGrid } from '../../limiter/algorithms/window-grid'
import worked from '../vectors/worked-examples.json'
import { type AlgorithmSpec, anySize, anyWindowMs } from './algorithm-spec'
import { unitsSince } from './charges'
import { obeysTheLaws } from './laws'
import { onlyFields } from './situations'
import { applyWrite, type Row, remainingAt, runTimeline, takeAt } from './timeline'

const YEAR_MS = 31_536_000_000

const epoch = (limit: number, windowMs: number): FixedWindowQuota => ({ limit, grid: epochGrid(windowMs) })

/** Windows of 28 to 31 units, over and over, as months are. */
const uneven = (unitMs: number): WindowGrid => {
  const lengths = [31, 28, 31, 30]
  const around = 120 * unitMs
  const starts = lengths.map((_, index) => unitMs * lengths.slice(0, index).reduce((sum, length) => sum + length, 0))
  return {
    indexAt: (at) =>
      4 * Math.floor(at / around) + starts.findLastIndex((start) => start <= at - around * Math.floor(at / around)),
    startOf: (index) => around * Math.floor(index / 4) + starts[index - 4 * Math.floor(index / 4)]!,
    longestMs: 31 * unitMs,
  }
}

describe('fixed window', () => {
  const timelines: [string, FixedWindowQuota, Row[]][] = [
    [
      'three per second',
      epoch(3, 1000),
      [
        [1200, 1, true, 2, 0, 'the first of its window'],
        [1300, 0, true, 2, 0, 'a peek takes nothing'],
        [1400, 2, true, 0, 0, 'the last two'],
        [1500, 0, true, 0, 0, 'peeking is allowed when nothing is left'],
        [1500, 1, false, 0, 500, 'full until the next whole second'],
        [1500, 4, false, 0, Infinity, 'more than the limit can never pass'],
        [1999, 1, false, 0, 1, 'a millisecond too early'],
        [2000, 1, true, 2, 0, 'just in time'],
        [1900, 3, false, 2, 1100, 'a clock that steps back finds the newest window'],
        [1900, 2, true, 0, 0, 'and what is left in it'],
        [1000, 1, false, 0, 2000, 'however far it steps back'],
        [9700, 3, true, 0, 0, 'a pause of many windows gives one window'],
        [9700, 1, false, 0, 300, ''],
      ],
    ],
    [
      'one at a time',
      epoch(1, 1000),
      [
        [5000, 1, true, 0, 0, ''],
        [5001, 1, false, 0, 999, ''],
        [5001, 2, false, 0, Infinity, ''],
        [6000, 1, true, 0, 0, ''],
      ],
    ],
    [
      'windows of a millisecond',
      epoch(2, 1),
      [
        [100, 2, true, 0, 0, ''],
        [100, 1, false, 0, 1, 'the next millisecond is the next window'],
        [101, 1, true, 1, 0, ''],
      ],
    ],
    [
      'windows of a year',
      epoch(1_000_000, YEAR_MS),
      [
        [50 * YEAR_MS, 999_999, true, 1, 0, 'the first instant of the year'],
        [50 * YEAR_MS + 1, 2, false, 1, YEAR_MS - 1, ''],
        [51 * YEAR_MS - 1, 1, true, 0, 0, 'the last instant of the year'],
        [51 * YEAR_MS - 1, 1, false, 0, 1, ''],
        [51 * YEAR_MS, 1_000_000, true, 0, 0, ''],
      ],
    ],
    [
      'windows as uneven as months',
      { limit: 2, grid: uneven(10) },
      [
        [1200, 2, true, 0, 0, 'a month of 31'],
        [1509, 1, false, 0, 1, ''],
        [1510, 2, true, 0, 0, 'a month of 28'],
        [1511, 1, false, 0, 279, ''],
        [1790, 1, true, 1, 0, ''],
      ],
    ],
  ]
  it.each(timelines)('follows the timeline of %s', (_, quota, timeline) => {
    runTimeline(fixedWindow, quota, timeline)
  })

  it.each(worked.fixedWindow)('decides the worked example: $story', ({ limit, windowMs, rows }) => {
    let state: Fields = {}
    for (const { atMs, cost, allowed } of rows) {
      const { verdict, write } = fixedWindow.step(state, epoch(limit, windowMs), cost, atMs)
      expect({ atMs, allowed: verdict.allowed }).toEqual({ atMs, allowed })
      if (write) state = applyWrite(write, state)
    }
  })

  it('reports the time until the window ends, and 0 when the quota is whole', () => {
    const quota = epoch(3, 1000)
    expect(fixedWindow.step({}, quota, 0, 1200).verdict.resetAfterMs).toBe(0)
    expect(fixedWindow.step({}, quota, 4, 1200).verdict.resetAfterMs).toBe(0)
    expect(fixedWindow.step({}, quota, 1, 1200).verdict.resetAfterMs).toBe(800)
    expect(fixedWindow.step({ w: 1, '01': 3 }, quota, 1, 1200).verdict.resetAfterMs).toBe(800)
  })

  it('keeps its state for the longest window of its grid', () => {
    expect(fixedWindow.retentionMs({ limit: 1, grid: uneven(10) })).toBe(310)
  })

  it('refunds units to the window that was charged, and to no other', () => {
    const quota = epoch(3, 1000)
    const state = takeAt(fixedWindow, quota, [1200, 1300])
    expect(fixedWindow.refund(state, quota, 1, 2000, 2000)).toBeUndefined()
    expect(fixedWindow.refund(state, quota, 1, 999, 1300)).toBeUndefined()
    expect(
      remainingAt(fixedWindow, quota, applyWrite(fixedWindow.refund(state, quota, 1, 1300, 1300)!, state), 1300),
    ).toBe(2)
    expect(
      remainingAt(fixedWindow, quota, applyWrite(fixedWindow.refund(state, quota, 5, 1300, 1300)!, state), 1300),
    ).toBe(3)
  })

  it('removes the expired windows that it has seen when it writes', () => {
    const quota = epoch(3, 1000)
    const state = takeAt(fixedWindow, quota, [1000, 2000, 9000])
    expect(state).toEqual({ w: 9, '09': 1 })
  })

  it('removes the two windows before the present one when it has seen none', () => {
    const { write } = fixedWindow.step(undefined, epoch(3, 1000), 1, 9000)
    expect(applyWrite(write!, { w: 8, '06': 1, '07': 2, '08': 3 })).toEqual({ w: 9, '06': 1, '09': 1 })
  })

  it('purges what writers without a view have left once there is much of it, by the newest window and not by the clock', () => {
    const quota = epoch(3, 1000)
    const left = (windows: number): Fields => ({
      w: 200,
      [slot(200)]: 3,
      ...Object.fromEntries(Array.from({ length: windows }, (_, index) => [slot(10 + 3 * index), 1])),
    })
    expect(fixedWindow.purge!(left(32), quota, 200_000)).toBeUndefined()
    expect(applyWrite(fixedWindow.purge!(left(33), quota, 200_000)!, left(33))).toEqual(left(0))
    // a clock that steps back still finds window 200
    expect(applyWrite(fixedWindow.purge!(left(33), quota, 900_000)!, left(33))).toEqual(left(0))
  })

  const spec = (grid: fc.Arbitrary<WindowGrid>): AlgorithmSpec<FixedWindowQuota> => ({
    algorithm: fixedWindow,
    quota: fc.record({ limit: anySize, grid }),
    windowMs: ({ grid }) => grid.longestMs,
    largestCost: ({ limit }) => limit,
    withSize: (quota, limit) => ({ ...quota, limit }),
    withoutExpired: (fields) => onlyFields(fields, (name) => name === 'w' || name === slot(fields.w as number)),
    admits: (past, { limit, grid }, cost, now) =>
      unitsSince(past, now, ({ at }, latest) => grid.indexAt(at) === grid.indexAt(latest)) + cost <= limit,
    maxAdmitted: ({ limit, grid }, from, to) => limit * (grid.indexAt(to) - grid.indexAt(from) + 1),
  })
  describe('on the grid of the epoch obeys the law:', () => obeysTheLaws(spec(anyWindowMs.map(epochGrid))))
  describe('on the grid of a calendar obeys the law:', () =>
    obeysTheLaws(spec(fc.integer({ min: 1, max: 100 }).map(uneven))))
})

import fc from 'fast-check'
import { type AnchoredWindowQuota, anchoredWindow } from '../../limiter/algorithms/anchored-window'
import type { Fields } from '../../limiter/algorithms/conditional-write'
import worked from '../vectors/worked-examples.json'
import { anySize, anyWindowMs, type Charge } from './algorithm-spec'
import { obeysTheLaws } from './laws'
import { applyWrite, type Row, remainingAt, runTimeline, takeAt } from './timeline'

const YEAR_MS = 31_536_000_000

describe('anchored window', () => {
  const timelines: [string, AnchoredWindowQuota, Row[]][] = [
    [
      'three per second from the first request on',
      { limit: 3, windowMs: 1000 },
      [
        [1200, 0, true, 3, 0, 'a peek opens no window'],
        [1700, 1, true, 2, 0, 'the first request does'],
        [2600, 0, true, 2, 0, 'a peek takes nothing'],
        [2600, 2, true, 0, 0, 'the last two'],
        [2650, 1, false, 0, 50, 'full until a second after the first'],
        [2650, 4, false, 0, Infinity, 'more than the limit can never pass'],
        [2699, 1, false, 0, 1, 'a millisecond too early'],
        [2700, 1, true, 2, 0, 'just in time, and a new window'],
        [2100, 3, false, 2, 1600, 'a clock that steps back finds the newest window open'],
        [2100, 2, true, 0, 0, 'and what is left in it'],
        [1000, 1, false, 0, 2700, 'however far it steps back'],
        [9999, 3, true, 0, 0, 'a long pause gives one window'],
        [10_998, 1, false, 0, 1, ''],
      ],
    ],
    [
      'one at a time',
      { limit: 1, windowMs: 1000 },
      [
        [5300, 1, true, 0, 0, ''],
        [5300, 1, false, 0, 1000, ''],
        [5300, 2, false, 0, Infinity, ''],
        [6300, 1, true, 0, 0, ''],
      ],
    ],
    [
      'a window of a millisecond',
      { limit: 2, windowMs: 1 },
      [
        [100, 2, true, 0, 0, ''],
        [100, 1, false, 0, 1, ''],
        [101, 1, true, 1, 0, ''],
      ],
    ],
    [
      'a window of a year',
      { limit: 2, windowMs: YEAR_MS },
      [
        [123, 1, true, 1, 0, ''],
        [122 + YEAR_MS, 2, false, 1, 1, ''],
        [123 + YEAR_MS, 2, true, 0, 0, ''],
        [124 + YEAR_MS, 1, false, 0, YEAR_MS - 1, ''],
      ],
    ],
  ]
  it.each(timelines)('follows the timeline of %s', (_, quota, timeline) => {
    runTimeline(anchoredWindow, quota, timeline)
  })

  it('allows all six requests of the worked example, five of them within one minute', () => {
    const { limit, windowMs, rows } = worked.anchoredWindow
    let state: Fields = {}
    for (const { atMs, allowed } of rows) {
      const { verdict, write } = anchoredWindow.step(state, { limit, windowMs }, 1, atMs)
      expect({ atMs, allowed: verdict.allowed }).toEqual({ atMs, allowed })
      if (write) state = applyWrite(write, state)
    }
  })

  it('reports the time until the window ends, and 0 when the quota is whole', () => {
    const quota = { limit: 3, windowMs: 1000 }
    expect(anchoredWindow.step({}, quota, 0, 1200).verdict.resetAfterMs).toBe(0)
    expect(anchoredWindow.step({}, quota, 4, 1200).verdict.resetAfterMs).toBe(0)
    expect(anchoredWindow.step({}, quota, 1, 1200).verdict.resetAfterMs).toBe(1000)
    expect(anchoredWindow.step({ s: 700, c: 3 }, quota, 1, 1200).verdict.resetAfterMs).toBe(500)
  })

  it('keeps its state for one window', () => {
    expect(anchoredWindow.retentionMs({ limit: 3, windowMs: 1000 })).toBe(1000)
  })

  it('extrapolates that the next window has been opened if the last one had several requests', () => {
    const quota = { limit: 3, windowMs: 1000 }
    const expected = (seen: Fields, at: number) => anchoredWindow.extrapolate!(seen, 1800, quota, at)
    expect(expected({ s: 1700, c: 2 }, 2700)).toEqual({ s: 2700, c: 0 })
    expect(expected({ s: 1700, c: 2 }, 2699)).toEqual({ s: 1700, c: 2 })
    expect(expected({ s: 1700, c: 1 }, 2700)).toEqual({ s: 1700, c: 1 })
    expect(expected({}, 2700)).toEqual({})
  })

  describe('refunds', () => {
    const quota = { limit: 3, windowMs: 1000 }
    const state = takeAt(anchoredWindow, quota, [1700, 2600])

    it('units to the window that was charged, and to no other', () => {
      expect(anchoredWindow.refund(state, quota, 1, 1699, 2600)).toBeUndefined()
      expect(anchoredWindow.refund(state, quota, 1, 2700, 2700)).toBeUndefined()
      for (const chargedAt of [1700, 2699])
        expect(
          remainingAt(
            anchoredWindow,
            quota,
            applyWrite(anchoredWindow.refund(state, quota, 1, chargedAt, 2699)!, state),
            2699,
          ),
        ).toBe(2)
    })

    it('the last unit of a window by closing it, so that the next request opens a new one', () => {
      for (const units of [2, 5])
        expect(applyWrite(anchoredWindow.refund(state, quota, units, 2600, 2600)!, state)).toEqual({})
    })

    it('nothing when nothing is charged', () => {
      expect(anchoredWindow.refund({ s: 1700, c: 0 }, quota, 1, 1700, 1700)).toBeUndefined()
      expect(anchoredWindow.refund({}, quota, 1, 1700, 1700)).toBeUndefined()
    })
  })

  describe('obeys the law:', () =>
    obeysTheLaws({
      algorithm: anchoredWindow,
      quota: fc.record({ limit: anySize, windowMs: anyWindowMs }),
      windowMs: ({ windowMs }) => windowMs,
      largestCost: ({ limit }) => limit,
      withSize: (quota, limit) => ({ ...quota, limit }),
      withoutExpired: (fields) => fields,
      admits: (past, { limit, windowMs }, cost, now) => {
        const { start, used } = newestWindow(past, windowMs)
        return (now < start + windowMs ? used : 0) + cost <= limit
      },
      maxAdmitted: ({ limit, windowMs }, from, to) => limit * (2 + Math.floor((to - from) / windowMs)),
      // When the units that opened a window are given back while others stay, it closes sooner than the one that those
      // others would have opened.
      comparable: (fields, others) => fields.s === others.s,
    }))
})

const newestWindow = (past: readonly Charge[], windowMs: number): { start: number; used: number } =>
  past.reduce(
    ({ start, used }, { clock, units }) =>
      clock >= start + windowMs || used === 0 ? { start: clock, used: units } : { start, used: used + units },
    { start: -Infinity, used: 0 },
  )

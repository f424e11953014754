import fc from 'fast-check'
import { type Clause, type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { type SlidingWindowQuota, slidingWindow } from '../../limiter/algorithms/sliding-window'
import { slot } from '../../limiter/algorithms/slots'
import worked from '../vectors/worked-examples.json'
import { anySize, anyWindowMs } from './algorithm-spec'
import { unitsSince } from './charges'
import { obeysTheLaws } from './laws'
import { onlyFields } from './situations'
import { applyWrite, type Row, remainingAt, runTimeline, takeAt } from './timeline'

const YEAR_MS = 31_536_000_000

describe('sliding window', () => {
  const timelines: [string, SlidingWindowQuota, Row[]][] = [
    [
      'four per second',
      { limit: 4, windowMs: 1000 },
      [
        [1000, 1, true, 3, 0, 'the first of its window'],
        [1200, 0, true, 3, 0, 'a peek takes nothing'],
        [1900, 3, true, 0, 0, 'full'],
        [1900, 5, false, 0, Infinity, 'more than the limit can never pass'],
        [1900, 4, false, 0, 851, 'all four, once what they weigh has gone down to less than one'],
        [1900, 1, false, 0, 101, 'a millisecond into the next window they weigh 3.996, rounded down'],
        [2000, 1, false, 0, 1, 'a millisecond too early'],
        [2001, 1, true, 0, 0, 'just in time'],
        [2001, 1, false, 0, 250, ''],
        [2250, 1, false, 0, 1, 'at a quarter they still weigh three'],
        [2251, 1, true, 0, 0, ''],
        [2751, 1, true, 1, 0, 'two weigh nothing, two are here'],
        [1500, 1, false, 0, 1251, 'a clock that steps back finds the newest window, and the one before at full weight'],
        [1500, 0, false, 0, 1001, 'where even a peek finds more than the limit'],
        [3000, 1, true, 0, 0, 'the three of the second before'],
        [4999, 1, true, 3, 0, 'one that weighs nothing any more'],
        [9000, 4, true, 0, 0, 'a long pause gives one window'],
      ],
    ],
    [
      'one at a time',
      { limit: 1, windowMs: 1000 },
      [
        [5300, 1, true, 0, 0, ''],
        [5300, 1, false, 0, 701, ''],
        [6000, 1, false, 0, 1, ''],
        [6001, 1, true, 0, 0, ''],
        [6001, 2, false, 0, Infinity, ''],
      ],
    ],
    [
      'windows of a millisecond',
      { limit: 2, windowMs: 1 },
      [
        [100, 2, true, 0, 0, ''],
        [100, 1, false, 0, 2, 'the next millisecond counts the one before in full'],
        [101, 1, false, 0, 1, ''],
        [102, 1, true, 1, 0, ''],
      ],
    ],
    [
      'windows of a year',
      { limit: 1000, windowMs: YEAR_MS },
      [
        [51 * YEAR_MS - 1, 1000, true, 0, 0, 'the last instant of the year'],
        [51 * YEAR_MS, 1, false, 0, 1, ''],
        [51 * YEAR_MS + YEAR_MS / 2, 500, true, 0, 0, 'half a year on, half of them weigh'],
        [52 * YEAR_MS, 501, false, 500, 1, ''],
      ],
    ],
  ]
  it.each(timelines)('follows the timeline of %s', (_, quota, timeline) => {
    runTimeline(slidingWindow, quota, timeline)
  })

  it.each(worked.slidingWindow)(
    'decides the worked example: $story',
    ({ limit, windowMs, previous, current, atMs, cost, estimate, allowed }) => {
      const state = { w: 100, [slot(99)]: previous, [slot(100)]: current }
      const { verdict } = slidingWindow.step(state, { limit, windowMs }, cost, 100 * windowMs + atMs)
      expect(verdict).toMatchObject({
        allowed,
        remaining: Math.max(0, limit - Math.floor(estimate) - (allowed ? cost : 0)),
      })
    },
  )

  it('reports the time until the charged units have lost their weight, and 0 when the quota is whole', () => {
    const quota = { limit: 4, windowMs: 1000 }
    expect(slidingWindow.step({}, quota, 0, 1200).verdict.resetAfterMs).toBe(0)
    expect(slidingWindow.step({}, quota, 5, 1200).verdict.resetAfterMs).toBe(0)
    expect(slidingWindow.step({}, quota, 4, 1200).verdict.resetAfterMs).toBe(1551)
    expect(slidingWindow.step({ w: 1, '01': 4 }, quota, 0, 2750).verdict.resetAfterMs).toBe(1)
    expect(slidingWindow.step({ w: 1, '01': 4 }, quota, 0, 2751).verdict.resetAfterMs).toBe(0)
  })

  it('keeps its state for two windows', () => {
    expect(slidingWindow.retentionMs({ limit: 4, windowMs: 1000 })).toBe(2000)
  })

  it('refunds units to the window that was charged, then to the one before, and to no other', () => {
    const quota = { limit: 9, windowMs: 1000 }
    const state = { w: 5, '03': 1, '04': 2, '05': 3 }
    expect(applyWrite(slidingWindow.refund(state, quota, 2, 5000, 5000)!, state)).toEqual({
      w: 5,
      '03': 1,
      '04': 2,
      '05': 1,
    })
    expect(applyWrite(slidingWindow.refund(state, quota, 4, 5000, 5000)!, state)).toEqual({ w: 5, '03': 1, '04': 1 })
    expect(applyWrite(slidingWindow.refund(state, quota, 9, 5000, 5000)!, state)).toEqual({ w: 5, '03': 1 })
    expect(applyWrite(slidingWindow.refund(state, quota, 1, 4999, 5000)!, state)).toEqual({
      w: 5,
      '03': 1,
      '04': 1,
      '05': 3,
    })
    expect(slidingWindow.refund(state, quota, 1, 7000, 7000)).toBeUndefined()
    expect(remainingAt(slidingWindow, quota, state, 5000)).toBe(4)
  })

  it('removes expired windows when it writes: those it has seen, or the two before the present ones if it has seen none', () => {
    const quota = { limit: 3, windowMs: 1000 }
    expect(takeAt(slidingWindow, quota, [1000, 2000, 3000, 9000])).toEqual({ w: 9, '09': 1 })
    expect(takeAt(slidingWindow, quota, [1000, 2000, 3100])).toEqual({ w: 3, '02': 1, '03': 1 })
    const { write } = slidingWindow.step(undefined, quota, 1, 9100)
    expect(applyWrite(write!, { w: 8, '05': 1, '06': 1, '07': 1, '08': 1 })).toEqual({
      w: 9,
      '05': 1,
      '08': 1,
      '09': 1,
    })
  })

  it('purges what writers without a view have left once there is much of it, by the newest window and not by the clock', () => {
    const quota = { limit: 3, windowMs: 1000 }
    const left = (windows: number): Fields => ({
      w: 200,
      [slot(199)]: 2,
      [slot(200)]: 3,
      ...Object.fromEntries(Array.from({ length: windows }, (_, index) => [slot(10 + 4 * index), 1])),
    })
    expect(slidingWindow.purge!(left(32), quota, 200_000)).toBeUndefined()
    expect(applyWrite(slidingWindow.purge!(left(33), quota, 200_000)!, left(33))).toEqual(left(0))
    expect(applyWrite(slidingWindow.purge!(left(33), quota, 900_000)!, left(33))).toEqual(left(0))
  })

  describe('writes with a guard that', () => {
    const quota = { limit: 100, windowMs: 1000 }
    const guardOf = (known: Fields | undefined, cost: number, now: number): readonly Clause[] =>
      slidingWindow.step(known, quota, cost, now).write!.guard
    const stored = (previous: number, current: number): Fields => ({ w: 5, [slot(4)]: previous, [slot(5)]: current })

    it('is exact if the previous count cannot change any more', () => {
      const guard = guardOf(stored(40, 20), 1, 5500)
      expect(holds(guard, stored(40, 79))).toBe(true)
      expect(holds(guard, stored(40, 80))).toBe(false)
      expect(holds(guard, stored(41, 79))).toBe(true) // weighs 20.5, rounded down
      expect(holds(guard, stored(42, 79))).toBe(false)
    })

    it('permits most of what fits if nothing is known', () => {
      const guard = guardOf(undefined, 1, 5500)
      let fit = 0
      let permitted = 0
      for (let previous = 0; previous <= 100; previous++) {
        for (let current = 0; Math.floor(previous / 2) + current + 1 <= 100; current++) {
          fit++
          if (holds(guard, stored(previous, current))) permitted++
        }
      }
      expect(permitted / fit).toBeGreaterThan(0.9)
    })

    it('permits what a view from the window before makes likely, and never less than the view showed', () => {
      const seen: Fields = { w: 4, [slot(4)]: 60 }
      const guard = guardOf(seen, 1, 5500)
      expect(holds(guard, stored(60, 0))).toBe(true)
      expect(holds(guard, stored(61, 69))).toBe(true)
      expect(holds(guard, stored(80, 59))).toBe(true)
      expect(holds(guard, stored(100, 49))).toBe(true)
      expect(holds(guard, stored(100, 50))).toBe(false)
    })

    it('has its steps between what the view weighs and what fits', () => {
      const guard = guardOf({ w: 4, [slot(4)]: 60 }, 1, 5500) // weighs 30, and 50 at most: the second step is 33
      expect(holds(guard, stored(66, 66))).toBe(true)
      expect(holds(guard, stored(66, 67))).toBe(false)
    })

    it('takes the view of no state for none of the second window since 1970 either', () => {
      const guard = guardOf({}, 1, 1500)
      expect(holds(guard, { w: 1, '00': 50, '01': 74 })).toBe(true)
    })

    it('has at most nine alternatives, none of them twice', () => {
      const choices = (guard: readonly Clause[]) =>
        guard.flatMap((clause) => ('anyOf' in clause ? [clause.anyOf.length] : []))
      expect(choices(guardOf(undefined, 1, 5500))).toEqual([9])
      expect(choices(guardOf(undefined, 98, 5500))).toEqual([3])
      expect(choices(guardOf(undefined, 100, 5500))).toEqual([1])
      expect(choices(guardOf(stored(40, 20), 1, 5500))).toEqual([1])
    })
  })

  describe('obeys the law:', () =>
    obeysTheLaws({
      algorithm: slidingWindow,
      quota: fc.record({ limit: anySize, windowMs: anyWindowMs }),
      windowMs: ({ windowMs }) => windowMs,
      largestCost: ({ limit }) => limit,
      withSize: (quota, limit) => ({ ...quota, limit }),
      withoutExpired: (fields) =>
        onlyFields(
          fields,
          (name) => name === 'w' || name === slot(fields.w as number) || name === slot((fields.w as number) - 1),
        ),
      admits: (past, { limit, windowMs }, cost, now) => {
        const window = (at: number) => Math.floor(at / windowMs)
        const previous = unitsSince(past, now, ({ at }, latest) => window(at) === window(latest) - 1)
        const current = unitsSince(past, now, ({ at }, latest) => window(at) === window(latest))
        const start = windowMs * window(Math.max(now, past.at(-1)?.at ?? 0))
        const elapsed = Math.max(0, now - start)
        return Math.floor((previous * (windowMs - elapsed)) / windowMs) + current + cost <= limit
      },
      maxAdmitted: ({ limit, windowMs }, from, to) =>
        limit * (Math.floor(to / windowMs) - Math.floor(from / windowMs) + 1),
    }))
})

import fc from 'fast-check'
import { MAX_UNITS } from '../../limiter/algorithms/algorithm'
import { apply, type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { type FixedWindowQuota, fixedWindow } from '../../limiter/algorithms/fixed-window'
import { meteredWindow, usageOf } from '../../limiter/algorithms/metered-window'
import { overSlot, slot } from '../../limiter/algorithms/slots'
import { epochGrid, type WindowGrid } from '../../limiter/algorithms/window-grid'
import { calendarGrid } from '../../limiter/policies/calendar'
import {
  type AlgorithmSpec,
  anyCost,
  anyElapsed,
  anyHistory,
  anySize,
  anyWindowMs,
  inMs,
  NUM_RUNS,
  runHistory,
  START,
} from './algorithm-spec'
import { obeysTheLaws } from './laws'
import { onlyFields } from './situations'
import { applyWrite } from './timeline'

const epoch = (limit: number, windowMs = 1000): FixedWindowQuota => ({ limit, grid: epochGrid(windowMs) })
const month = (limit: number): FixedWindowQuota => ({ limit, grid: calendarGrid('month', 'Europe/Berlin') })

/** One request, the remaining units and the overage after it. */
type Row = [at: number, cost: number, remaining: number, overageage: number, about: string]

/** Runs a timeline in which everything is allowed, and returns the state. */
function follow(quota: FixedWindowQuota, story: readonly Row[], start: Fields = {}): Fields {
  let state = start
  for (const [at, cost, remaining, overage, about] of story) {
    const { verdict, write } = meteredWindow.step(state, quota, cost, at)
    expect({ at, cost, about, ...verdict }).toMatchObject({
      at,
      cost,
      about,
      allowed: true,
      retryAfterMs: 0,
      remaining,
      overage,
    })
    if (write) state = applyWrite(write, state)
  }
  return state
}

const take = (state: Fields, quota: FixedWindowQuota, cost: number, now: number): Fields =>
  applyWrite(meteredWindow.step(state, quota, cost, now).write!, state)

describe('metered window', () => {
  const timelines: [string, FixedWindowQuota, Row[]][] = [
    [
      'three per second',
      epoch(3),
      [
        [1200, 1, 2, 0, 'the first of its window'],
        [1300, 0, 2, 0, 'a peek takes nothing'],
        [1400, 2, 0, 0, 'the last of the quota: just inside'],
        [1500, 0, 0, 0, ''],
        [1500, 1, 0, 1, 'the first past it is admitted, and counted'],
        [1500, 9, 0, 10, 'and nine more'],
        [1999, 0, 0, 10, 'a peek tells what is on record'],
        [2000, 1, 2, 0, 'a new window owes nothing'],
        [1900, 4, 0, 2, 'a clock that steps back counts in the newest window, and the request that crosses is split'],
        [1000, 1, 0, 3, 'however far it steps back'],
        [9700, 5, 0, 2, 'a first request larger than the quota'],
      ],
    ],
    [
      'a quota of one',
      epoch(1),
      [
        [5000, 1, 0, 0, ''],
        [5001, 1, 0, 1, ''],
        [6000, 2, 0, 1, ''],
      ],
    ],
  ]
  it.each(timelines)('follows the timeline of %s', (_, quota, story) => {
    follow(quota, story)
  })

  it('begins quotas by the month at midnight in Berlin, both in winter and in summer time', () => {
    const quota = month(10)
    const state = follow(quota, [
      [Date.parse('2026-03-31T21:59:59.999Z'), 12, 0, 2, 'the last instant of March, summer time'],
      [Date.parse('2026-03-31T22:00:00.000Z'), 11, 0, 1, 'the first of April'],
      [Date.parse('2026-10-31T22:59:59.999Z'), 3, 7, 0, 'the last instant of October, winter time'],
      [Date.parse('2026-10-31T23:00:00.000Z'), 4, 6, 0, 'the first of November'],
    ])
    const reported = usageOf(state, quota).map(({ startAt, endsAt, used, overage }) => [
      new Date(startAt).toISOString(),
      new Date(endsAt).toISOString(),
      used,
      overage,
    ])
    expect(reported).toEqual([
      ['2026-10-31T23:00:00.000Z', '2026-11-30T23:00:00.000Z', 4, 0],
      ['2026-09-30T22:00:00.000Z', '2026-10-31T23:00:00.000Z', 3, 0],
      ['2026-03-31T22:00:00.000Z', '2026-04-30T22:00:00.000Z', 11, 1],
      ['2026-02-28T23:00:00.000Z', '2026-03-31T22:00:00.000Z', 12, 2],
    ])
  })

  it('stores what a fixed window stores until there is overage', () => {
    expect(take({}, epoch(3), 3, 1000)).toEqual({ w: 1, '01': 3 })
    expect(take({ w: 1, '01': 3 }, epoch(3), 1, 1000)).toEqual({ w: 1, '01': 4, '01_': 1 })
  })

  it('reports the time until the window ends', () => {
    expect(meteredWindow.step({}, epoch(3), 0, 1200).verdict.resetAfterMs).toBe(0)
    expect(meteredWindow.step({}, epoch(3), 9, 1200).verdict.resetAfterMs).toBe(800)
  })

  it('judges units by the limit in force when they are charged: overage of a smaller limit stays overage', () => {
    let state = follow(epoch(3), [[1000, 5, 0, 2, 'two past a limit of three']])
    state = follow(epoch(10), [[1100, 4, 1, 2, 'a raised limit has room for more, and forgives nothing']], state)
    state = follow(epoch(10), [[1200, 3, 0, 4, 'until it is crossed too']], state)
    state = follow(epoch(4), [[1300, 1, 0, 5, 'a lowered limit takes effect at once, and not backwards']], state)
    expect(usageOf(state, epoch(4))).toEqual([{ startAt: 1000, endsAt: 2000, used: 13, overage: 5 }])
  })

  it('counts no further than numbers are exact', () => {
    const quota = epoch(3)
    const full = take({}, quota, MAX_UNITS, 1000)
    expect(meteredWindow.step(full, quota, 1, 1200)).toEqual({
      verdict: { allowed: false, remaining: 0, resetAfterMs: 800, retryAfterMs: 800, overage: MAX_UNITS - 3 },
    })
    expect(meteredWindow.step(full, quota, 1, 2000).verdict.allowed).toBe(true)
    expect(meteredWindow.step(full, quota, MAX_UNITS, 1200).verdict.retryAfterMs).toBe(800)
    expect(meteredWindow.step({}, quota, MAX_UNITS + 1, 1200).verdict).toMatchObject({
      allowed: false,
      retryAfterMs: Infinity,
      overage: 0,
    })

    const { write } = meteredWindow.step({ w: 1, '01': 5, '01_': 2 }, quota, 2, 1200)
    expect(holds(write!.guard, { w: 1, '01': MAX_UNITS - 2, '01_': 2 })).toBe(true)
    expect(holds(write!.guard, { w: 1, '01': MAX_UNITS - 1, '01_': 2 })).toBe(false)
  })

  describe('written from an outdated view', () => {
    const quota = epoch(10)
    const writeFrom = (known: Fields | undefined, cost: number) => meteredWindow.step(known, quota, cost, 1500).write!

    it('succeeds within the quota while there is room, and past the quota once there is none', () => {
      for (const used of [1, 7, 8]) expect(holds(writeFrom(undefined, 2).guard, { w: 1, '01': used })).toBe(true)
      expect(holds(writeFrom(undefined, 2).guard, { w: 1, '01': 9 })).toBe(false)
      for (const used of [10, 11, 500])
        expect(holds(writeFrom({ w: 1, '01': 12, '01_': 2 }, 2).guard, { w: 1, '01': used })).toBe(true)
      expect(holds(writeFrom({ w: 1, '01': 12, '01_': 2 }, 2).guard, { w: 1, '01': 9 })).toBe(false)
    })

    it('succeeds past the quota without knowing the exact count, also when it is just at the limit', () => {
      const { guard } = writeFrom({ w: 1, '01': 10 }, 2)
      expect([9, 10, 11].map((used) => holds(guard, { w: 1, '01': used }))).toEqual([false, true, true])
    })

    it('succeeds in a window ahead of the clock only if that window exists', () => {
      const { guard } = writeFrom({ w: 2, '02': 1 }, 2)
      expect([holds(guard, { w: 2, '02': 5 }), holds(guard, {}), holds(guard, { w: 3, '03': 1 })]).toEqual([
        true,
        false,
        false,
      ])
    })

    it('succeeds across the limit only if the count is as seen', () => {
      const { guard } = writeFrom({ w: 1, '01': 9 }, 2)
      expect([8, 9, 10].map((used) => holds(guard, { w: 1, '01': used }))).toEqual([false, true, false])
      const first = writeFrom({}, 12).guard
      expect([holds(first, {}), holds(first, { w: 1, '01': 1 })]).toEqual([true, false])
    })
  })

  describe('keeps the newest thirteen windows:', () => {
    const quota = epoch(2)
    const busy = (windows: number): Fields =>
      Array.from({ length: windows }, (_, index) => index).reduce(
        (state, index) => take(state, quota, 3, 50_000 + 1000 * index),
        {},
      )

    it('it removes older ones in the write that begins a new one', () => {
      expect(usageOf(busy(13), quota).map(({ startAt }) => startAt / 1000)).toEqual([
        62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50,
      ])
      const state = busy(20)
      expect(usageOf(state, quota)).toHaveLength(13)
      expect(usageOf(state, quota).every(({ used, overage }) => used === 3 && overage === 1)).toBe(true)
      expect(Object.keys(state)).toHaveLength(1 + 2 * 13)
    })

    it('it reports no others, although writers without a view have left some', () => {
      const state = { ...busy(13), [slot(49)]: 7, [overSlot(49)]: 5 }
      expect(usageOf(state, quota)).toEqual(usageOf(busy(13), quota))
      expect(take(state, quota, 1, 62_500)).toEqual(take(busy(13), quota, 1, 62_500))
    })

    it('it purges what writers without a view have left once there is much of it', () => {
      const expired = Object.fromEntries(
        Array.from({ length: 17 }, (_, index) => [slot(index), overSlot(index)])
          .flat()
          .map((name) => [name, 1]),
      )
      const state = { ...busy(13), ...expired }
      expect(applyWrite(meteredWindow.purge!(state, quota, 62_500)!, state)).toEqual(busy(13))
      expect(meteredWindow.purge!(busy(13), quota, 62_500)).toBeUndefined()
    })

    it('it keeps its state for as long', () => {
      expect(meteredWindow.retentionMs(quota)).toBe(13_000)
    })
  })

  describe('makes a refund that', () => {
    const refund = (state: Fields, limit: number, units: number, chargedAt = 1500): Fields =>
      applyWrite(meteredWindow.refund(state, epoch(limit), units, chargedAt, chargedAt)!, state)

    it('takes overage first: the last units charged are the first refunded', () => {
      const state = { w: 1, '01': 8, '01_': 3 }
      expect(refund(state, 5, 1)).toEqual({ w: 1, '01': 7, '01_': 2 })
      expect(refund(state, 5, 3)).toEqual({ w: 1, '01': 5 })
      expect(refund(state, 5, 4)).toEqual({ w: 1, '01': 4 })
      expect(refund(state, 5, 99)).toEqual({ w: 1 })
    })

    it('forgives no overage of an earlier, smaller quota', () => {
      expect(refund({ w: 1, '01': 20, '01_': 10 }, 100, 5)).toEqual({ w: 1, '01': 15, '01_': 10 })
      expect(refund({ w: 1, '01': 25, '01_': 13 }, 22, 5)).toEqual({ w: 1, '01': 20, '01_': 10 })
      expect(refund({ w: 1, '01': 20, '01_': 10 }, 100, 15)).toEqual({ w: 1, '01': 5, '01_': 5 })
    })

    it('goes to the window that was charged, also when that is over', () => {
      const state = { w: 2, '01': 8, '01_': 3, '02': 1 }
      expect(refund(state, 5, 4)).toEqual({ w: 2, '01': 4, '02': 1 })
      expect(meteredWindow.refund(state, epoch(5), 4, 3000, 3000)).toBeUndefined()
    })

    it('applies only if both counts are on the same side of the limit as seen, with enough units there', () => {
      const { guard } = meteredWindow.refund({ w: 1, '01': 8, '01_': 3 }, epoch(5), 1, 1500, 1500)!
      expect(holds(guard, { w: 1, '01': 99, '01_': 94 })).toBe(true)
      expect(holds(guard, { w: 1, '01': 6, '01_': 2 })).toBe(true)
      expect(holds(guard, { w: 1, '01': 5, '01_': 2 })).toBe(false)
      expect(holds(guard, { w: 1, '01': 8, '01_': 1 })).toBe(false)
      const inside = meteredWindow.refund({ w: 1, '01': 4 }, epoch(5), 1, 1500, 1500)!.guard
      expect([1, 2, 5, 6].map((used) => holds(inside, { w: 1, '01': used }))).toEqual([false, true, true, false])
      const crossing = meteredWindow.refund({ w: 1, '01': 7, '01_': 2 }, epoch(5), 3, 1500, 1500)!.guard
      expect([6, 7, 8].map((used) => holds(crossing, { w: 1, '01': used, '01_': 2 }))).toEqual([false, true, false])
      expect(
        holds(meteredWindow.refund({ w: 1, '01': 4 }, epoch(5), 1, 1500, 1500)!.guard, { w: 1, '01': 4, '01_': 1 }),
      ).toBe(false)
    })

    it('undoes any request exactly while the limit stays the same', () =>
      fc.assert(
        fc.property(anyHistory, anySize, anyCost, anyElapsed, (history, limit, cost, elapsed) => {
          if (cost === 0) return
          const last = runHistory(
            { ...spec(fc.constant(epochGrid(1000))), withSize: (quota, size) => ({ ...quota, limit: size }) },
            epoch(limit),
            history,
          ).at(-1)!
          const now = Math.max(last.latest, last.clock) + inMs(elapsed, 1000)
          const before = last.fields
          const charged = apply(meteredWindow.step(before, last.quota, cost, now).write!, before)
          const after = apply(meteredWindow.refund(charged, last.quota, cost, now, now)!, charged)
          expect(usageOf(after, last.quota)).toEqual(usageOf({ ...before, w: charged.w! }, last.quota))
        }),
        { numRuns: NUM_RUNS },
      ))
  })

  describe('shares its state with the fixed window, which', () => {
    const quota = epoch(5)

    it('denies once the limit is exceeded and overage is no longer allowed', () => {
      const state = follow(quota, [[1200, 9, 0, 4, 'nine of five']])
      expect(fixedWindow.step(state, quota, 1, 1300).verdict).toMatchObject({
        allowed: false,
        remaining: 0,
        retryAfterMs: 700,
      })
      const next = fixedWindow.step(state, quota, 1, 2000)
      expect(applyWrite(next.write!, state)).toEqual({ w: 2, '02': 1 })
    })

    it('hands over its count when overage is allowed', () => {
      const { write } = fixedWindow.step({}, quota, 4, 1200)
      const state = follow(quota, [[1300, 3, 0, 2, 'one more was left']], applyWrite(write!, {}))
      expect(usageOf(state, quota)).toEqual([{ startAt: 1000, endsAt: 2000, used: 7, overage: 2 }])
    })

    it('leaves earlier overage on record while overage is denied for a while', () => {
      let state = follow(quota, [[1200, 6, 0, 1, '']])
      state = applyWrite(fixedWindow.step(state, epoch(8), 2, 1300).write!, state)
      follow(quota, [[1400, 1, 0, 2, 'what was admitted in between stays inside']], state)
    })

    it('is in force at the same time on some instances: neither over-admits by its own rule', () => {
      fc.assert(
        fc.property(fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 4 })), { maxLength: 20 }), (requests) => {
          let state: Fields = {}
          let used = 0
          for (const [metered, cost] of requests) {
            const { verdict, write } = (metered ? meteredWindow : fixedWindow).step(state, quota, cost, 1500)
            expect(verdict.allowed).toBe(metered || used + cost <= 5)
            if (!write) continue
            state = applyWrite(write, state)
            used += cost
          }
          expect(usageOf(state, quota)).toEqual(
            used === 0 ? [] : [{ startAt: 1000, endsAt: 2000, used, overage: Math.max(0, used - 5) }],
          )
        }),
      )
    })
  })

  it('records every unit once, and overage by the limit in force, on instances with outdated views', () =>
    fc.assert(
      fc.property(anySize, anyHistory, (limit, history) => {
        const grid = epochGrid(60_000)
        const quota = { limit, grid }
        const takes = history.filter(({ kind }) => kind === 'take')
        const moments = runHistory(
          { ...spec(fc.constant(grid)), withSize: (before, size) => ({ ...before, limit: size }) },
          quota,
          takes,
        )
        const records = new Map<number, { used: number; overage: number }>()
        let newest = grid.indexAt(START) - 1
        for (const { take, clock, quota } of moments) {
          if (!take?.recorded) continue
          newest = Math.max(newest, grid.indexAt(clock))
          const { used, overage } = records.get(newest) ?? { used: 0, overage: 0 }
          const after = used + take.cost
          records.set(newest, { used: after, overage: overage + Math.max(0, Math.min(take.cost, after - quota.limit)) })
        }
        const expected = [...records].filter(([index]) => index > newest - 13).reverse()
        const kept = usageOf(moments.at(-1)?.fields ?? {}, quota)
        expect(kept.map(({ startAt, used, overage }) => [grid.indexAt(startAt), { used, overage }])).toEqual(expected)
      }),
      { numRuns: NUM_RUNS },
    ))

  // All laws apply. Two of them check little, since everything is admitted: the test of the record above replaces them.
  const spec = (grid: fc.Arbitrary<WindowGrid>): AlgorithmSpec<FixedWindowQuota> => ({
    algorithm: meteredWindow,
    quota: fc.record({ limit: anySize, grid }),
    windowMs: ({ grid }) => grid.longestMs,
    largestCost: () => MAX_UNITS,
    allowsMoreThanRemaining: true,
    withSize: (quota, limit) => ({ ...quota, limit }),
    withoutExpired: (fields) =>
      onlyFields(fields, (name) => ['w', slot(fields.w as number), overSlot(fields.w as number)].includes(name)),
    checkState: (fields) => {
      const index = fields.w as number
      if (index === undefined) return
      const [used, overage] = [slot(index), overSlot(index)].map((name) => (fields[name] as number | undefined) ?? 0)
      if (overage! < 0 || overage! > used!) expect({ fields, overage }).toBe('at most what was used')
    },
    admits: () => true,
    maxAdmitted: () => Infinity,
  })
  describe('obeys the law:', () => obeysTheLaws(spec(anyWindowMs.map(epochGrid))))
})

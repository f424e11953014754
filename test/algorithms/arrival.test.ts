import { type ConditionalWrite, type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { type GcraQuota, gcra } from '../../limiter/algorithms/gcra'
import { type LeakyBucketQuota, leakyBucket } from '../../limiter/algorithms/leaky-bucket'
import { applyWrite } from './timeline'

const S = 1_000_000 // microseconds
const NOW = 100_000
const DAY_US = 86_400 * S

/** One unit a second, five at once. */
const quick: GcraQuota = { limit: 10, windowMs: 10_000, burst: 5 }
/** One unit every two seconds, five at once. */
const slow: GcraQuota = { limit: 5, windowMs: 10_000, burst: 5 }

const fits = (write: ConditionalWrite | undefined, state: Fields) => holds(write!.guard, state)

describe('a pace that became quicker', () => {
  // Four units owed at two seconds each. The second that clocks may differ by passes at that pace, and the other seven
  // seconds, three and a half units, take half as long: the bucket is whole at 104.5 s.
  const state = { t: 108 * S, e: 2 * S }
  const at = (cost: number) => gcra.step(state, quick, cost, NOW)

  it('keeps what is owed in units, and reports what it takes by the stored pace while nobody charges', () => {
    expect(at(0).verdict).toEqual({ allowed: true, remaining: 0, resetAfterMs: 8000, retryAfterMs: 0 })
    expect(applyWrite(gcra.step(state, { ...quick, burst: 6 }, 1, NOW).write!, state)).toEqual({ t: 105.5 * S, e: S })
  })

  it('gives a time for a retry that is the first at which there is room', () => {
    expect(at(1).verdict).toMatchObject({ allowed: false, retryAfterMs: 1000, resetAfterMs: 8000 })
    expect(gcra.step(state, quick, 1, NOW + 1000).verdict.allowed).toBe(true)
    expect(gcra.step(state, quick, 1, NOW + 999).verdict.allowed).toBe(false)
    expect([4, 5].map((cost) => at(cost).verdict.retryAfterMs)).toEqual([7000, 8000])
  })

  it('shortens nothing that is owed for less than the second by which clocks may differ', () => {
    const owed = { t: 100.6 * S, e: 2 * S }
    expect(applyWrite(gcra.step(owed, quick, 4, NOW).write!, owed)).toEqual({ t: 104.6 * S, e: S })
    expect(gcra.step(owed, quick, 5, NOW).verdict).toMatchObject({ allowed: false, retryAfterMs: 600 })
  })

  it('is written only over the very state that was converted', () => {
    const { write } = gcra.step(state, { ...quick, burst: 6 }, 1, NOW)
    expect(fits(write, { ...state, t: state.t + 1 })).toBe(false)
    expect(fits(write, { ...state, t: state.t - 1 })).toBe(false)
    expect(fits(write, { ...state, e: S })).toBe(false)
  })

  it('rounds a debt up to a microsecond, and the time of a retry to the first millisecond with room', () => {
    const uneven = { limit: 10, windowMs: 7000, burst: 10 } // one every 0.7 s
    const owed = { t: 108 * S, e: 2.2 * S }
    // 7 s · 0.7 / 2.2 = 2.227272727… s
    expect(applyWrite(gcra.step(owed, uneven, 1, NOW).write!, owed)).toEqual({ t: 103_927_273, e: 700_000 })
    // Room for one of five is four units, 2.8 s: one second by the stored pace, 1.8 s by 2.2 / 0.7: 5.657142857 s.
    const full = { t: 101 * S + 1 + S + 5_657_142, e: 2.2 * S }
    const few = { ...uneven, burst: 5 }
    expect(gcra.step(full, few, 1, NOW).verdict.retryAfterMs).toBe(1001)
    expect(gcra.step(full, few, 1, NOW + 1000).verdict.allowed).toBe(false)
    expect(gcra.step(full, few, 1, NOW + 1001).verdict.allowed).toBe(true)
  })
})

describe('a pace that became slower', () => {
  const state = { t: 103 * S, e: S } // three units, which take six seconds from now on

  it('keeps what is owed in units from the charge on, and what they take by the stored pace until then', () => {
    expect(gcra.step(state, slow, 0, NOW).verdict).toMatchObject({ remaining: 2, resetAfterMs: 3000 })
    const { verdict, write } = gcra.step(state, slow, 2, NOW)
    expect(verdict).toEqual({ allowed: true, remaining: 0, resetAfterMs: 10_000, retryAfterMs: 0 })
    expect(applyWrite(write!, state)).toEqual({ t: 110 * S, e: 2 * S })
  })

  it('lets a retry pass once enough has drained by the stored pace', () => {
    expect(gcra.step(state, slow, 3, NOW).verdict).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    expect(gcra.step(state, slow, 3, NOW + 1000).verdict.allowed).toBe(true)
    expect(gcra.step(state, slow, 3, NOW + 999).verdict.allowed).toBe(false)
  })
})

describe('a pace of days, whose products are past what a number holds exactly', () => {
  const daily: GcraQuota = { limit: 1, windowMs: 86_400_000, burst: 9 }
  const often: GcraQuota = { limit: 7, windowMs: 86_400_000, burst: 20 }
  const OFTEN_US = 12_342_857_143 // a seventh of a day, rounded up
  const from = NOW * 1000 + S // the second by which clocks may differ passes by the stored pace

  it.each([1, 2, 3, 5, 7])('converts %d owed units to as many, to the microsecond', (units) => {
    const next = (owedUs: number) => {
      const state = { t: from + owedUs, e: DAY_US }
      return applyWrite(gcra.step(state, often, 1, NOW).write!, state).t
    }
    const whole = from + units * OFTEN_US + OFTEN_US
    expect(next(units * DAY_US)).toBe(whole)
    expect(next(units * DAY_US + 1)).toBe(whole + 1) // a part of a microsecond is rounded up
    expect(next(units * DAY_US - 1)).toBe(whole) // and so is what is left of one
  })

  it.each([1, 2, 3, 5, 7])('finds the millisecond at which %d units have room', (units) => {
    const t = NOW * 1000 + units * OFTEN_US + 5000 * 1000
    const { verdict } = gcra.step({ t, e: OFTEN_US }, daily, 9 - units, NOW)
    expect(verdict).toMatchObject({ allowed: false, retryAfterMs: 5000 })
    const late = gcra.step({ t: t + 1, e: OFTEN_US }, daily, 9 - units, NOW)
    expect(late.verdict.retryAfterMs).toBe(5001)
  })
})

describe('a charge by an unchanged pace', () => {
  it('fits on any state that has room, as long as its pace is the one that was seen', () => {
    const { write } = gcra.step({ t: 100.5 * S, e: S }, quick, 1, NOW)
    expect(write!.assignments).toEqual([{ field: 't', add: S }])
    expect(fits(write, { t: 104 * S, e: S })).toBe(true)
    expect(fits(write, { t: 104 * S + 1, e: S })).toBe(false)
    expect(fits(write, { t: 100 * S + 1, e: S })).toBe(true)
    expect(fits(write, { t: 100 * S, e: S })).toBe(false) // time has passed that must not be counted as a lead
    expect(fits(write, { t: 104 * S, e: 2 * S })).toBe(false)
  })

  it('on a bucket that is whole fits on any that is, written or not, whatever its pace was', () => {
    const seen: Fields[] = [{ t: 99 * S, e: 2 * S }, { t: 100 * S, e: 2 * S }, { t: 100 * S, e: S }, {}]
    const whole: Fields[] = [{}, { t: 100 * S, e: S }, { t: 98 * S, e: 2 * S }]
    for (const state of seen) {
      const { write } = gcra.step(state, quick, 1, NOW)
      for (const stored of whole) expect(applyWrite(write!, stored)).toEqual({ t: 101 * S, e: S })
      expect(fits(write, { t: 100 * S + 1, e: S })).toBe(false)
    }
  })

  it('at a turn to come, by which the bucket will be whole, fits until somebody is charged past that turn', () => {
    const state = { t: 101 * S, e: S }
    const { write } = gcra.step(state, quick, 1, NOW + 2000, NOW)
    expect(applyWrite(write!, state)).toEqual({ t: 103 * S, e: S })
    expect(fits(write, { t: 102 * S, e: S })).toBe(true)
    expect(fits(write, { t: 102 * S + 1, e: S })).toBe(false)
  })

  it('on a state of a release that kept no pace writes its own, unless another has been written meanwhile', () => {
    const state = { t: 100.5 * S }
    const { write } = gcra.step(state, quick, 1, NOW)
    expect(applyWrite(write!, state)).toEqual({ t: 101.5 * S, e: S })
    expect(fits(write, { ...state, e: 2 * S })).toBe(false)
  })
})

describe('a refund', () => {
  it('after the pace changed takes off what time has given back at the quicker of both paces', () => {
    // Two units of two seconds; one second by the quicker pace has given back one of them.
    const slower = { t: 108 * S, e: 2 * S }
    expect(applyWrite(gcra.refund(slower, quick, 2, NOW - 1000, NOW)!, slower)).toEqual({ t: 106 * S, e: 2 * S })
    const quicker = { t: 103 * S, e: S }
    expect(applyWrite(gcra.refund(quicker, slow, 2, NOW - 1000, NOW)!, quicker)).toEqual({ t: 102 * S, e: S })
  })

  it('fits on any state that owes at least so much, by the pace that was seen', () => {
    const write = gcra.refund({ t: 101 * S, e: S }, quick, 1, NOW, NOW)
    expect(applyWrite(write!, { t: 103 * S, e: S })).toEqual({ t: 102 * S, e: S })
    expect(fits(write, { t: 101 * S - 1, e: S })).toBe(false)
    expect(fits(write, { t: 103 * S, e: 2 * S })).toBe(false)
  })
})

describe('a leaky bucket whose pace changed', () => {
  const queue: LeakyBucketQuota = { ...quick, burst: 20, mode: 'queue' }
  const waitMs = (state: Fields, quota: LeakyBucketQuota) => leakyBucket.step(state, quota, 1, NOW).verdict.delayMs

  it('as a queue lets nobody leave before those who were told their turn', () => {
    expect(waitMs({ t: 108 * S, e: 2 * S }, queue)).toBe(8000)
    expect(waitMs({ t: 103 * S, e: S }, { ...queue, limit: 5 })).toBe(6000)
  })

  it('as a meter drains by its own pace, past the second by which clocks may differ', () => {
    const state = { t: 108 * S, e: 2 * S }
    const { write } = leakyBucket.step(state, { ...queue, mode: 'meter' }, 1, NOW)
    expect(applyWrite(write!, state)).toEqual({ t: 105.5 * S, e: S })
  })
})

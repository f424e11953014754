import { makeSampler } from '../../lambda/telemetry/sampler'
import { thoroughly } from '../runs'

const T = 1_700_000_000_000
const NOTHING = { same: 0, others: 0 }

describe('a sampler', () => {
  it('lets the first event of each key through, and the first one after the time for which it leaves events out', () => {
    const take = makeSampler()
    expect(take('a', T, 5000)).toEqual(NOTHING)
    expect(take('b', T, 5000)).toEqual(NOTHING)
    expect(take('a', T, 5000)).toBeUndefined()
    expect(take('a', T + 4999, 5000)).toBeUndefined() // just too early
    expect(take('a', T + 5000, 5000)).toEqual({ same: 2, since: T, others: 0 }) // just in time
    expect(take('b', T + 5000, 5000)).toEqual(NOTHING)
    expect(take('a', T + 5001, 5000)).toBeUndefined()
  })

  it('lets several events of each key through before it leaves any out, where so configured', () => {
    const take = makeSampler(10_000, 10, 3)
    const told = (now: number) => Array.from({ length: 5 }, () => take('a', now, 5000))
    expect(told(T)).toEqual([NOTHING, NOTHING, NOTHING, undefined, undefined])
    expect(told(T + 5000)).toEqual([{ same: 2, since: T, others: 0 }, NOTHING, NOTHING, undefined, undefined])
  })

  it('starts over when the clock was set back', () => {
    const take = makeSampler()
    take('a', T, 5000)
    expect(take('a', T - 3_600_000, 5000)).toEqual(NOTHING)
    expect(take('a', T - 3_600_000 + 4999, 5000)).toBeUndefined()
  })

  it('leaves events out for the time that was given with the last event let through', () => {
    const take = makeSampler()
    take('a', T, 60_000)
    expect(take('a', T + 2000, 1)).toBeUndefined()
    expect(take('a', T + 60_000, 1)).toEqual({ same: 1, since: T, others: 0 })
    expect(take('a', T + 60_001, 1)).toEqual(NOTHING)
  })

  it('lets a limited number through in a second, and reports how many it left out, counting all of them', () => {
    const take = makeSampler(10_000, 3)
    const told = (from: number, now: number) =>
      Array.from({ length: 10 }, (_, i) => take(`key ${from + i}`, now, 5000)).filter(Boolean)
    expect(told(0, T)).toEqual([NOTHING, NOTHING, NOTHING])
    expect(told(0, T + 999)).toEqual([])
    expect(told(0, T + 1000)).toEqual([{ same: 0, others: 14 }, NOTHING, NOTHING])
  })

  thoroughly('remembers a bounded number of keys, even with a million callers', () => {
    const take = makeSampler(100, Infinity)
    for (let i = 0; i < 1_000_000; i++) take(`caller ${i}`, T, 3_600_000)
    for (let i = 999_900; i < 1_000_000; i++) expect(take(`caller ${i}`, T, 1)).toBeUndefined()
    expect(take('caller 999899', T, 1)).toEqual(NOTHING)
    expect(take('caller 0', T, 1)).toEqual(NOTHING)
  })

  it('forgets the key that was let through longest ago', () => {
    const take = makeSampler(2)
    take('a', T, 1000)
    take('b', T, 60_000)
    take('a', T + 2000, 60_000) // told again, so b is the oldest now
    take('c', T + 2000, 60_000)
    expect(take('a', T + 2000, 1)).toBeUndefined()
    expect(take('b', T + 2000, 1)).toEqual(NOTHING)
  })
})

import fc from 'fast-check'
import type { Capacity } from '../../limiter/consistency/lease-size'
import { LeaseSize } from '../../limiter/consistency/lease-size'

const T0 = 1_763_683_200_000

/** A limit with much time and nothing known of others: nobody is sure that there is enough. */
const outlook = (changes: Partial<Capacity> = {}): Capacity => ({
  left: 10_000,
  capacity: 10_000,
  ageMs: 0,
  endsInMs: 600_000,
  refill: 0,
  refillMs: 0,
  ...changes,
})

/**
 * An instance that spent so many units in each of the last seconds, the newest last, evenly, a millisecond ago at the
 * latest.
 */
function instance(
  perSecond: readonly number[],
  { windowMs = 600_000, others = 0 }: { windowMs?: number; others?: number } = {},
) {
  const size = new LeaseSize(windowMs)
  const start = T0 - perSecond.length * 1000
  for (const [second, units] of perSecond.entries()) {
    for (let part = 0; part < 4; part++) size.spent(units / 4, start + second * 1000 + part * 250)
  }
  if (others > 0) size.othersTook(others, 1000)
  return size
}
const units = (size: LeaseSize, changes: Partial<Capacity> = {}, now = T0) => size.next(now, outlook(changes)).units

describe('an instance whose pace is new', () => {
  test.each([
    [10_000, 100],
    [5001, 100],
    [5000, 50],
    [2501, 50],
    [2500, 25],
    [1000, 25],
  ])('leases, where %i of 10,000 are left, %i of the 400 units that it spent in the last second', (left, leased) => {
    expect(units(instance([400], { others: 1600 }), { left })).toBe(leased)
  })

  test.each([
    [0, 0],
    [3, 0],
    [4, 1],
    [7, 1],
    [8, 2],
  ])('and has spent %i units leases %i', (spent, leased) => {
    expect(units(instance([spent]))).toBe(leased)
  })

  test('leases nothing for what it spent before that', () => {
    expect(units(instance([400, 0, 0]))).toBe(0)
  })
})

describe('an instance whose pace has held for three seconds', () => {
  test('leases all of a second, even where little is left', () => {
    expect(units(instance([500, 300, 400], { others: 100 }))).toBe(300)
    expect(units(instance([500, 300, 400], { others: 100 }), { left: 1000 })).toBe(300)
  })

  test('leases no more for the pace of a second than has held', () => {
    expect(units(instance([0, 400, 400], { others: 1600 }))).toBe(100)
    expect(units(instance([20, 20, 400], { others: 1600 }))).toBe(100)
  })

  test('leases all of eight seconds after 24, while more than half is left', () => {
    const size = instance(Array(24).fill(100), { others: 1000 })
    expect(units(size)).toBe(795) // its fair share: 10,000 · 100 / 1,100, and of that seven eighths
    expect(units(instance(Array(24).fill(100), { others: 100 }))).toBe(800)
    expect(units(instance(Array(24).fill(100), { others: 100 }), { left: 5001 })).toBe(800)
    expect(units(instance(Array(24).fill(100), { others: 100 }), { left: 5000 })).toBe(100)
    expect(units(instance([...Array(23).fill(100), 0], { others: 100 }))).toBe(0)
    expect(units(instance(Array(23).fill(100), { others: 100 }))).toBe(700)
    expect(units(instance(Array(16).fill(100), { others: 100 }))).toBe(100)
  })
})

describe('the fair share of what is left', () => {
  test('goes by the pace of this instance and of all', () => {
    expect(units(instance([500, 500, 500], { others: 4500 }), { left: 1000 })).toBe(87)
    expect(units(instance([500, 500, 500], { others: 500 }), { left: 1000 })).toBe(437)
    expect(units(instance([500, 500, 500]), { left: 400 })).toBe(350)
  })

  test('counts what others are likely to have taken since it was seen', () => {
    expect(units(instance([500, 500, 500], { others: 4500 }), { left: 2000, ageMs: 100 })).toBe(135)
    expect(units(instance([500, 500, 500], { others: 4500 }), { left: 2000, ageMs: 500 })).toBe(0)
  })

  test('is held back by an eighth until there is surely enough for all, whatever they took since it was seen', () => {
    const size = instance([400, 400, 400], { others: 1600 })
    expect(units(size, { endsInMs: 1000, ageMs: 100, left: 2500 })).toBe(360) // 400 ± 20, twice
    expect(units(size, { endsInMs: 1000, ageMs: 100, left: 2700 })).toBe(400)
  })

  test('says when more was wished for', () => {
    expect(instance([500, 500, 500]).next(T0, outlook({ left: 400 })).isScarce).toBe(true)
    expect(instance([500, 500, 500]).next(T0, outlook({ left: 600 })).isScarce).toBe(false)
    const trickling = { refill: 200, refillMs: 100 }
    expect(instance([500, 500, 500]).next(T0, outlook({ left: 998, ...trickling })).isScarce).toBe(true)
    expect(instance([500, 500, 500]).next(T0, outlook({ left: 1000, ...trickling })).isScarce).toBe(false)
  })

  test('learns the pace of others from what they took, the longer the time the more', () => {
    const size = instance([500, 500, 500], { others: 4500 })
    size.othersTook(1000, 500)
    expect(units(size, { left: 1000 })).toBe(Math.floor(((1000 * 0.5) / (0.5 + 3.25)) * (7 / 8)))
    size.othersTook(2000, 4000)
    expect(units(size, { left: 1000 })).toBe(Math.floor(((1000 * 0.5) / (0.5 + 0.5)) * (7 / 8)))
    size.othersTook(1000, 0)
    size.othersTook(1000, -5)
    expect(units(size, { left: 1000 })).toBe(Math.floor(((1000 * 0.5) / (0.5 + 0.5)) * (7 / 8)))
  })

  test('takes the first glimpse of others for their pace', () => {
    const size = instance([500, 500, 500])
    size.othersTook(45, 10)
    expect(units(size, { left: 1000 })).toBe(87)
    size.othersTook(5, 10)
    expect(units(size, { left: 1000 })).toBe(145)
  })
})

describe('the end of a window', () => {
  test('leaves an instance what it is nearly sure to spend', () => {
    const size = instance([400, 400, 400], { others: 1600 })
    // there is enough for all: what is over is worth nothing to others
    expect(units(size, { endsInMs: 250 })).toBeGreaterThan(100)
    expect(units(size, { endsInMs: 250, left: 500 })).toBe(80) // 100 ± 10, twice
    expect(units(size, { endsInMs: 10, left: 20 })).toBe(0)
  })

  test('is no reason to hold back while there is enough for everybody', () => {
    expect(units(instance([400, 400, 400], { others: 1600 }), { endsInMs: 250, left: 4000 })).toBe(120)
  })
})

describe('while there is plenty', () => {
  const plenty = { capacity: 1_000_000, left: 900_000, endsInMs: 60_000 }

  test('an instance leases all that it spent in eight seconds', () => {
    expect(units(instance([100, 200], { others: 1000 }), plenty)).toBe(300)
    expect(units(instance([1000, 0, 0, 0, 0, 0, 0, 10], { others: 1000 }), plenty)).toBeGreaterThan(600)
  })

  test.each([
    ['half of it is gone', { left: 500_000 }, 25],
    ['others may well take half of the rest', { endsInMs: 400_000 }, 50],
    ['others are likely to have taken much of it', { ageMs: 410_000 }, 50],
  ])('but not where %s', (_, changes, leased) => {
    expect(units(instance([100, 200], { others: 1000 }), { ...plenty, ...changes })).toBe(leased)
  })

  test('but not from the moment on at which others may well take half of the rest', () => {
    const size = () => instance([50, 250], { others: 750 })
    expect(units(size(), { ...plenty, endsInMs: 449_999 })).toBe(300)
    expect(units(size(), { ...plenty, endsInMs: 450_000 })).toBe(62)
  })

  test('but not before anything is known of others', () => {
    expect(units(instance([100, 200]), plenty)).toBe(50)
  })

  test('but not with those who take it all', () => {
    expect(units(instance([100, 200], { others: 50_000 }), plenty)).toBeLessThan(100)
  })
})

describe('an item that was throttled', () => {
  test('gets fewer and larger writes for ten seconds', () => {
    const size = instance([100, 200, 100], { others: 1600 })
    expect(units(size)).toBe(100)
    size.onThrottled(T0)
    expect(units(size)).toBe(400)
    size.spent(40, T0 + 9990)
    expect(units(size, {}, T0 + 9999)).toBe(40)
    expect(size.pauseMs(T0 + 9999)).toBe(2 * size.pauseMs(T0 + 10_000))
    expect(units(size, {}, T0 + 10_000)).toBe(10)
    expect(size.pauseMs(T0 - 1)).toBe(size.pauseMs(T0 + 10_000)) // a clock that was set back strains nobody
  })
})

describe('where units trickle back', () => {
  test('an instance takes its share of what comes until it asks again, and half of what is there', () => {
    const size = instance([100, 100, 100], { others: 900 })
    expect(units(size, { left: 40, refill: 200, refillMs: 100 })).toBe(20)
    expect(units(size, { left: 100, refill: 200, refillMs: 100 })).toBe(30)
    expect(units(size, { left: 10_000, refill: 200, refillMs: 100 })).toBe(100)
  })

  test('it wishes for what it spends in two pauses, and in half a second at most', () => {
    const size = instance([0, 0, 100], { others: 900 })
    expect(units(size, { left: 1000, refill: 2000, refillMs: 100 })).toBe(20)
    expect(units(size, { left: 1000, refill: 2000, refillMs: 400 })).toBe(50)
  })

  test('it wishes for no more where none come back', () => {
    const size = instance([0, 0, 100], { others: 900 })
    expect(units(size, { left: 1000, refill: 0, refillMs: 100 })).toBe(6)
  })

  test('what is left is not thought to be taken meanwhile: as much comes back', () => {
    const size = instance([100, 100, 100], { others: 900 })
    expect(units(size, { left: 100, refill: 200, refillMs: 100, ageMs: 1000 })).toBe(30)
  })

  test.each([
    ['alone', 0, 50],
    ['one of ten', 900, 50],
    ['one of a hundred', 9900, 125],
    ['one of ten thousand', 999_900, 1000],
  ])('it leaves the item alone for so long that all can ask: %s', (_, others, ms) => {
    expect(instance([100], { others }).pauseMs(T0)).toBeCloseTo(ms)
  })

  test('and shorter for a short window', () => {
    expect(new LeaseSize(200).pauseMs(T0)).toBe(10)
    const size = instance([100], { windowMs: 200, others: 999_900 })
    size.spent(1, T0)
    expect(size.pauseMs(T0)).toBe(200)
  })
})

test('many instances lease for so long that the item takes all their writes', () => {
  expect(
    units(instance([0, 0, 0, 0, 0, 0, 10, 10], { others: 39_990 }), { left: 1_000_000, capacity: 4_000_000 }),
  ).toBe(12)
  expect(units(instance(Array(8).fill(10), { others: 39_990 }), { left: 1_000_000, capacity: 4_000_000 })).toBe(50)
  expect(units(instance(Array(8).fill(10), { others: 999_990 }), { left: 9_000_000, capacity: 40_000_000 })).toBe(78)
})

test('a short window has a short memory', () => {
  expect(new LeaseSize(200).spanMs).toBe(200)
  expect(new LeaseSize(60_000).spanMs).toBe(1000)
})

test('never more than was spent in the last ten seconds is leased, nor more than is left, whatever others do', () => {
  const event = fc.record({
    elapsed: fc.nat(3000),
    spent: fc.nat(500),
    others: fc.nat(100_000),
    left: fc.nat(1_000_000),
    refill: fc.nat(100_000),
    throttled: fc.boolean(),
    endsInMs: fc.integer({ min: 1, max: 100_000 }),
  })
  fc.assert(
    fc.property(
      fc.array(event, { minLength: 1, maxLength: 40 }),
      fc.constantFrom(200, 1000, 10_000, 86_400_000),
      (events, windowMs) => {
        const size = new LeaseSize(windowMs)
        const spent: { at: number; units: number }[] = []
        let now = T0
        for (const { elapsed, others, throttled, ...one } of events) {
          now += elapsed
          size.spent(one.spent, now)
          spent.push({ at: now, units: one.spent })
          size.othersTook(others, elapsed)
          if (throttled) size.onThrottled(now)
          const lately = spent.reduce((sum, { at, units }) => sum + (at > now - 10_000 ? units : 0), 0)
          const leased = size.next(now, outlook({ ...one, capacity: 1_000_000, refillMs: 100, ageMs: elapsed })).units
          expect(leased).toBeLessThanOrEqual(Math.min(lately, one.left))
          expect(leased).toBeGreaterThanOrEqual(0)
          expect(Number.isInteger(leased)).toBe(true)
        }
      },
    ),
  )
})

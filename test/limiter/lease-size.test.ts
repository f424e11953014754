import fc from 'fast-check'
import type { Capacity } from '../../limiter/consistency/lease-size'
import { LeaseSize } from '../../limiter/consistency/lease-size'

const T0 = 1_763_683_200_000

/** A limit with much time left, and nothing known of other instances: whether there is enough for all is unknown. */
const outlook = (changes: Partial<Capacity> = {}): Capacity => ({
  left: 10_000,
  capacity: 10_000,
  ageMs: 0,
  endsInMs: 600_000,
  refill: 0,
  refillMs: 0,
  ...changes,
})

/** An instance that spent so many units in each of the last seconds, evenly, the newest second last. */
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

describe('an instance with a new spend rate', () => {
  test.each([
    [10_000, 100],
    [5001, 100],
    [5000, 50],
    [2501, 50],
    [2500, 25],
    [1000, 25],
  ])('leases, with %i of 10,000 units left, %i of the 400 that it spent in the last second', (left, leased) => {
    expect(units(instance([400], { others: 1600 }), { left })).toBe(leased)
  })

  test.each([
    [0, 0],
    [3, 0],
    [4, 1],
    [7, 1],
    [8, 2],
  ])('after spending %i units leases %i', (spent, leased) => {
    expect(units(instance([spent]))).toBe(leased)
  })

  test('leases nothing for what it spent before the last second', () => {
    expect(units(instance([400, 0, 0]))).toBe(0)
  })
})

describe('an instance with a spend rate that has held for three seconds', () => {
  test('leases all that it spends in a second, even if little is left', () => {
    expect(units(instance([500, 300, 400], { others: 100 }))).toBe(300)
    expect(units(instance([500, 300, 400], { others: 100 }), { left: 1000 })).toBe(300)
  })

  test('leases no more than the lowest of the three seconds', () => {
    expect(units(instance([0, 400, 400], { others: 1600 }))).toBe(100)
    expect(units(instance([20, 20, 400], { others: 1600 }))).toBe(100)
  })

  test('leases all that it spent in eight seconds once the rate has held for 24, while more than half is left', () => {
    const size = instance(Array(24).fill(100), { others: 1000 })
    expect(units(size)).toBe(795) // seven eighths of its fair share, 10,000 · 100 / 1,100
    expect(units(instance(Array(24).fill(100), { others: 100 }))).toBe(800)
    expect(units(instance(Array(24).fill(100), { others: 100 }), { left: 5001 })).toBe(800)
    expect(units(instance(Array(24).fill(100), { others: 100 }), { left: 5000 })).toBe(100)
    expect(units(instance([...Array(23).fill(100), 0], { others: 100 }))).toBe(0)
    expect(units(instance(Array(23).fill(100), { others: 100 }))).toBe(700)
    expect(units(instance(Array(16).fill(100), { others: 100 }))).toBe(100)
  })
})

describe('the fair share of the units left', () => {
  test('goes by the spend rate of this instance and of all', () => {
    expect(units(instance([500, 500, 500], { others: 4500 }), { left: 1000 })).toBe(87)
    expect(units(instance([500, 500, 500], { others: 500 }), { left: 1000 })).toBe(437)
    expect(units(instance([500, 500, 500]), { left: 400 })).toBe(350)
  })

  test('leaves out what other instances are likely to have charged since the view', () => {
    expect(units(instance([500, 500, 500], { others: 4500 }), { left: 2000, ageMs: 100 })).toBe(135)
    expect(units(instance([500, 500, 500], { others: 4500 }), { left: 2000, ageMs: 500 })).toBe(0)
  })

  test('is reduced by an eighth, unless there is surely enough for all whatever was charged since the view', () => {
    const size = instance([400, 400, 400], { others: 1600 })
    expect(units(size, { endsInMs: 1000, ageMs: 100, left: 2500 })).toBe(360) // 400 ± 20, twice
    expect(units(size, { endsInMs: 1000, ageMs: 100, left: 2700 })).toBe(400)
  })

  test('reports scarcity if the instance wanted more', () => {
    expect(instance([500, 500, 500]).next(T0, outlook({ left: 400 })).isScarce).toBe(true)
    expect(instance([500, 500, 500]).next(T0, outlook({ left: 600 })).isScarce).toBe(false)
    const trickling = { refill: 200, refillMs: 100 }
    expect(instance([500, 500, 500]).next(T0, outlook({ left: 998, ...trickling })).isScarce).toBe(true)
    expect(instance([500, 500, 500]).next(T0, outlook({ left: 1000, ...trickling })).isScarce).toBe(false)
  })

  test('learns the spend rate of other instances from their charges, weighted by the time', () => {
    const size = instance([500, 500, 500], { others: 4500 })
    size.othersTook(1000, 500)
    expect(units(size, { left: 1000 })).toBe(Math.floor(((1000 * 0.5) / (0.5 + 3.25)) * (7 / 8)))
    size.othersTook(2000, 4000)
    expect(units(size, { left: 1000 })).toBe(Math.floor(((1000 * 0.5) / (0.5 + 0.5)) * (7 / 8)))
    size.othersTook(1000, 0)
    size.othersTook(1000, -5)
    expect(units(size, { left: 1000 })).toBe(Math.floor(((1000 * 0.5) / (0.5 + 0.5)) * (7 / 8)))
  })

  test('takes the first charges seen of other instances as their spend rate', () => {
    const size = instance([500, 500, 500])
    size.othersTook(45, 10)
    expect(units(size, { left: 1000 })).toBe(87)
    size.othersTook(5, 10)
    expect(units(size, { left: 1000 })).toBe(145)
  })
})

describe('the end of a window', () => {
  test('limits a lease to what the instance is nearly sure to spend before it', () => {
    const size = instance([400, 400, 400], { others: 1600 })
    // there is enough for all, and units left at the end are of no use to others
    expect(units(size, { endsInMs: 250 })).toBeGreaterThan(100)
    expect(units(size, { endsInMs: 250, left: 500 })).toBe(80) // 100 ± 10, twice
    expect(units(size, { endsInMs: 10, left: 20 })).toBe(0)
  })

  test('does not limit a lease while there is enough for all', () => {
    expect(units(instance([400, 400, 400], { others: 1600 }), { endsInMs: 250, left: 4000 })).toBe(120)
  })
})

describe('with plenty of units left, an instance', () => {
  const plenty = { capacity: 1_000_000, left: 900_000, endsInMs: 60_000 }

  test('leases all that it spent in eight seconds', () => {
    expect(units(instance([100, 200], { others: 1000 }), plenty)).toBe(300)
    expect(units(instance([1000, 0, 0, 0, 0, 0, 0, 10], { others: 1000 }), plenty)).toBeGreaterThan(600)
  })

  test.each([
    ['half of it is gone', { left: 500_000 }, 25],
    ['others may well take half of the rest', { endsInMs: 400_000 }, 50],
    ['others are likely to have taken much of it', { ageMs: 410_000 }, 50],
  ])('leases a part of that if %s', (_, changes, leased) => {
    expect(units(instance([100, 200], { others: 1000 }), { ...plenty, ...changes })).toBe(leased)
  })

  test('leases a part of that from the moment on at which other instances may have taken half of the rest', () => {
    const size = () => instance([50, 250], { others: 750 })
    expect(units(size(), { ...plenty, endsInMs: 449_999 })).toBe(300)
    expect(units(size(), { ...plenty, endsInMs: 450_000 })).toBe(62)
  })

  test('leases a part of that until something is known of other instances', () => {
    expect(units(instance([100, 200]), plenty)).toBe(50)
  })

  test('leases a part of that if other instances take nearly all', () => {
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
    expect(size.pauseMs(T0 - 1)).toBe(size.pauseMs(T0 + 10_000)) // a clock that was set back ends the longer pause
  })
})

describe('while units come back,', () => {
  test('an instance leases its share of what comes before its next call, and half of what is left', () => {
    const size = instance([100, 100, 100], { others: 900 })
    expect(units(size, { left: 40, refill: 200, refillMs: 100 })).toBe(20)
    expect(units(size, { left: 100, refill: 200, refillMs: 100 })).toBe(30)
    expect(units(size, { left: 10_000, refill: 200, refillMs: 100 })).toBe(100)
  })

  test('an instance asks for what it spends in two pauses, and at most in half a second', () => {
    const size = instance([0, 0, 100], { others: 900 })
    expect(units(size, { left: 1000, refill: 2000, refillMs: 100 })).toBe(20)
    expect(units(size, { left: 1000, refill: 2000, refillMs: 400 })).toBe(50)
  })

  test('an instance asks for no more if no units come back', () => {
    const size = instance([0, 0, 100], { others: 900 })
    expect(units(size, { left: 1000, refill: 0, refillMs: 100 })).toBe(6)
  })

  test('the units left are not reduced by the age of the view, since as many come back', () => {
    const size = instance([100, 100, 100], { others: 900 })
    expect(units(size, { left: 100, refill: 200, refillMs: 100, ageMs: 1000 })).toBe(30)
  })

  test.each([
    ['alone', 0, 50],
    ['one of ten', 900, 50],
    ['one of a hundred', 9900, 125],
    ['one of ten thousand', 999_900, 1000],
  ])('an instance pauses its calls for so long that every instance can make one: %s', (_, others, ms) => {
    expect(instance([100], { others }).pauseMs(T0)).toBeCloseTo(ms)
  })

  test('an instance pauses its calls for a shorter time in a short window', () => {
    expect(new LeaseSize(200).pauseMs(T0)).toBe(10)
    const size = instance([100], { windowMs: 200, others: 999_900 })
    size.spent(1, T0)
    expect(size.pauseMs(T0)).toBe(200)
  })
})

test('with many instances, leases last so long that the item takes all their writes', () => {
  expect(
    units(instance([0, 0, 0, 0, 0, 0, 10, 10], { others: 39_990 }), { left: 1_000_000, capacity: 4_000_000 }),
  ).toBe(12)
  expect(units(instance(Array(8).fill(10), { others: 39_990 }), { left: 1_000_000, capacity: 4_000_000 })).toBe(50)
  expect(units(instance(Array(8).fill(10), { others: 999_990 }), { left: 9_000_000, capacity: 40_000_000 })).toBe(78)
})

test('the spend rate of a short window is measured over a short time', () => {
  expect(new LeaseSize(200).spanMs).toBe(200)
  expect(new LeaseSize(60_000).spanMs).toBe(1000)
})

test('a lease is never larger than what was spent in the last ten seconds, nor than what is left, whatever other instances do', () => {
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

describe('what an instance will very probably spend', () => {
  const steady = () => instance([100, 100, 100])

  test.each([
    [1000, 90],
    [500, 42],
    [2000, 185],
    [60_000, 185],
    [0, 0],
    [-5, 0],
  ])('in the %i ms until units end is %i of 100 a second', (endsInMs, units) => {
    expect(steady().untilEnd(T0, endsInMs, false, 0)).toBe(units)
  })

  test.each([
    [1000, 100],
    [10, 1],
    [0, 0],
  ])('in the %i ms until units end is %i where there is enough for all', (endsInMs, units) => {
    expect(steady().untilEnd(T0, endsInMs, true, 0)).toBe(units)
  })

  it('is what others draw while it has only just begun, or begun anew', () => {
    const size = new LeaseSize(600_000)
    expect(size.untilEnd(T0 - 60, 1000, false, 40)).toBe(40)
    size.spent(3, T0 - 50)
    expect([size.untilEnd(T0, 1000, false, 40), size.untilEnd(T0, 1000, false, 0)]).toEqual([40, 3])
    const again = instance([100])
    expect(again.untilEnd(T0 + 60_000, 1000, false, 40)).toBe(40)
    again.spent(2, T0 + 60_000)
    expect(again.untilEnd(T0 + 60_050, 1000, false, 40)).toBe(40)
    expect(again.untilEnd(T0 + 60_100, 1000, false, 40)).not.toBe(40)
  })
})

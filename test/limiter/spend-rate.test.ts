import { SpendRate } from '../../limiter/consistency/lease-size'

const T0 = 1_763_683_200_000

/** Spends so many units in each millisecond from `from` until `until`. */
function spend(pace: SpendRate, perMs: number, from: number, until: number) {
  for (let at = from; at < until; at++) pace.add(perMs, T0 + at)
}

describe('the units of the last second', () => {
  test('include all that were spent in it, and are dropped when it is over', () => {
    const pace = new SpendRate(1000)
    expect(pace.lately(T0)).toBe(0)
    pace.add(3, T0)
    pace.add(4, T0 + 100)
    expect(pace.lately(T0 + 100)).toBe(7)
    expect(pace.lately(T0 + 1000)).toBe(7)
    expect(pace.lately(T0 + 1250)).toBe(0)
  })

  test('fade within a quarter of a span, as if they had been spent evenly', () => {
    const pace = new SpendRate(1000)
    pace.add(100, T0 + 200)
    expect(pace.lately(T0 + 999)).toBe(100)
    expect(pace.lately(T0 + 1100)).toBeCloseTo(60)
    expect(pace.lately(T0 + 1200)).toBeCloseTo(20)
  })

  test('at an even rate equal that rate', () => {
    const pace = new SpendRate(1000)
    spend(pace, 2, 0, 5000)
    for (const at of [4000, 4100, 4249, 4250, 4600]) {
      const other = new SpendRate(1000)
      spend(other, 2, 0, at)
      expect(other.lately(T0 + at)).toBeCloseTo(2000, -1)
    }
    expect(pace.lately(T0 + 5000)).toBeCloseTo(2000, -1)
  })

  test('can be counted over another span', () => {
    const pace = new SpendRate(8000)
    spend(pace, 1, 0, 8000)
    expect(pace.lately(T0 + 8000)).toBe(8000)
    expect(pace.lately(T0 + 12_000)).toBe(4000)
  })
})

describe('steady units', () => {
  test('are none before three spans have passed', () => {
    const pace = new SpendRate(1000)
    spend(pace, 1, 0, 2000)
    expect(pace.steadily(T0 + 2000)).toBe(0)
    spend(pace, 1, 2000, 3000)
    expect(pace.steadily(T0 + 3000)).toBe(1000)
  })

  test.each([
    ['first', [300, 500, 400], 300],
    ['second', [500, 300, 400], 300],
    ['last', [500, 400, 300], 300],
  ])('are the fewest of the three spans, here of the %s', (_, counts, fewest) => {
    const pace = new SpendRate(1000)
    for (const [i, count] of counts.entries()) pace.add(count, T0 + i * 1000)
    expect(pace.steadily(T0 + 2999)).toBe(fewest)
  })

  test('are none a span after the last unit', () => {
    const pace = new SpendRate(1000)
    spend(pace, 1, 0, 4000)
    expect(pace.steadily(T0 + 4500)).toBeCloseTo(500)
    expect(pace.steadily(T0 + 5000)).toBe(0)
  })
})

describe('a clock', () => {
  test('that is set back a little stands still: no unit is lost or counted twice', () => {
    const pace = new SpendRate(1000)
    pace.add(5, T0 + 2000)
    pace.add(5, T0 + 1300)
    expect(pace.lately(T0 + 1300)).toBe(10)
    expect(pace.lately(T0 + 2000)).toBe(10)
    expect(pace.lately(T0 + 3250)).toBe(0)
  })

  test.each([-3250, -100_000])('that is set back by %i ms makes the count start anew', (ms) => {
    const pace = new SpendRate(1000)
    pace.add(5, T0)
    expect(pace.lately(T0 + ms)).toBe(0)
    pace.add(2, T0 + ms)
    expect(pace.lately(T0 + ms)).toBe(2)
    expect(pace.lately(T0 + ms + 500)).toBe(2)
  })

  test.each([3249, 3250, 3500, 1e9])('that is %i ms later makes no old unit count as new', (ms) => {
    const pace = new SpendRate(1000)
    spend(pace, 1, 0, 1000)
    expect(pace.lately(T0 + 1000 + ms)).toBe(0)
    expect(pace.steadily(T0 + 1000 + ms)).toBe(0)
  })

  test('that starts at the epoch counts like any other', () => {
    const pace = new SpendRate(1000)
    for (let at = 0; at < 3500; at++) {
      pace.add(1, at)
      expect(pace.lately(at)).toBeLessThan(1001.01)
    }
    expect(pace.lately(3500)).toBe(1000)
  })
})

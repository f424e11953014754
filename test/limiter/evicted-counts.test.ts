import { EvictedCounts } from '../../limiter/consistency/evicted-counts'

afterEach(() => jest.restoreAllMocks())

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}:${i} per-minute`)

/** Evicted counts with the seed that this random number gives. */
function seeded(random: number): EvictedCounts {
  jest.spyOn(Math, 'random').mockReturnValueOnce(random)
  return new EvictedCounts()
}

/** Keys that start with a use that is not their own, since they share a slot with an evicted one. */
function sharing(counts: EvictedCounts, remembered: readonly string[], others: readonly string[]): string[] {
  for (const name of remembered) counts.remember(name, 1, 1000, 0)
  return others.filter((name) => counts.usedOf(name, 0) > 0)
}

describe('a count that was evicted', () => {
  it('starts with what it had used, until it would have been whole again', () => {
    const counts = new EvictedCounts()
    expect(counts.usedOf('a', 0)).toBe(0)
    counts.remember('a', 0.25, 1000, 0)
    expect([counts.usedOf('a', 0), counts.usedOf('a', 999), counts.usedOf('a', 1000)]).toEqual([0.25, 0.25, 0])
  })

  it('starts with the largest of several evicted uses, until the last of those is over', () => {
    const counts = new EvictedCounts()
    counts.remember('a', 0.5, 1000, 0)
    counts.remember('a', 0.25, 2000, 10)
    expect(counts.usedOf('a', 1500)).toBe(0.5)
    counts.remember('a', 0.75, 1200, 20)
    expect([counts.usedOf('a', 1500), counts.usedOf('a', 2000)]).toEqual([0.75, 0])
  })

  it('starts anew after that', () => {
    const counts = new EvictedCounts()
    counts.remember('a', 0.5, 1000, 0)
    counts.remember('a', 0.25, 2000, 1000)
    expect(counts.usedOf('a', 1500)).toBe(0.25)
  })
})

describe('the slots of evicted counts', () => {
  it('are shared only by chance', () => {
    const found = sharing(seeded(0.3), numbered('client', 2000), numbered('other', 5000))
    expect(found.length / 5000).toBeGreaterThan(0.08)
    expect(found.length / 5000).toBeLessThan(0.15) // 2,000 of 16,384 slots
  })

  it('are spread so that thousands of counts have their own', () => {
    const counts = seeded(0.3)
    const names = numbered('client', 3000)
    for (const [i, name] of names.entries()) counts.remember(name, (i + 1) / 4000, 1000, 0)
    const own = names.filter((name, i) => counts.usedOf(name, 0) === (i + 1) / 4000)
    expect(own.length).toBeGreaterThan(2600)
  })

  it('differ for keys that differ in a single character at any position', () => {
    const counts = seeded(0.3)
    counts.remember('ab per-minute', 1, 1000, 0)
    for (const other of ['bb per-minute', 'aa per-minute', 'ab per-minutf', 'ba per-minute', 'ab per-minute ', '']) {
      expect([other, counts.usedOf(other, 0)]).toEqual([other, 0])
    }
  })

  it('are different in each process, so that no caller can find out whose slot it shares', () => {
    const [one, other] = [0.1, 0.7].map((random) =>
      sharing(seeded(random), numbered('victim', 30), numbered('client', 5000)),
    )
    expect(one!.length).toBeGreaterThan(0)
    expect(other!.length).toBeGreaterThan(0)
    expect(one!.filter((name) => other!.includes(name)).length).toBeLessThan(one!.length / 2)
  })
})

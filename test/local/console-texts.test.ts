import fc from 'fast-check'
import { changesInWords, conditionsInWords, meaningOf } from '../../local/console/item-text'
import { Record } from '../../local/console/record'
import { barsOf, ticksFor } from '../../pages/console/bars'
import { headerText } from '../../pages/console/header-text'

describe('what the console says', () => {
  it('explains a denial’s headers, each in a sentence', () => {
    expect(headerText('Retry-After', '36', 429)).toBe('Do not try again before 36 s have passed.')
    expect(headerText('RateLimit', '"per-minute";r=0;t=36', 429)).toBe(
      'Policy per-minute: 0 units left; the request would pass in 36 s.',
    )
    expect(headerText('RateLimit-Policy', '"a";q=20;w=60, "b";q=3', 200)).toBe(
      'Policy a: 20 units in any 1 min. Policy b: 3 units at a time.',
    )
    expect(headerText('Content-Type', 'application/json', 200)).toBeUndefined()
  })

  it('says a condition and a change in words, also those of policies that it does not know', () => {
    const values = { ':0': '7', ':1': '9', ':2': '29922491', ':3': '1' }
    expect(conditionsInWords('NOT r2 BETWEEN :0 AND :1 AND NOT X1w>:2', values, new Map())).toEqual([
      'this write was not applied before (its mark r2 is absent)',
      'X1w (idempotency mark) is at most 29922491, or not there',
    ])
    expect(conditionsInWords('(NOT L5AZa1>:0 AND NOT L5AZa2>:1 OR L5AZa2<=:3)', values, new Map())).toEqual([
      'L5AZa1 is at most 7, or not there, and L5AZa2 is at most 9, or not there; or L5AZa2 is at most 1',
    ])
    expect(changesInWords('SET r2=:0 ADD L5AZa1 :3 REMOVE L5AZa0', values, new Map())).toEqual([
      'set r2 (idempotency mark) to 7',
      'add 1 to L5AZa1',
      'remove L5AZa0, which no decision reads any more',
    ])
    expect(meaningOf('L5AZa1', new Map())).toContain('not in force any more')
  })

  it('counts what was decided, by second, forgets it after two minutes, and tells new counts once', () => {
    let now = 0
    const record = new Record(() => now)
    const decided = (status: number, context: { [key: string]: unknown }, id = '') =>
      record.decided({ id, method: 'GET', path: '/', status, context })
    decided(200, { allowed: true })
    decided(429, { allowed: false, policy: 'per-minute', remaining: 0, retryAfter: '13' }, 'a')
    now = 1500
    decided(200, { allowed: true, degraded: true })
    decided(403, { allowed: 'false', degraded: 'true' })
    decided(503, { allowed: true })
    expect(record.counts).toMatchObject({ requests: 5, allowed: 2, denied: 2, degraded: 2, allowedWatched: 0 })
    expect(record.decisionOf('a')).toMatchObject({ allowed: false, policy: 'per-minute', retryAfter: 13 })
    expect(record.decisionOf('b')).toBeUndefined()
    expect(record.takeNew()).toEqual([
      [0, [1, 1, 0, 0, 0]],
      [1, [0, 0, 1, 1, 1]],
    ])
    expect(record.takeNew()).toEqual([])
    now = 127_000
    expect(record.tallies).toEqual([])
    expect(record.counts.requests).toBe(5)
  })

  it('has every request of the last two minutes in one bar, below the top of the axis', () => {
    const counts = fc.tuple(fc.nat(99), fc.nat(9999), fc.nat(99), fc.nat(99), fc.nat(9))
    const tallies = fc.uniqueArray(fc.tuple(fc.integer({ min: 1000, max: 1120 }), counts), { selector: ([at]) => at })
    fc.assert(
      fc.property(tallies, (all) => {
        const bars = barsOf(all, 1_120_500)
        const inReach = all.filter(([second]) => second >= 1002)
        const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)
        for (const kind of [0, 1, 2, 3, 4])
          expect(sum(bars.map((bar) => bar.counts[kind]!))).toBe(sum(inReach.map(([, one]) => one[kind]!)))
        expect(sum(bars.map(({ total }) => total))).toBe(sum(inReach.flatMap(([, one]) => one)))
        expect(new Set(bars.map(({ from }) => from)).size).toBe(bars.length)
        const highest = Math.max(0, ...bars.map(({ total }) => total))
        const ticks = ticksFor(highest)
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(highest)
        expect(ticks.every(Number.isInteger)).toBe(true)
        expect(ticks.length).toBeLessThanOrEqual(6)
      }),
    )
  })
})

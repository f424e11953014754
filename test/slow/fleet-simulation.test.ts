import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { seeded } from '../../bench/random'
import { PerSecond, TokenBucket } from '../../bench/scale/allowance'
import { findingsText, withFindings } from '../../bench/scale/document'
import { exactShare, firstBreak, usdPerMillion } from '../../bench/scale/findings'
import { simulateSecond } from '../../bench/scale/fleet'
import { costPlotOf, plotOf } from '../../bench/scale/plot'
import { popularity } from '../../bench/scale/popularity'
import { minutesToWarm, secondsToScale } from '../../bench/scale/published-limits'
import { SCENARIOS } from '../../bench/scale/scenarios'
import type { Second, Sweep } from '../../bench/scale/second'
import { SimulatedTable } from '../../bench/scale/simulated-table'
import { VirtualTime } from '../../bench/virtual-time'
import type { ItemWrite } from '../../limiter'
import { add, when } from '../../limiter/algorithms/conditional-write'

const START = Date.UTC(2026, 0, 15)

const second = (some: Partial<Second>): Second => ({
  offered: 1000,
  allowed: 1000,
  denied: 0,
  degraded: 0,
  refusedByGateway: 0,
  refusedByLambda: 0,
  throttledItem: 0,
  throttledTable: 0,
  writes: 1000,
  refusedWrites: 0,
  reads: 0,
  busyMs: 5000,
  instances: 10,
  busiest: 10,
  ...some,
})

describe('virtual time', () => {
  test('events happen in their order, at their time, and timers of the code inside are among them', async () => {
    const time = new VirtualTime(START)
    const uninstall = time.install(1)
    const told: [string, number][] = []
    try {
      time.after(20, () => told.push(['second', time.now - START]))
      time.after(10, () => told.push(['first', time.now - START]))
      setTimeout(() => told.push(['timer', performance.now()]), 15)
      clearTimeout(setTimeout(() => told.push(['cancelled', 0]), 12))
      void time.sleep(5).then(() => setTimeout(() => told.push(['late', Date.now() - START]), 20))
      await time.runUntil(30)
    } finally {
      uninstall()
    }
    expect(told).toEqual([
      ['first', 10],
      ['timer', 15],
      ['second', 20],
      ['late', 25],
    ])
  })

  test("gives back the process's own time", () => {
    const before = [setTimeout, clearTimeout, performance.now, Date.now, Math.random]
    new VirtualTime(0).install(1)()
    expect([setTimeout, clearTimeout, performance.now, Date.now, Math.random]).toEqual(before)
    expect(Date.now()).toBeGreaterThan(START)
  })
})

describe('limits by the second', () => {
  test('so many in each second of the clock, and not one more', () => {
    const limit = new PerSecond(2)
    expect([0, 0, 999, 1000, 1001, 1002].map((ms) => limit.take(START + ms))).toEqual([
      true,
      true,
      false,
      true,
      true,
      false,
    ])
  })

  test('a bucket has its burst at once, then its rate', () => {
    const bucket = new TokenBucket(10, 2)
    expect([0, 0, 0, 99, 100, 100, 5000, 5000, 5000].map((ms) => bucket.take(START + ms))).toEqual([
      ...[true, true, false],
      ...[false, true, false],
      ...[true, true, false],
    ])
  })

  test('growing takes its time: twice as much every half hour, a thousand instances every ten seconds', () => {
    expect([4000, 4001, 8000, 1_000_000].map(minutesToWarm)).toEqual([0, 30, 30, 240])
    expect([1, 1000, 1001, 8000].map(secondsToScale)).toEqual([10, 10, 20, 80])
  })
})

describe('the simulated table', () => {
  let value = 0
  const write = (): ItemWrite => ({
    parts: [{ prefix: 'a1bc', write: when([], add('n', 1)) }],
    id: { mark: 'r0', value: value++ },
    at: START,
  })

  async function send(keys: readonly string[], options: { writesPerSecond: number; partitions?: number }) {
    const time = new VirtualTime(START)
    const table = new SimulatedTable({ time, random: seeded(1), ...options })
    const outcomes: string[] = []
    for (const key of keys) {
      void table.write(key, write()).then(
        ({ kind }) => outcomes.push(kind),
        ({ reason }) => outcomes.push(reason),
      )
    }
    await time.runUntil(900)
    const count = (name: string) => outcomes.filter((outcome) => outcome === name).length
    return { applied: count('applied'), hot: count('hot-key'), throttled: count('throttled'), writes: table.writes }
  }

  test('an item takes a thousand writes in a second, and says that it is hot', async () => {
    const one = Array.from({ length: 1002 }, () => 'client#a')
    expect(await send(one, { writesPerSecond: 10_000 })).toEqual({ applied: 1000, hot: 2, throttled: 0, writes: 1000 })
  })

  test('a table takes what it takes, over all items', async () => {
    const many = Array.from({ length: 1002 }, (_, i) => `client#${i}`)
    expect(await send(many, { writesPerSecond: 1001 })).toEqual({ applied: 1001, hot: 0, throttled: 1, writes: 1001 })
  })

  test('items of one partition share what it takes', async () => {
    const two = Array.from({ length: 1002 }, (_, i) => `client#${i % 2}`)
    expect(await send(two, { writesPerSecond: 10_000, partitions: 1 })).toMatchObject({ applied: 1000, hot: 2 })
  })

  test('a call takes time, and is applied on its way', async () => {
    const time = new VirtualTime(START)
    const table = new SimulatedTable({ time, random: () => 0, writesPerSecond: 10 })
    void table.write('client#a', write())
    await time.runUntil(0.9)
    expect(table.writes).toBe(0)
    await time.runUntil(1.1)
    expect(table.writes).toBe(1)
  })
})

describe('popularity', () => {
  test('is alike, or falls off as Zipf says', () => {
    const hottestShare = (clients: number, skew: number, draws = 100_000) => {
      const pick = popularity(clients, skew)
      return (
        Array.from({ length: draws }, (_, i) => pick(() => (i + 0.5) / draws)).filter((n) => n === 0).length / draws
      )
    }
    expect(hottestShare(100_000, 1)).toBeCloseTo(0.0827, 4)
    expect(hottestShare(4, 0)).toBe(0.25)
    const counts = [0, 0, 0]
    const pick = popularity(3, 1)
    for (let i = 0; i < 11_000; i++) counts[pick(() => (i + 0.5) / 11_000)]!++
    expect(counts).toEqual([6000, 3000, 2000])
  })
})

describe('findings', () => {
  const sweep = (...seconds: Second[]): Sweep => ({
    id: 'one',
    title: 'One',
    points: seconds.map((one, i) => ({ rps: 1000 * 10 ** i, second: one })),
  })

  test('a break is the first rate at which more than one request in a thousand has no exact decision, and its most frequent cause', () => {
    expect(firstBreak(sweep(second({}), second({ degraded: 1 })))).toEqual({ held: 10_000 })
    const broken = second({ degraded: 900, refusedByGateway: 3, throttledItem: 9, throttledTable: 4 })
    expect(firstBreak(sweep(second({}), broken))).toEqual({
      held: 1000,
      broke: 10_000,
      cause: 'DynamoDB: 1,000 writes/s of one item',
    })
    expect(firstBreak(sweep(second({ allowed: 0, refusedByLambda: 5 })))).toMatchObject({
      held: undefined,
      broke: 1000,
    })
    expect(
      exactShare(second({ allowed: 600, denied: 200, degraded: 100, refusedByGateway: 60, refusedByLambda: 40 })),
    ).toBe(0.8)
  })

  test('go between the marks of the document, and nowhere else', () => {
    const document = 'a\n<!-- npm run bench:scale -- --write -->\noutdated\n<!-- end -->\nb'
    const text = withFindings(document, [sweep(second({}))])
    expect(text).toMatch(/^a\n<!-- npm.*-->\n\n\| configuration/)
    expect(text).toMatch(/\n<!-- end -->\nb$/)
    expect(text).not.toContain('outdated')
    expect(() => withFindings('a', [])).toThrow('the document wants')
  })

  test('the plots have a line and a name for each configuration that is not in trouble', () => {
    const one = sweep(second({}), second({ allowed: 10_000 }))
    const sweeps = [one, { ...one, id: 'one-in-trouble', title: 'Trouble' }]
    const [plot, costs] = [plotOf(sweeps), costPlotOf(sweeps)]
    expect(plot).toContain('d="M88 544 L337.3 44"')
    expect(costs.match(/<path class="line"/g)).toHaveLength(5) // a line in each of the charts, and its name
    for (const text of [plot, costs]) {
      expect(text).toContain('>One</text>')
      expect(text).not.toContain('Trouble')
    }
  })

  test('the axes of the plots reach what is least and most', () => {
    const [none, many] = [second({}), second({ offered: 10_000, refusedWrites: 300_000, allowed: 180, degraded: 9820 })]
    const marks = (svg: string) => [...svg.matchAll(/"end">([^<]*)</g)].map(([, mark]) => mark)
    expect(marks(plotOf([sweep(none, many)]))).toEqual(['100', '1,000'])
    expect(marks(costPlotOf([sweep(none, many)]))).toEqual(
      expect.arrayContaining(['0.5', '≤ 1', '100,000', '1,000,000']),
    )
    expect(marks(plotOf([sweep(second({ allowed: 1_010_000 }))]))).toEqual(['1,000,000', '10,000,000'])
    expect(marks(plotOf([sweep(none, second({ allowed: 1_010_000 }))])).at(-1)).toBe('1,000,000')
  })

  test('the price is of calls that were billed, and of the time that instances were busy', () => {
    const perRequest = 1000 * (1 / 1e3) * (1769 / 1024) * 0.0000133334 // a second of 1,000 ms for each of 1,000 requests
    const usd = usdPerMillion(second({ writes: 500, reads: 1000, busyMs: 1000 }))
    expect(usd).toBeCloseTo(0.5 * 0.625 + 0.125 + 0.2 + 1000 * perRequest, 2)
  })
})

describe('npm run bench:scale', () => {
  test('gives the same in every run', async () => {
    const [scenario] = SCENARIOS
    expect(await simulateSecond(scenario!, 500)).toEqual(await simulateSecond(scenario!, 500))
  })

  test('a strict limit for all holds up to the thousand writes of its item; a leased one goes on', async () => {
    const at = (id: string, rps: number) => simulateSecond(SCENARIOS.find((scenario) => scenario.id === id)!, rps)
    const strict = await at('strict-global', 2000)
    expect(strict.allowed).toBeLessThanOrEqual(1010)
    expect(strict.throttledItem).toBeGreaterThan(500)
    const leased = await at('leased-global', 1500)
    expect(exactShare(leased)).toBe(1)
    expect(leased.writes).toBeLessThan(1.2 * leased.offered)
  })

  test('every configuration is in the document', () => {
    const rates = readFileSync(join(__dirname, '..', '..', 'bench', 'scale', 'rates.md'), 'utf8')
    for (const { id, title } of SCENARIOS) expect(rates).toContain(`**${title}** (\`${id}\`)`)
    expect(findingsText([])).toContain('| configuration |')
  })
})

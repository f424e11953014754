import { accountFor } from '../../bench/cost/account'
import { billOf, checked, dynamodbUsd, lambdaUsd, publishedPeers } from '../../bench/cost/bill'
import { MeteredClient } from '../../bench/cost/meter'
import { MeteredStore } from '../../bench/cost/metered-store'
import { parseCostOptions } from '../../bench/cost/options'
import { limitsOf } from '../../bench/cost/policies'
import { US_EAST_1, withPrices } from '../../bench/cost/prices'
import { accountText } from '../../bench/cost/report'
import { measureSluice } from '../../bench/cost/sluice'
import { instancesFor, requests, sampled, toTraffic } from '../../bench/cost/traffic'
import { readUnits, writeUnits } from '../../bench/cost/units'
import { itemBytes } from '../../bench/item-size'
import { createLimiter, DynamoDbStore, MemoryStore } from '../../limiter'
import { openEngine, TABLE } from '../stores'

const DECISIONS = { allowed: 6, denied: 2, asked: 6, writes: 7, refused: 1, writeUnits: 8, reads: 2, readUnits: 4 }
const ASSUMED = { lambdaMs: 10, lambdaMsKnown: 2, memoryMb: 1024, backendMs: 50, backendMb: 512 }

describe('units as DynamoDB bills them', () => {
  test('a write is the larger of before and after, in whole kilobytes', () => {
    expect([writeUnits(0), writeUnits(1024), writeUnits(1025)]).toEqual([1, 1, 2])
    expect([writeUnits(100, 1025), writeUnits(2049, 100)]).toEqual([2, 3])
  })

  test('a read is four kilobytes, and half of it where it need not be consistent', () => {
    expect([readUnits(0, true), readUnits(4096, true), readUnits(4097, true), readUnits(4097, false)]).toEqual([
      1, 1, 2, 1,
    ])
  })

  test('maps and booleans have a size, too', () => {
    expect(itemBytes({ m: { M: { ab: { N: '12' }, c: { BOOL: true } } } })).toBe(1 + 3 + 2 + (2 + 2) + (1 + 1))
  })
})

describe('metering', () => {
  test('a store in memory and an engine are billed the same for the same requests, refused writes too', async () => {
    const engine = await openEngine('dynalite')
    try {
      const onEngine = new MeteredClient(engine.client)
      const inMemory = new MeteredStore(new MemoryStore())
      const stores = [new DynamoDbStore({ client: engine.client, tableName: TABLE }), inMemory]
      for (const store of stores) {
        let now = Date.UTC(2040, 0, 1)
        const policies = limitsOf(30, 3)
        const fleet = [1, 2].map(() => createLimiter({ store, policies, clock: () => now, onStoreError: 'throw' }))
        for (let i = 0; i < 24; i++) {
          now += 5000
          await fleet[i % 2]!.take('client:1')
        }
      }
      const { writes, refused, writeUnits } = onEngine.total
      expect(inMemory.total).toMatchObject({ writes, refused, writeUnits })
      expect(refused).toBeGreaterThan(0)
      expect(writes).toBeGreaterThan(refused)
    } finally {
      await engine.close()
    }
  })

  test('a call whose price is not known is an error', async () => {
    const engine = await openEngine('dynalite')
    const metered = new MeteredClient(engine.client)
    await expect(
      engine.client.send(Object.assign(Object.create({ constructor: class ScanCommand {} }), { input: {} })),
    ).rejects.toThrow('does not know what ScanCommand costs')
    expect(metered.total.reads).toBe(0)
    await engine.close()
  })
})

describe('the bill', () => {
  test('puts prices on units, per million decisions', () => {
    expect(dynamodbUsd(DECISIONS, US_EAST_1)).toBeCloseTo((8 * 0.625 + 4 * 0.125) / 8)
    expect(lambdaUsd(10, 1024, US_EAST_1)).toBeCloseTo(0.2 + 0.133334)
  })

  test('has DynamoDB, Lambda and API Gateway apart, and says what is measured and what assumed', () => {
    const bill = billOf(DECISIONS, ASSUMED, US_EAST_1)
    expect(bill.map(({ what, basis, usd }) => [what, basis, Number(usd.toFixed(4))])).toEqual([
      ['DynamoDB, writes', 'measured', 0.625],
      ['DynamoDB, reads of both tables', 'measured', 0.0625],
      ['Lambda, requests', 'measured', 0.2],
      ['Lambda, duration', 'assumed', Number((8e6 * 0.001 * US_EAST_1.lambdaGbSecond).toFixed(4))],
      ['API Gateway, REST API', 'published', 3.5],
      ['API Gateway, HTTP API instead', 'published', 1],
    ])
  })

  test('peers are priced by their commands, and monthly charges by the rate', () => {
    const [redis, waf, plans] = publishedPeers(0.5, 1e6 / (30 * 86_400), 2, US_EAST_1)
    expect(redis!.usd).toBeCloseTo(0.5 * 4 * 2 * 2)
    expect(redis!.how).toContain('$14.00')
    expect(waf!.usd).toBeCloseTo(0.6 + 7)
    expect(plans!.usd).toBe(0)
  })

  test('a goal is met up to its very bound', () => {
    expect([checked('', 0.7, 0.7).met, checked('', 0.701, 0.7).met]).toEqual([true, false])
  })

  test("another region's prices replace those that they name, and nothing else", () => {
    expect(withPrices({ logsGb: 1 })).toEqual({ ...US_EAST_1, logsGb: 1 })
    expect(() => withPrices({ s3: 1 })).toThrow('"s3" is not a price')
    expect(() => withPrices({ logsGb: '1' })).toThrow('logsGb must be US dollars from 0, got "1"')
  })
})

describe('traffic', () => {
  test('clients use half of their limit, and what abusers are refused is the share that was asked for', () => {
    const traffic = toTraffic({ rps: 500, abuse: 0.5, instances: 8 })
    expect(traffic).toMatchObject({ clients: 498, abusers: 1, perMinute: 60 })
    const perClient = (traffic.rps * (1 - traffic.abusersShare)) / traffic.clients
    expect(perClient / (traffic.perMinute / 60)).toBeCloseTo(0.5)
    const refused = traffic.rps * traffic.abusersShare - (traffic.abusers * traffic.perMinute) / 60
    expect(refused / traffic.rps).toBeCloseTo(0.5)
    expect(toTraffic({ rps: 500, abuse: 0, instances: 8 })).toMatchObject({
      clients: 1000,
      abusers: 0,
      abusersShare: 0,
    })
  })

  test('a sample of the callers keeps the rate of each, and the mix', () => {
    const traffic = toTraffic({ rps: 500, abuse: 0.5, abusers: 5, instances: 8 })
    const few = sampled(traffic, 0.2)
    expect(few).toMatchObject({ clients: 98, abusers: 1, perMinute: 60 })
    expect(few.rps).toBeCloseTo(100)
    expect(few.abusersShare).toBeCloseTo(traffic.abusersShare)
  })

  test('is the same in every run', () => {
    const first = (seed: number) => requests(toTraffic({ rps: 500, abuse: 0.5, instances: 8 }), seed).next().value
    expect(first(1)).toEqual(first(1))
    expect(first(1)).not.toEqual(first(2))
  })

  test('there are instances for the requests under way, and for their peaks', () => {
    expect([instancesFor(500, 5), instancesFor(1, 1)]).toEqual([8, 1])
  })
})

describe('npm run cost', () => {
  // A few seconds of traffic, after some for instances to see everybody: too short for the reads of each half minute,
  // for which two cents are kept.
  const count = { warmUp: 2000, requests: 1200 }

  test('DynamoDB: at most $0.70 for a million allowed requests, at most $0.36 for a million decisions of which half are denials', async () => {
    const plain = await measureSluice(toTraffic({ rps: 500, abuse: 0, instances: 10 }), 4, count)
    expect(plain).toMatchObject({ denied: 0, allowed: count.requests })
    expect(plain.writeUnits).toBeGreaterThanOrEqual(plain.allowed)
    expect((plain.writeUnits / plain.allowed) * US_EAST_1.dynamodbMillionWriteUnits).toBeLessThanOrEqual(0.7 - 0.06)

    const abused = await measureSluice(toTraffic({ rps: 500, abuse: 0.5, instances: 8 }), 4, count)
    expect(abused.denied / count.requests).toBeCloseTo(0.5, 1)
    const unitsForBoth = (abused.writeUnits - abused.refused) / abused.allowed + abused.refused / abused.denied
    expect((unitsForBoth / 2) * US_EAST_1.dynamodbMillionWriteUnits).toBeLessThanOrEqual(0.36 - 0.02)
    expect(abused.readUnits).toBeGreaterThan(0)
  })

  test('prints what each part costs', async () => {
    const engine = { name: 'dynalite', endpoint: '', stop: async () => {} } as const
    const account = await accountFor(
      engine,
      parseCostOptions(['--rps', '50', '--requests', '300', '--no-peers', '--abuse', '0.9']),
    )
    const text = accountText(account)
    expect(text).toMatch(/DynamoDB, writes +\$0\.\d{3} +measured/)
    expect(text).toMatch(/Lambda, duration +\$0\.\d{3} +assumed/)
    expect(text).toMatch(/[✓✗] DynamoDB, a million allowed requests, no abuse: \$0\.\d{3}, goal ≤ \$0\.70/)
    expect(account.denied).toBeCloseTo(0.9, 1)
  })

  test('tells what limits in pools cost, by the prices of the region', async () => {
    const engine = { name: 'dynalite', endpoint: '', stop: async () => {} } as const
    const options = parseCostOptions(['--rps', '50', '--requests', '300', '--no-peers', '--abuse', '0'])
    const free = Object.fromEntries(Object.keys(options.prices).map((name) => [name, 0]))
    const { atScale } = await accountFor(engine, { ...options, prices: withPrices(free) })
    expect(atScale.map(({ usd }) => usd)).toEqual([0, 0, 0])
    for (const { rps } of atScale) expect(rps).toBeGreaterThanOrEqual(20_000)
  })

  test.each([
    [['--abuse', '1'], '--abuse must be a share from 0 to below 1, got "1"'],
    [['--policies', '31'], '--policies must be an integer from 1 to 30, got "31"'],
    [['--rps', ''], '--rps must be a number above 0, got ""'],
    [['--region-prices', 'nowhere.json'], '--region-prices nowhere.json: '],
    [['--fast'], "Unknown option '--fast': npm run cost -- --help lists the options"],
  ])('%j is one line that says what is wrong', (args, message) => {
    expect(() => parseCostOptions(args)).toThrow(message)
  })
})

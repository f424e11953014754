import { marshall } from '@aws-sdk/util-dynamodb'
import fc from 'fast-check'
import { Clients } from '../../lambda/config-table/clients'
import { PolicySets } from '../../lambda/config-table/configuration'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { DEFAULT_SETTINGS } from '../../lambda/config-table/items/settings'
import { identify } from '../../lambda/identity/identify'
import { lazyVerifiers } from '../../lambda/identity/load-verifier'
import { Sources } from '../../lambda/identity/sources'
import { ALGORITHM_NAMES } from '../../limiter/policies/policy'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import type { StateStore } from '../../limiter/stores/store'
import { Gateway, restEvent } from '../authorize/gateway'
import { deep, expectAnswer, garbage, hostile, mangled } from '../authorize/mangled'
import { codePoint } from '../code-point'
import { FakeClock, FakeLog, FakeTable } from '../config-table/fake-table'

/** Every source of identity, every way of counting, a global policy and routes. */
const EVERYTHING = parseTiersFile(
  {
    settings: {
      trustedHeaders: ['x-forwarded-for', 'user-agent'],
      identity: [
        'api-key',
        'api-gateway-key',
        { source: 'jwt', issuer: 'https://issuer.invalid', audience: 'api' },
        'client-certificate',
        { source: 'header', name: 'x-user', trusted: true, as: 'user', lookup: true },
        { source: 'query', name: 'q', trusted: true },
        { source: 'path', name: 'proxy', trusted: true },
        { source: 'ip', trustedHops: 1, viewerAddress: true },
      ],
    },
    tiers: {
      anonymous: { by: 'ip', policies: [{ name: 'a', limit: 9, window: '1m' }] },
      free: { policies: [{ name: 'b', limit: 9, window: '1m', by: ['user', 'header:user-agent', 'claim:org'] }] },
    },
    routes: { 'ANY /{proxy+}': { policies: [{ name: 'c', limit: 5, window: '1s', by: ['ip', 'route'] }] } },
    global: { policies: [{ name: 'd', limit: 50, window: '1s' }] },
  },
  'fuzz',
)

/** Notes the longest key and forgets the rest. */
class KeyLengths implements StateStore {
  longest = 0
  private readonly store = new MemoryStore({ maxSubjects: 1000 })
  private noted<T>(key: string, then: () => Promise<T>): Promise<T> {
    this.longest = Math.max(this.longest, key.length)
    return then()
  }
  write: StateStore['write'] = (key, write) => this.noted(key, () => this.store.write(key, write))
  read: StateStore['read'] = (key) => this.noted(key, () => this.store.read(key))
  delete: StateStore['delete'] = (key, whileMarks) => this.noted(key, () => this.store.delete(key, whileMarks))
}

/** Sizes of all maps inside an object, however deep. */
function mapSizes(value: unknown, depth = 6): number[] {
  if (typeof value !== 'object' || value === null || depth === 0) return []
  const own = value instanceof Map ? [value.size] : []
  return [...own, ...Object.values(value).flatMap((inner) => mapSizes(inner, depth - 1))]
}

test('100,000 random events: each is answered, no map grows without bound, and no key is longer than its bound', async () => {
  const table = new FakeTable()
  table.answers = () => ({})
  const clock = new FakeClock()
  const log = new FakeLog()
  const clients = new Clients({
    calls: sdkCalls(table.client),
    tableName: 't',
    clock: clock.read,
    ttlMs: 30_000,
    negativeTtlMs: 30_000,
    deadlineMs: 100,
    log: log.write,
  })
  const store = new KeyLengths()
  const parts = { set: EVERYTHING, store, clients, sources: new Sources(lazyVerifiers(clock.read), 100), log: () => {} }
  const gateway = new Gateway(parts)
  const unauthorized = { seen: 0 }
  let slowest = 0
  const headers = fc.dictionary(
    fc.constantFrom(
      'x-api-key',
      'authorization',
      'x-user',
      'X-Forwarded-For',
      'User-Agent',
      'CloudFront-Viewer-Address',
    ),
    fc.string({ unit: codePoint, maxLength: 300 }),
  )
  const event = fc.oneof(
    mangled,
    garbage,
    hostile,
    fc.record({ headers, query: fc.option(fc.dictionary(fc.string(), fc.string())) }).map(({ headers, query }) => ({
      ...restEvent(),
      headers,
      multiValueHeaders: undefined,
      queryStringParameters: query,
      multiValueQueryStringParameters: undefined,
      pathParameters: { proxy: headers['x-user'] },
    })),
  )
  for (let round = 0; round < 10; round++) {
    await fc.assert(
      fc.asyncProperty(event, async (one) => {
        const startedAt = performance.now()
        try {
          expectAnswer(await gateway.authorize(one))
        } catch (error) {
          if ((error as Error).message !== 'Unauthorized') throw error
          unauthorized.seen++
        }
        slowest = Math.max(slowest, performance.now() - startedAt)
      }),
      { numRuns: 10_000 },
    )
    clock.now += 61_000
  }
  expect(slowest).toBeLessThan(1000) // a few milliseconds, but for the machine's own pauses
  expect(({} as Record<string, unknown>).value).toBeUndefined()
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(store.longest).toBeGreaterThan(40)
  expect(store.longest).toBeLessThanOrEqual(60)
  for (const size of [...mapSizes(clients), ...mapSizes(gateway)]) expect(size).toBeLessThanOrEqual(50_000)
}, 600_000)

test('claims of any depth and under any names make one caller, in bounded time', async () => {
  const anything = fc.oneof(fc.anything({ maxDepth: 4 }), fc.constantFrom(1, 10, 1000, 20_000).map(deep))
  const claims = fc.dictionary(
    fc.oneof(fc.constantFrom('sub', 'org', 'tier', 'scope', '__proto__', 'constructor'), fc.string()),
    anything,
    { maxKeys: 6 },
  )
  let said: Record<string, unknown> = {}
  const tokens = () => ({ verify: async () => ({ kind: 'valid', claims: said }) as const })
  const store = new KeyLengths()
  const gateway = new Gateway({ set: EVERYTHING, store, sources: new Sources(tokens, 100), log: () => {} })
  await fc.assert(
    fc.asyncProperty(claims, fc.boolean(), async (some, named) => {
      said = named ? { ...some, sub: 'somebody' } : some
      const startedAt = performance.now()
      try {
        expectAnswer(
          await gateway.authorize({
            ...restEvent(),
            headers: { authorization: 'Bearer a.b.c' },
            multiValueHeaders: undefined,
          }),
        )
      } catch (error) {
        if ((error as Error).message !== 'Unauthorized') throw error
      }
      expect(performance.now() - startedAt).toBeLessThan(1000)
    }),
    { numRuns: 5000 },
  )
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(store.longest).toBeLessThanOrEqual(60)
}, 300_000)

test('20,000 random items of the config table: each is good or told, and the service keeps what it had', async () => {
  const table = new FakeTable()
  const clock = new FakeClock()
  const log = new FakeLog()
  const sets = new PolicySets({
    calls: sdkCalls(table.client),
    tableName: 't',
    clock: clock.read,
    ttlMs: 1000,
    deadlineMs: 100,
    log: log.write,
  })
  const anonymous = { pk: 'policy-set', sk: 'tier#anonymous', policies: [{ name: 'a', limit: 20, window: '1m' }] }
  const name = fc.oneof(fc.string(), fc.constantFrom('a', 'b', '__proto__', 'constructor'))
  const policy = fc.record(
    {
      name,
      limit: fc.oneof(fc.integer(), fc.double(), fc.constant('60')),
      window: fc.oneof(fc.string(), fc.constantFrom('1m', 'day', '0s', '10000d')),
      algorithm: fc.oneof(fc.string(), fc.constantFrom(...ALGORITHM_NAMES)),
      by: fc.anything({ maxDepth: 1 }),
      burst: fc.integer(),
      buckets: fc.integer(),
    },
    { requiredKeys: ['name', 'limit', 'window'] },
  )
  const sk = fc.oneof(
    fc
      .tuple(fc.constantFrom('tier#', 'route#GET /', 'block#ip#', 'block#client#', 'allow#ip#', 'x#'), name)
      .map((parts) => parts.join('')),
    fc.constantFrom(
      'global',
      'settings',
      'tier#anonymous',
      'block#ip#10.0.0.0/8',
      'block#ip#10.0.0.1/8',
      'route#ANY /*',
    ),
    name,
  )
  const item = fc.record(
    {
      sk,
      policies: fc.oneof(fc.array(policy, { maxLength: 5 }), fc.anything({ maxDepth: 2 })),
      cost: fc.anything({ maxDepth: 1 }),
      identity: fc.anything({ maxDepth: 2 }),
      expiresAt: fc.string(),
    },
    { requiredKeys: ['sk'] },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(item, { minLength: 20, maxLength: 20 }), async (items) => {
      clock.now += 1000
      table.answers = () => ({
        // What DynamoDB can hold at all: no Infinity, no functions.
        Items: [...items, anonymous].map((one) =>
          marshall(JSON.parse(JSON.stringify({ pk: 'policy-set', ...one })), { allowImpreciseNumbers: true }),
        ),
      })
      await sets.current()
      await new Promise((resolve) => setImmediate(resolve))
      const current = await sets.current()
      expect(current!.policies.tiers.has('anonymous')).toBe(true)
      for (const size of mapSizes(sets)) expect(size).toBeLessThanOrEqual(100)
    }),
    { numRuns: 1000 },
  )
  expect(log.entries.length).toBeGreaterThan(1000)
}, 600_000)

describe('made-up keys', () => {
  const flood = () => {
    const table = new FakeTable()
    const asked = { times: 0 }
    const nobody = async () => {
      asked.times++
      return {}
    }
    const clock = new FakeClock()
    const reading = {
      calls: sdkCalls({ send: nobody } as unknown as typeof table.client),
      tableName: 't',
      clock: clock.read,
      deadlineMs: 100,
      log: () => {},
    }
    return { asked, clients: new Clients({ ...reading, ttlMs: 30_000, negativeTtlMs: 30_000 }) }
  }

  it('a million of them are strangers all, looked up once each, in bounded memory', async () => {
    const { asked, clients } = flood()
    const { list } = new Sources(lazyVerifiers(Date.now), 100).of(DEFAULT_SETTINGS)
    const headers = new Map<string, string>()
    const facts = {
      headers,
      query: headers,
      pathParameters: headers,
      sourceIp: undefined,
      apiKeyId: undefined,
      clientCertificate: undefined,
    }
    for (let i = 0; i < 1_000_000; i++) {
      headers.set('x-api-key', `made up ${i}`)
      if ((await identify(facts, list, clients, 0)).kind !== 'anonymous') throw new Error(`key ${i} is somebody`)
    }
    expect(asked.times).toBe(1_000_000)
    for (const size of mapSizes(clients)) expect(size).toBeLessThanOrEqual(10_000)
  }, 300_000)

  it('thousands of them from ten addresses have ten buckets', async () => {
    const { clients } = flood()
    const store = new MemoryStore()
    const gateway = new Gateway({ store, clients })
    const requests = Array.from({ length: 20_000 }, (_, i) => ({ key: `made up ${i}`, ip: `198.51.100.${i % 10}` }))
    expect(await gateway.allowed(requests)).toBe(10 * 20) // the anonymous tier's twenty a minute, for each address
    expect(store.size).toBe(11) // and the one in which the sample counts everybody
  })
})

import { UpdateItemCommand } from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { assembleParts } from '../../lambda/assemble-parts'
import { makeAuthorizer } from '../../lambda/authorize'
import { hashApiKey } from '../../lambda/identity/api-key'
import type { SimpleAnswer } from '../../lambda/responses/answers'
import { makeTelemetry } from '../../lambda/telemetry/telemetry'
import { systemClock } from '../../limiter/clock'
import { ConfigError } from '../../limiter/errors'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { createTieredLimiter, type TieredLimiter, type TieredLimiterOptions, type TieredRequest } from '../../tiered'
import { createConfigTable } from '../../tiered/create-config-table'
import { ENGINES, type OpenEngine, openEngine, TABLE } from '../stores'

const CONFIG = 'config-under-test'
const POLICIES = [
  { name: 'per-hour', limit: 3, window: '1h' },
  { name: 'tokens', limit: 100, window: '1h', cost: 'tokens' },
]
const ITEMS: Readonly<Record<string, unknown>>[] = [
  { pk: 'policy-set', sk: 'tier#anonymous', by: 'ip', policies: [{ name: 'per-hour', limit: 2, window: '1h' }] },
  { pk: 'policy-set', sk: 'tier#free', policies: POLICIES },
  { pk: 'policy-set', sk: 'route#GET /reports', cost: { query: 'rows', max: 2 } },
  { pk: 'policy-set', sk: 'settings', identity: ['api-key', { source: 'ip' }], defaultTier: 'free' },
  { pk: 'policy-set', sk: 'block#ip#198.51.100.9/32'.replace('/32', '') },
  { pk: `client#${hashApiKey('a key')}`, sk: 'client', id: 'acme', tier: 'free' },
]

describe.each(ENGINES)('on %s', (engine) => {
  let opened: OpenEngine
  let limiter: TieredLimiter
  const lines: string[] = []
  beforeAll(async () => {
    opened = await openEngine(engine)
    await createConfigTable(opened.client, CONFIG)
    for (const item of ITEMS) {
      const { pk, sk, ...fields } = item
      const names = Object.keys(fields)
      await opened.client.send(
        new UpdateItemCommand({
          TableName: CONFIG,
          Key: marshall({ pk, sk }),
          ...(names.length > 0 && {
            UpdateExpression: `SET ${names.map((_, i) => `#${i} = :${i}`).join()}`,
            ExpressionAttributeNames: Object.fromEntries(names.map((name, i) => [`#${i}`, name])),
            ExpressionAttributeValues: marshall(Object.fromEntries(names.map((name, i) => [`:${i}`, fields[name]]))),
          }),
        }),
      )
    }
    limiter = makeLimiter()
  })
  afterAll(() => opened?.close())

  const makeLimiter = (options: Partial<TieredLimiterOptions> = {}) =>
    createTieredLimiter({
      client: opened.client,
      configTable: CONFIG,
      stateTable: TABLE,
      write: (line) => lines.push(line),
      ...options,
    })
  const hello = { method: 'GET', path: '/hello' }

  test('a client is held to its tier, with the answer that a program passes on', async () => {
    const first = await limiter.decide({ ...hello, apiKey: 'a key' })
    expect(first).toMatchObject({ allowed: true, status: 200, context: { tier: 'free', reason: 'ok', remaining: 2 } })
    expect(first.headers['RateLimit-Policy']).toBe('"per-hour";q=3;w=3600, "tokens";q=100;w=3600')
    expect(first).not.toHaveProperty('body')
    await limiter.decide({ ...hello, apiKey: 'a key', costs: { tokens: 90 } })
    const denied = await limiter.decide({ ...hello, apiKey: 'a key', costs: { tokens: 10 } })
    expect(denied).toMatchObject({ allowed: false, status: 429, context: { policy: 'tokens', reason: 'over-limit' } })
    expect(denied.headers).toMatchObject({
      'Content-Type': 'application/problem+json',
      'Retry-After': expect.stringMatching(/^\d+$/),
      'X-RateLimit-Reason': 'over-limit',
    })
    expect(JSON.parse(denied.body!)).toMatchObject({
      title: 'Too Many Requests',
      status: 429,
      policy: 'tokens',
      limit: 100,
    })
  })

  test('a request of which more was sent than is read costs the most that its route says', async () => {
    const costOf = async (n: number, more: Partial<TieredRequest>) => {
      const report = { method: 'GET', path: '/reports', address: `192.0.2.${n}` }
      return (await limiter.decide({ ...report, ...more })).context.cost
    }
    const long = 'x'.repeat(33_000)
    expect(await costOf(1, { query: { q: 'x'.repeat(30_000), rows: '1' } })).toBe(1)
    expect(await costOf(2, { query: { q: long, rows: '1' } })).toBe(2)
    expect(await costOf(3, { query: { rows: '1', q: [long] } })).toBe(2)
    expect(await costOf(4, { path: '/reports;rows=9', query: { rows: '1' } })).toBe(2)
    expect(await costOf(5, { headers: { accept: long } })).toBe(2)
  })

  test('counts what the authorizer has counted of the same caller, and the other way round', async () => {
    const telemetry = makeTelemetry({ write: (line) => lines.push(line), clock: systemClock })
    const times = { configTtlMs: 30_000, negativeTtlMs: 30_000, deadlineMs: 300, ipv6Prefix: 56 }
    const authorize = makeAuthorizer(
      assembleParts({
        ...times,
        calls: sdkCalls(opened.client),
        configTable: CONFIG,
        stateTable: TABLE,
        failureMode: 'local',
        authentication: 'config',
        telemetry,
        verifierOf: () => ({ verify: async () => ({ kind: 'invalid', why: 'malformed' }) }),
      }),
    )
    const event = {
      version: '2.0',
      routeKey: '$default',
      rawPath: '/hello',
      headers: {},
      requestContext: { stage: '$default', http: { method: 'GET', sourceIp: '203.0.113.50' } },
    }
    expect(await authorize(event)).toMatchObject({ isAuthorized: true } satisfies Partial<SimpleAnswer>)
    const here = () => limiter.decide({ ...hello, address: '203.0.113.50' })
    expect((await here()).context.remaining).toBe(0)
    expect([(await here()).status, await authorize(event)]).toEqual([
      429,
      expect.objectContaining({ isAuthorized: false }),
    ])
  })

  test('a cost replaces that of the route; one of 0 passes uncounted', async () => {
    const from = { ...hello, address: '203.0.113.60' }
    expect(await limiter.decide({ ...from, cost: 0 })).toMatchObject({
      allowed: true,
      context: { reason: 'uncounted' },
      headers: {},
    })
    expect((await limiter.decide({ ...from, cost: 2 })).context).toMatchObject({ remaining: 0, cost: 2 })
    expect((await limiter.decide({ ...from, cost: 3 })).headers['Retry-After']).toBe('31536000') // it never passes
  })

  test('a table that cannot be read verifies nobody: 500, and nothing passes', async () => {
    const away = makeLimiter({ configTable: 'no-such-table' })
    expect(await away.decide({ ...hello, apiKey: 'a key' })).toMatchObject({
      allowed: false,
      status: 500,
      headers: { 'Content-Type': 'application/problem+json' },
      context: { reason: 'unverified' },
    })
    expect(lines.join()).toContain('config_table_unreadable')
    const open = makeLimiter({ configTable: 'no-such-table', authentication: 'none' })
    expect(await open.decide(hello)).toMatchObject({ allowed: true, context: { reason: 'uncounted', degraded: true } })
    const closed = makeLimiter({ configTable: 'no-such-table', authentication: 'none', failureMode: 'deny' })
    expect(await closed.decide(hello)).toMatchObject({ status: 429, context: { reason: 'unavailable' } })
  })

  test('close can be called, and the limiter be used on', async () => {
    await limiter.close()
    expect((await limiter.decide({ ...hello, user: '42' })).context).toMatchObject({ tier: 'free', remaining: 2 })
  })

  test.each([
    [undefined, /request must be an object/],
    [{}, /method is missing.*path is missing/s],
    [{ ...hello, apiKey: 7 }, /apiKey must be a text, got 7/],
    [{ ...hello, user: '' }, /user must be a string of 1 to 256 characters, got ""/],
    [{ ...hello, clientId: 'x'.repeat(257) }, /clientId must be a string of 1 to 256/],
    [{ ...hello, user: '\ud800' }, /user must be/],
    [{ ...hello, apiKey: 'a', user: 'b' }, /one of apiKey, clientId and user, got apiKey and user/],
    [{ ...hello, cost: -1 }, /cost must be an integer from 0, got -1/],
    [{ ...hello, costs: { tokens: 1.5 } }, /costs must be an object of integers from 0/],
    [{ ...hello, headers: [['a', 'b']] }, /headers must be a plain object/],
    [{ ...hello, headers: new Headers({ a: 'b' }) }, /headers must be a plain object/],
    [{ ...hello, adress: '1.2.3.4' }, /unknown field "adress", did you mean "address"/],
  ])('the request %j is a mistake of the program, and is charged nothing', async (request, message) => {
    const decided = limiter.decide(request as unknown as TieredRequest)
    await expect(decided).rejects.toThrow(ConfigError)
    await expect(decided).rejects.toThrow(message)
  })
})

test.each([
  [undefined, /options must be an object/],
  [{}, /configTable is missing.*stateTable is missing/s],
  [{ client: {}, configTable: 'abc', stateTable: 'abd' }, /client must be a DynamoDBClient/],
  [{ failureMode: 'throw' }, /failureMode must be one of local, allow, deny, got "throw"/],
  [{ deadlineMs: 5 }, /deadlineMs must be an integer from 20 to 9000, got 5/],
  [{ tiers: {} }, /store is missing/],
  [{ tables: {} }, /unknown field "tables"/],
])('the options %j are refused', (options, message) => {
  expect(() => createTieredLimiter(options as never)).toThrow(message)
})

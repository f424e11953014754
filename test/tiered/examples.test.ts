import type { ALBEvent, AppSyncAuthorizerEvent, LambdaFunctionURLEvent, SQSEvent } from 'aws-lambda'
import { appSyncAuthorizer } from '../../examples/without-api-gateway/appsync'
import { behindFunctionUrl } from '../../examples/without-api-gateway/function-url'
import { behindLoadBalancer } from '../../examples/without-api-gateway/load-balancer'
import { worker } from '../../examples/without-api-gateway/queue'
import { Plans } from '../../lambda/charge-plans'
import { AccessList } from '../../lambda/config-table/items/access-list'
import type { Client } from '../../lambda/config-table/items/client-item'
import { hashApiKey } from '../../lambda/identity/api-key'
import { Sources } from '../../lambda/identity/sources'
import { RateLimiter } from '../../limiter/rate-limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { tieredLimiter } from '../../tiered/tiered-limiter'
import { FakeClock, FakeLog } from '../config-table/fake-table'
import { setFrom } from '../config-table/scoped'
import { policy } from '../policies/issues'

/** Three for anonymous callers by address, two for clients, of whom one has a key. */
function limiter() {
  const [clock, log] = [new FakeClock(), new FakeLog()]
  const policies = setFrom({
    'tier#anonymous': { by: 'ip', policies: [policy({ limit: 3 })] },
    'tier#free': { policies: [policy({ limit: 2 })] },
    'route#GET /reports': { cost: { query: 'rows', max: 3 } },
    settings: { identity: ['api-key'], defaultTier: 'free' },
  })
  const acme: Client = { id: 'acme', tier: 'free', overrides: {}, disabled: false }
  return tieredLimiter(
    {
      limiter: new RateLimiter({ store: new MemoryStore(), clock: clock.read }),
      configuration: { current: async () => ({ policies, access: new AccessList([]) }) },
      plans: new Plans(log.write),
      sources: new Sources(() => ({ verify: async () => ({ kind: 'invalid', why: 'malformed' }) }), 300),
      clients: { find: async (key) => (key === hashApiKey('a key') ? acme : undefined) },
      clock: clock.read,
      log: log.write,
      ipv6Prefix: 56,
      failOpen: true,
    },
    async () => {},
  )
}

const times = async <Answer>(count: number, ask: () => Promise<Answer>): Promise<Answer[]> => {
  const answers: Answer[] = []
  for (let i = 0; i < count; i++) answers.push(await ask())
  return answers
}
const PROBLEM = { 'Content-Type': 'application/problem+json', 'Retry-After': expect.stringMatching(/^\d+$/) }

test('behind a Function URL, callers count by address or key, and get the whole answer', async () => {
  const handler = behindFunctionUrl(limiter())
  const event = (headers = {}) =>
    ({
      version: '2.0',
      rawPath: '/hello',
      headers,
      requestContext: { http: { method: 'GET', sourceIp: '203.0.113.7' } },
    }) as unknown as LambdaFunctionURLEvent
  const anonymous = await times(4, () => handler(event()))
  expect(anonymous[0]).toMatchObject({ statusCode: 200, body: 'hello', headers: { 'X-RateLimit-Remaining': '2' } })
  expect(anonymous[3]).toMatchObject({ statusCode: 429, headers: PROBLEM })
  const known = await times(3, () => handler(event({ 'x-api-key': 'a key' })))
  expect(known.map((answer) => (answer as { statusCode: number }).statusCode)).toEqual([200, 200, 429])
})

test('behind a load balancer the entry counts that it has added, and none that callers have', async () => {
  const handler = behindLoadBalancer(limiter())
  let made = 0
  const event = (address: string) =>
    ({
      httpMethod: 'GET',
      path: '/hello',
      headers: { 'x-forwarded-for': `10.0.0.${made++}, ${address}` },
    }) as unknown as ALBEvent
  const answers = await times(4, () => handler(event('203.0.113.7')))
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 429])
  expect(answers[3]).toMatchObject({ headers: PROBLEM, body: expect.stringContaining('over-limit') })
  expect((await handler(event('203.0.113.8'))).statusCode).toBe(200)
})

describe('behind a load balancer, whose query is not decoded, a report costs its rows', () => {
  const SINGLE = (query: object) => ({
    headers: { 'x-forwarded-for': '203.0.113.7' },
    queryStringParameters: query,
  })
  const MULTI = (query: object) => ({
    multiValueHeaders: { 'x-forwarded-for': ['10.0.0.1', '10.0.0.2, 203.0.113.7'] },
    multiValueQueryStringParameters: query,
  })
  const remaining = async (event: object) => {
    const answer = await behindLoadBalancer(limiter())({
      httpMethod: 'GET',
      path: '/reports',
      ...event,
    } as unknown as ALBEvent)
    return answer.headers?.['X-RateLimit-Remaining'] ?? answer.multiValueHeaders?.['X-RateLimit-Remaining']?.[0]
  }

  it.each<[string, object, string]>([
    ['1', SINGLE({ rows: '1' }), '2'],
    ['2, encoded', SINGLE({ '%72ows': '%32' }), '1'],
    ['2 beside other parameters', SINGLE({ 'a%20b': '%zz', c: '', rows: '2' }), '1'],
    ['the most in brackets', SINGLE({ '%5Brows%5D': '1' }), '0'],
    ['the most behind a question mark', SINGLE({ '?rows': '1' }), '0'],
    ['the most in two spellings', SINGLE({ rows: '1', '%72ows': '1' }), '0'],
    ['2 with lists', MULTI({ rows: ['2'] }), '1'],
    ['the most for two values', MULTI({ rows: ['1', '2'] }), '0'],
    ['1 for a prototype', MULTI({ __proto__: null, constructor: ['1'], rows: ['1'] }), '2'],
  ])('%s', async (_, event, left) => expect(await remaining(event)).toBe(left))

  it('with lists, the key and the address count, and the answer has lists', async () => {
    const handler = behindLoadBalancer(limiter())
    const event = (address: string, key?: string) =>
      ({
        httpMethod: 'GET',
        path: '/hello',
        multiValueHeaders: { 'x-forwarded-for': [address], ...(key && { 'x-api-key': [key] }) },
      }) as unknown as ALBEvent
    const anonymous = await times(4, () => handler(event('203.0.113.7')))
    expect(anonymous.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 429])
    expect(anonymous[3]!.headers).toBeUndefined()
    expect(anonymous[3]!.multiValueHeaders).toMatchObject({ 'Content-Type': ['application/problem+json'] })
    expect((await handler(event('203.0.113.8'))).statusCode).toBe(200)
    const known = await times(3, () => handler(event('203.0.113.7', 'a key')))
    expect(known.map(({ statusCode }) => statusCode)).toEqual([200, 200, 429])
  })
})

test('an authorizer of AppSync says yes or no, is never cached, and tells resolvers', async () => {
  const handler = appSyncAuthorizer(limiter())
  const event = { authorizationToken: 'a key', requestContext: { apiId: 'abc' } } as AppSyncAuthorizerEvent
  const answers = await times(3, () => handler(event))
  expect(answers.map(({ isAuthorized, ttlOverride }) => [isAuthorized, ttlOverride])).toEqual([
    [true, 0],
    [true, 0],
    [false, 0],
  ])
  expect(answers[0]!.resolverContext).toEqual({
    tier: 'free',
    policy: 'per-minute',
    priority: 'normal',
    remaining: '1',
  })
})

test('a worker leaves messages over the limit in the queue', async () => {
  const worked: string[] = []
  const handler = worker(limiter(), async (body) => void worked.push(body))
  const record = (messageId: string, client: string) => ({
    messageId,
    body: messageId,
    messageAttributes: { client: { stringValue: client } },
  })
  const Records = [record('1', 'acme'), record('2', 'acme'), record('3', 'acme'), record('4', 'other')]
  expect(await handler({ Records } as unknown as SQSEvent)).toEqual({ batchItemFailures: [{ itemIdentifier: '3' }] })
  expect(worked).toEqual(['1', '2', '4'])
})

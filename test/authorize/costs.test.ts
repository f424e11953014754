import fc from 'fast-check'
import { Plans } from '../../lambda/charge-plans'
import type { Client } from '../../lambda/config-table/items/client-item'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { rulesOf } from '../../lambda/rules'
import { StoreUnavailableError } from '../../limiter/errors'
import { RateLimiter } from '../../limiter/rate-limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { runs } from '../runs'
import { Gateway, KEYS, PREFLIGHT, restEvent } from './gateway'

const REQUESTS = { name: 'requests', algorithm: 'fixed-window', limit: 5, window: '1h' }
const TOKENS = { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1h', cost: 'tokens' }
const ROUTES = {
  'POST /chat': { costs: { tokens: 400 } },
  'POST /large': { cost: 2, costs: { tokens: 900 } },
  'GET /by': { costs: { tokens: { query: 'max', default: 10, max: 500 } } },
  'GET /health': { cost: 0, costs: { tokens: 0 } },
  'GET /list': { costs: { tokens: 0 } },
  'GET /refill': { cost: 0, costs: { tokens: 7 } },
}

const setWith = (free: readonly object[] = [REQUESTS, TOKENS], file: object = {}) =>
  parseTiersFile({ tiers: { anonymous: { policies: [] }, free: { policies: free } }, routes: ROUTES, ...file }, 'f')

/** Asks as a client of the tier `free`, and says what counts of it. */
async function ask(gateway: Gateway, request: string, more: object = {}) {
  const [method, path] = request.split(' ') as [string, string]
  const told = await gateway.rest({ method, path, key: KEYS.free, ...more })
  return told as typeof told & { readonly costTokens?: number; readonly costImages?: number }
}

const said = ({ allowed, policy, cost, costTokens }: Awaited<ReturnType<typeof ask>>) => [
  allowed,
  policy,
  cost,
  costTokens,
]

describe('a route with costs by name', () => {
  it('charges each policy its own cost in one write, and the context says how much of each', async () => {
    const gateway = new Gateway({ set: setWith() })
    const write = jest.spyOn(gateway.store, 'write')
    expect(said(await ask(gateway, 'POST /chat'))).toEqual([true, 'requests', 1, 400])
    expect(write).toHaveBeenCalledTimes(1)
    expect(said(await ask(gateway, 'POST /large'))).toEqual([false, 'tokens', 0, 0])
    expect(said(await ask(gateway, 'GET /else'))).toEqual([true, 'requests', 1, 1])
  })

  it('does not ask a policy of which a request takes nothing, nor name it in a header', async () => {
    const gateway = new Gateway({ set: setWith() })
    expect(said(await ask(gateway, 'GET /list'))).toEqual([true, 'requests', 1, 0])
    const refill = await ask(gateway, 'GET /refill')
    expect(said(refill)).toEqual([true, 'tokens', 0, 7])
    expect(refill.rateLimitPolicy).toBe('"tokens";q=1000;w=3600')
    expect(refill.rateLimit).toMatch(/^"tokens";r=993;t=\d+$/)
    expect(await ask(gateway, 'GET /health')).toMatchObject({ reason: 'uncounted', cost: 0, costTokens: 0 })
  })

  it('asks no subject of which it takes nothing', async () => {
    const each = { ...TOKENS, name: 'address', by: 'ip' }
    const gateway = new Gateway({ set: setWith([REQUESTS, each]) })
    const [read, write] = [jest.spyOn(gateway.store, 'read'), jest.spyOn(gateway.store, 'write')]
    await ask(gateway, 'GET /list')
    expect([read.mock.calls.length, write.mock.calls.length]).toEqual([0, 1])
  })

  it('is charged the most of each cost where a path can match several routes', async () => {
    const gateway = new Gateway({
      set: setWith([
        { ...REQUESTS, limit: 50 },
        { ...TOKENS, limit: 9000 },
      ]),
    })
    expect(said(await ask(gateway, 'POST /x/%2e%2e/chat'))).toEqual([true, 'requests', 1, 400])
    const routes = { 'POST /a/*': { cost: 3, costs: { tokens: 5 } }, 'POST /b/*': { costs: { tokens: 90 } } }
    const both = new Gateway({ set: setWith(undefined, { routes }) })
    expect(said(await ask(both, 'POST /a/%2e%2e/b/x'))).toEqual([true, 'requests', 3, 90])
  })

  it.each([
    ['GET /by', '40', 40],
    ['GET /by', '-1', 500],
    ['GET /by', '9999', 500],
    ['GET /by', 'many', 500],
    ['GET /by', undefined, 10],
  ])('takes it from the request: %s, %s', async (request, max, tokens) => {
    const gateway = new Gateway({ set: setWith() })
    const [method, path] = request.split(' ')
    const event = { ...restEvent({ method, path, key: KEYS.free }) }
    const query = max === undefined ? {} : { max: [max] }
    const answer = await gateway.authorize({ ...event, multiValueQueryStringParameters: query })
    expect(answer).toMatchObject({ context: { cost: 1, costTokens: tokens } })
  })

  it('says 0 of each cost that a route names, where nothing is charged', async () => {
    const off = new Gateway({ set: setWith(undefined, { settings: { mode: 'off' } }) })
    expect(said(await ask(off, 'POST /chat'))).toEqual([true, '', 0, 0])
    const required = { anonymous: { policies: [], credentials: 'required' } }
    const none = new Gateway({ set: setWith(undefined, { tiers: required }) })
    expect(await none.http({ method: 'POST', path: '/chat' })).toMatchObject({ reason: 'unauthorized', costTokens: 0 })
  })

  it('says nothing of requests where no policy counts them', async () => {
    const gateway = new Gateway({ set: setWith([TOKENS]) })
    expect(said(await ask(gateway, 'POST /chat'))).toEqual([true, 'tokens', 0, 400])
  })

  it('has a key for a cost that only a policy names', async () => {
    const gateway = new Gateway({ set: setWith([REQUESTS, { ...TOKENS, cost: 'images' }]) })
    expect(await ask(gateway, 'GET /else')).toMatchObject({ cost: 1, costTokens: 0, costImages: 1 })
  })
})

describe('costs by name meet', () => {
  it('observe: what is past a limit that only observes is not charged, and the context says so', async () => {
    const watched = new Gateway({ set: setWith([REQUESTS, { ...TOKENS, action: 'observe' }]) })
    await ask(watched, 'POST /large')
    expect(await ask(watched, 'POST /large')).toMatchObject({ allowed: true, observed: true, cost: 2, costTokens: 0 })
    const all = new Gateway({ set: setWith(undefined, { settings: { mode: 'observe' } }) })
    await ask(all, 'POST /large')
    expect(await ask(all, 'POST /large')).toMatchObject({ allowed: true, observed: true, cost: 2, costTokens: 0 })
    expect(await ask(all, 'POST /large')).toMatchObject({ allowed: true, observed: true, cost: 0, costTokens: 0 })
    expect(said(await ask(all, 'GET /refill'))).toEqual([true, 'tokens', 0, 7])
  })

  it('preflights, which cost one request of their own and nothing by name', async () => {
    const gateway = new Gateway({ set: setWith(undefined, { settings: { preflight: { limit: 2, window: '1h' } } }) })
    const preflight = () => ask(gateway, 'OPTIONS /chat', { headers: PREFLIGHT })
    expect([said(await preflight()), said(await preflight()), said(await preflight())]).toEqual([
      [true, 'preflight', 1, 0],
      [true, 'preflight', 1, 0],
      [false, 'preflight', 0, 0],
    ])
  })

  it('an anonymous caller whose policies by client and by address count one subject', async () => {
    const policies = [REQUESTS, { ...TOKENS, name: 'address', by: 'ip' }]
    const file = { tiers: { anonymous: { policies } }, routes: ROUTES }
    const gateway = new Gateway({ set: parseTiersFile(file, 'f') })
    const write = jest.spyOn(gateway.store, 'write')
    const told = await gateway.rest({ method: 'POST', path: '/chat' })
    expect(told).toMatchObject({ allowed: true, cost: 1, costTokens: 400 })
    expect(write).toHaveBeenCalledTimes(1)
    expect(await gateway.rest({ method: 'POST', path: '/large' })).toMatchObject({ allowed: false, policy: 'address' })
  })

  it('a policy of the same name that counts requests: both are enforced, and share no count', async () => {
    const same = { name: 'each', algorithm: 'fixed-window', window: '1h' }
    const global = { policies: [{ ...same, limit: 2, by: 'client' }] }
    const gateway = new Gateway({ set: setWith([{ ...same, limit: 1000, cost: 'tokens' }], { global }) })
    const told = []
    for (const request of ['POST /chat', 'POST /large', 'POST /chat', 'GET /list'])
      told.push((await ask(gateway, request)).allowed)
    expect(told).toEqual([true, false, true, false])
  })

  it('a shared policy, which is leased, beside one of each client', async () => {
    const global = { policies: [{ ...TOKENS, name: 'all', limit: 100_000 }] }
    const set = setWith([{ ...REQUESTS, limit: 100 }], { global })
    const store = new MemoryStore()
    const gateways = [0, 1].map(() => new Gateway({ set, store }))
    for (let i = 0; i < 20; i++) {
      for (const gateway of gateways) expect(said(await ask(gateway, 'POST /chat'))).toEqual([true, 'requests', 1, 400])
    }
    const late = new Gateway({ set, store })
    const { remaining } = await ask(late, 'GET /refill')
    expect(remaining).toBeLessThanOrEqual(100_000 - 40 * 400 - 7)
  })

  it('the local failure mode: each policy has its local share, and a denial charges neither', async () => {
    const away = async () => {
      throw new StoreUnavailableError('unreachable', 'away')
    }
    const store = { write: away, read: away, delete: away }
    const set = setWith([
      { ...REQUESTS, limit: 50 },
      { ...TOKENS, limit: 5000 },
    ])
    const gateway = new Gateway({ set, store })
    expect(await ask(gateway, 'POST /large')).toMatchObject({ degraded: true, cost: 2, costTokens: 900 })
    expect(said(await ask(gateway, 'POST /large'))).toEqual([false, 'tokens', 0, 0]) // a fifth of 5000
    expect(said(await ask(gateway, 'GET /list'))).toEqual([true, 'requests', 1, 0])
    const allowing = new Gateway({ set, store, onStoreError: 'allow' })
    expect(await ask(allowing, 'POST /large')).toMatchObject({ allowed: true, degraded: true, cost: 0, costTokens: 0 })
    const denying = new Gateway({ set, store, onStoreError: 'deny' })
    expect(await ask(denying, 'POST /large')).toMatchObject({ allowed: false, cost: 0, costTokens: 0 })
  })

  it('a client’s overrides, which replace the numbers and not the cost', () => {
    const set = setWith()
    const client: Client = { id: 'c', tier: 'free', overrides: { tokens: { limit: 9 } }, disabled: false }
    const configuration = { policies: set } as Parameters<Plans['planFor']>[0]
    const plan = new Plans(() => {}).planFor(configuration, set.tiers.get('free'), rulesOf(set, 'GET', '/x'), client)
    const policies = plan.groups.flatMap((group) => group.policies)
    expect(policies.map(({ name, limit, costName }) => [name, limit, costName])).toEqual([
      ['requests', 5, undefined],
      ['tokens', 9, 'tokens'],
    ])
  })
})

it.each(['strict', 'leased', 'eventual'])(
  'several instances admit of each cost at most its limit, whatever requests cost, and what the context says is given back whole: %s',
  (consistency) =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(2), fc.constantFrom(...Object.keys(ROUTES))), { maxLength: 30 }),
        async (requests) => {
          const store = new MemoryStore()
          const set = setWith([REQUESTS, { ...TOKENS, consistency }])
          const gateways = [0, 1, 2].map(() => new Gateway({ set, store }))
          const of = consistency === 'eventual' ? () => gateways[0]! : (i: number) => gateways[i]!
          const used = { cost: 0, costTokens: 0 }
          for (const [i, request] of requests) {
            const { cost, costTokens, allowed, reason } = await ask(of(i), request)
            expect(allowed).toBe(cost + costTokens! > 0 || reason === 'uncounted')
            used.cost += cost
            used.costTokens += costTokens!
          }
          expect(used.cost <= 5 && used.costTokens <= 1000).toBe(true)
          if (consistency !== 'strict') return
          const limiter = new RateLimiter({ store, clock: gateways[0]!.clock.read })
          const configuration = { policies: set } as Parameters<Plans['planFor']>[0]
          const rules = rulesOf(set, 'GET', '/x')
          const { groups } = new Plans(() => {}).planFor(configuration, set.tiers.get('free'), rules)
          const key = [...(store as unknown as { items: Map<string, unknown> }).items.keys()][0]
          if (key === undefined) return
          const charge = { key, policies: groups[0]!.policies, cost: used.cost, costs: { tokens: used.costTokens } }
          await limiter.refund(charge)
          const { policies } = await limiter.peek([{ ...charge, cost: 0, costs: { tokens: 0 } }])
          expect([policies.requests!.remaining, policies.tokens!.remaining]).toEqual([5, 1000])
        },
      ),
      { numRuns: runs(20, 300) },
    ),
)

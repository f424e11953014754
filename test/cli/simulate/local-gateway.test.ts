import { WebSocket } from 'ws'
import { ClientDirectory } from '../../../cli/simulate/decide/known-clients'
import type { Client } from '../../../lambda/config-table/items/client-item'
import { SubjectKeys } from '../../../lambda/config-table/subject-keys'
import { hashApiKey } from '../../../lambda/identity/api-key'
import type { AuthorizerContext } from '../../../lambda/responses/context'
import { StoreUnavailableError } from '../../../limiter/errors'
import { type Charge, RateLimiter } from '../../../limiter/rate-limiter'
import { MemoryStore } from '../../../limiter/stores/memory-store'
import type { StateStore } from '../../../limiter/stores/store'
import { subjectKey } from '../../../limiter/subject-key'
import type { Api } from '../../../local/gateway/api'
import { createBackend } from '../../../local/gateway/backend'
import { startGateway } from '../../../local/gateway/gateway'
import { httpApi } from '../../../local/gateway/http-api'
import { restApi } from '../../../local/gateway/rest-api'
import { CATCH_ALL, routerOf } from '../../../local/gateway/routes'
import { startWebSocketGateway } from '../../../local/web-socket/gateway'
import { routeSelection } from '../../../local/web-socket/route-selection'
import { Gateway, PREFLIGHT } from '../../authorize/gateway'
import { runs } from '../../runs'
import { replay, requestsFrom, setOf, wordOf, wordSaid } from './replayed'

const CLIENTS: readonly Client[] = [
  { id: 'acme', tier: 'free', overrides: { mine: { limit: 5 } }, disabled: false },
  { id: 'bird', tier: 'free', overrides: { mine: { factor: 2, until: 1_700_000_020_000 } }, disabled: false },
  { id: 'gone', tier: 'free', overrides: {}, disabled: true },
  { id: 'lost', tier: 'nowhere', overrides: {}, disabled: false },
]

const SET = setOf(`
settings:
  identity:
    - { source: api-key, header: x-api-key }
    - { source: header, name: X-User, trusted: true, as: user, tier: pro }
    - { source: ip, trustedHops: 1 }
  defaultTier: free
  preflight: { limit: 3, window: 10s }
tiers:
  anonymous: { by: ip, policies: [{ name: per-minute, limit: 8, window: 1m }] }
  free:
    policies:
      - { name: mine, limit: 12, window: 1m }
      - { name: bucket, algorithm: token-bucket, limit: 30, window: 1m, burst: 6 }
  pro: { policies: [{ name: mine, limit: 25, window: 1m, blockFor: 5s, after: 3 }] }
routes:
  "POST /batch": { cost: 5 }
  "GET /search": { policies: [{ name: search, limit: 2, window: 1s, by: [client, route] }] }
  "/closed": { credentials: required }
global: { policies: [{ name: everybody, by: api, limit: 90, window: 1m, consistency: strict }] }
`)

const KNOWN = {
  clients: new ClientDirectory(
    CLIENTS.map(({ id, ...fields }) => {
      const item = { pk: `client#${hashApiKey(id)}`, sk: 'client', id, ...fields, overrides: written(fields.overrides) }
      return { item, exact: item } as never
    }),
    new SubjectKeys(),
  ),
  addressInHeader: true,
}

function written(overrides: Client['overrides']) {
  const all = Object.entries(overrides).map(([name, { until, ...numbers }]) => [
    name,
    { ...numbers, ...(until !== undefined && { until: new Date(until).toISOString() }) },
  ])
  return Object.fromEntries(all)
}

/** The real authorizer behind a local gateway whose clock stands still, and what it said. */
function authorizer(store: StateStore = new MemoryStore()) {
  const clients = { find: async (hash: string) => CLIENTS.find(({ id }) => hashApiKey(id) === hash) }
  const real = new Gateway({ set: SET, clients, store, onStoreError: 'allow', wait: async () => {} })
  const said: string[] = []
  const authorize = async (event: object) => {
    const answer = await real.authorize(event).catch((error: Error) => {
      said.push('unauthorized')
      throw error
    })
    said.push(wordSaid((answer as { readonly context: AuthorizerContext }).context))
    return answer
  }
  return { authorize, said, clock: real.clock }
}

async function open(api: Api, options: Partial<Parameters<typeof startGateway>[0]> = {}, store?: StateStore) {
  const { authorize, said, clock } = authorizer(store)
  const lines: string[] = []
  const gateway = await startGateway({
    ...{ api, authorize, backend: createBackend(), port: 0, log: () => {}, clock: clock.read },
    accessLog: (line) => lines.push(line),
    ...options,
  })
  const url = `http://localhost:${gateway.port}`
  const get = (path: string, init: RequestInit = {}) => fetch(`${url}${path}`, init).then((it) => it.arrayBuffer())
  return { url, get, said, clock, lines, close: () => gateway.close(0) }
}

function seeded(seed: number) {
  let state = seed
  return (most: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * most)
  }
}

describe('what the local gateway logs, replayed', () => {
  it.each([
    ['a REST API', restApi, {}],
    [
      'a REST API of its own routes',
      restApi,
      {
        router: routerOf(
          [
            { method: 'GET', resource: '/hello', resourceId: 'a' },
            { method: 'OPTIONS', resource: '/hello', resourceId: 'b' },
            { method: 'GET', resource: '/search', resourceId: 'c' },
          ],
          true,
        ),
      },
    ],
    ['an HTTP API', httpApi, { router: routerOf(CATCH_ALL, false) }],
  ] as const)('decides each request of %s as the authorizer did', async (_, api, options) => {
    const { get, said, clock, lines, close } = await open(api, options)
    const next = seeded(7)
    for (let i = 0; i < runs(120, 2000); i++) {
      clock.now += next(8) === 0 ? next(4000) : next(60)
      const key = [undefined, undefined, 'unknown', ...CLIENTS.map(({ id }) => id)][next(7)]
      const isPreflight = next(12) === 0
      const headers = {
        'x-forwarded-for': `198.51.100.${next(3)}`,
        ...(key !== undefined && { 'x-api-key': key }),
        ...(next(6) === 0 && { 'x-user': `u${next(2)}` }),
        ...(isPreflight && PREFLIGHT),
      }
      const path = ['/hello', '/search?q=1', '/batch', '/closed', '/%2e%2e/search', '/a"b', '/nowhere/at/all'][next(7)]!
      const method = isPreflight ? 'OPTIONS' : path === '/batch' ? 'POST' : 'GET'
      await get(path, { method, headers })
    }
    await close()
    const { decided } = await replay(requestsFrom(lines, SET), SET, KNOWN)
    expect(decided.map(wordOf)).toEqual(said)
    expect(new Set(said).size).toBeGreaterThan(4)
    expect(lines.length).toBe(runs(120, 2000))
    expect(lines.join()).not.toContain('acme')
  })
})

describe('what the local gateway logs of WebSockets, replayed', () => {
  it('decides each connection as the authorizer did, and no message', async () => {
    const { authorize, said, clock } = authorizer()
    const lines: string[] = []
    const gateway = await startWebSocketGateway({
      ...{ authorize, port: 0, log: () => {}, clock: clock.read, accessLog: (line) => lines.push(line) },
      backend: async () => ({ statusCode: 200, body: 'heard' }),
      selectRoute: routeSelection('$request.body.action', []),
    })
    for (const key of ['acme', 'gone', ...Array<string>(7).fill('acme'), 'unknown']) {
      clock.now += 500
      const headers = { 'x-api-key': key, 'x-forwarded-for': '198.51.100.1' }
      const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/local`, { headers })
      await new Promise<void>((resolve) => {
        socket.on('open', () => socket.send('hello'))
        socket.on('message', () => socket.close())
        socket.on('error', () => {})
        socket.on('close', () => resolve())
      })
    }
    await gateway.close(0)
    const { decided, simulation } = await replay(requestsFrom(lines, SET), SET, KNOWN)
    expect(decided.map(wordOf)).toEqual(said)
    expect(new Set(said)).toEqual(
      new Set(['ok in free', 'unauthorized', 'over-limit by mine in free', 'ok in anonymous']),
    )
    expect(simulation.unknowns.messages).toBeGreaterThanOrEqual(6)
  })
})

describe('what a log does not tell', () => {
  const LIMIT = 12
  const ask = { headers: { 'x-api-key': 'bird', 'x-forwarded-for': '198.51.100.1' } }

  it('without DynamoDB requests are let in uncounted: the replay denies as many more at most', async () => {
    const store = new MemoryStore()
    const answers = { isAway: false }
    const flaky = new Proxy(store, {
      get: (of, name) => {
        const method = Reflect.get(of, name) as unknown
        if (typeof method !== 'function') return method
        return (...args: unknown[]) => {
          if (answers.isAway) throw new StoreUnavailableError('timeout', 'away')
          return method.apply(of, args)
        }
      },
    })
    const { get, said, clock, lines, close } = await open(restApi, {}, flaky)
    clock.now = 1_700_000_040_000 // when the client's own limit has ended
    for (let i = 0; i < LIMIT + 8; i++) {
      answers.isAway = i >= 4 && i < 9
      clock.now += 2000
      await get('/hello', ask)
    }
    await close()
    const { decided } = await replay(requestsFrom(lines, SET), SET, KNOWN)
    const degraded = lines.filter((line) => line.includes('"cost":"0","allowed":"true"')).length
    expect(degraded).toBeGreaterThanOrEqual(5)
    expect(decided.slice(0, 4).map(wordOf)).toEqual(said.slice(0, 4))
    const [denied, deniedThen] = [decided.map(wordOf), said].map(
      (words) => words.filter((it) => /^over/.test(it)).length,
    )
    expect(denied).toBeGreaterThan(deniedThen!)
    expect(denied).toBeLessThanOrEqual(deniedThen! + degraded)
  })

  it('refunded units are free again: the replay denies as many more at most', async () => {
    const store = new MemoryStore()
    const { get, said, clock, lines, close } = await open(restApi, {}, store)
    clock.now = 1_700_000_040_000
    const limiter = new RateLimiter({ store, clock: clock.read })
    for (let i = 0; i < LIMIT + 8; i++) {
      if (i === 6) {
        const { decided } = await replay(requestsFrom(lines, SET), SET, KNOWN)
        const charges = decided[0]!.prepared.charges as readonly Charge[]
        const charge = charges.find(({ key }) => key === 'client:bird')!
        await limiter.refund({ ...charge, key: subjectKey('client:bird'), cost: 3 }, { chargedAt: clock.now })
      }
      clock.now += 2000
      await get('/hello', ask)
    }
    await close()
    const { decided } = await replay(requestsFrom(lines, SET), SET, KNOWN)
    const [denied, deniedThen] = [decided.map(wordOf), said].map(
      (words) => words.filter((it) => /^over/.test(it)).length,
    )
    expect(denied).toBe(deniedThen! + 3)
  })
})

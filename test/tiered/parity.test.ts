import fc from 'fast-check'
import { makeAuthorizer } from '../../lambda/authorize'
import type { AuthorizerParts } from '../../lambda/authorizer-parts'
import { Plans } from '../../lambda/charge-plans'
import { AccessList, strictBlock } from '../../lambda/config-table/items/access-list'
import type { Client } from '../../lambda/config-table/items/client-item'
import { hashApiKey } from '../../lambda/identity/api-key'
import { Sources } from '../../lambda/identity/sources'
import type { SimpleAnswer } from '../../lambda/responses/answers'
import { StoreUnavailableError } from '../../limiter/errors'
import { RateLimiter } from '../../limiter/rate-limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import type { TieredDecision } from '../../tiered/tiered-decision'
import { tieredLimiter } from '../../tiered/tiered-limiter'
import type { TieredRequest } from '../../tiered/tiered-request'
import { FakeClock, FakeLog } from '../config-table/fake-table'
import { setFrom } from '../config-table/scoped'
import { policy } from '../policies/issues'
import { runs } from '../runs'

const TRUSTED = [
  { source: 'header', name: 'X-Client', trusted: true, as: 'client', lookup: true },
  { source: 'header', name: 'X-User', trusted: true, as: 'user', lookup: true },
]
const SETTINGS = {
  identity: ['api-key', ...TRUSTED, { source: 'ip' }],
  defaultTier: 'free',
  trustedHeaders: ['x-team'],
}
const ITEMS = {
  'tier#anonymous': { by: 'ip', policies: [policy({ limit: 6 })] },
  'tier#free': {
    policies: [policy({ limit: 8 }), policy({ name: 'tokens', limit: 60, cost: 'tokens' })],
    failureMode: 'allow',
  },
  'tier#free @shop': { apis: ['shop'], policies: [policy({ limit: 3 })] },
  'tier#pro': { policies: [policy({ limit: 12, algorithm: 'token-bucket' })], failureMode: 'deny' },
  'tier#closed': { credentials: 'required', policies: [policy({ limit: 5 })] },
  'route#GET /export': { cost: 3, costs: { tokens: { query: 'limit', default: 5, max: 50 } } },
  'route#GET /private': { credentials: 'required' },
  'route#GET /health': { cost: 0 },
  'route#GET /teams': { policies: [policy({ name: 'team', limit: 4, by: 'header:x-team' })] },
  'route#GET /observed': { policies: [policy({ name: 'watch', limit: 1, action: 'observe' })] },
  'route#GET /low': { policies: [policy({ name: 'low', limit: 1, action: 'deprioritize' })] },
  global: { policies: [policy({ name: 'all', limit: 40, by: 'global', consistency: 'strict' })] },
}
const client = (id: string, tier: string, more: Partial<Client> = {}): Client => ({
  id,
  tier,
  overrides: {},
  disabled: false,
  ...more,
})
const CLIENTS = new Map<string, Client>([
  [hashApiKey('free key'), client('acme', 'free')],
  [hashApiKey('pro key'), client('pro', 'pro', { overrides: { 'per-minute': { limit: 9 } } })],
  [hashApiKey('blocked key'), client('blocked', 'pro')],
  [hashApiKey('disabled key'), client('off', 'pro', { disabled: true })],
  [hashApiKey('lost tier'), client('lost', 'gone')],
  ['client:partner', client('partner', 'pro')],
  ['client:blocked', client('blocked', 'free')],
  ['user:42', client('user-42', 'pro')],
])
const NO_TOKENS = () => ({ verify: async () => ({ kind: 'invalid', why: 'malformed' }) as const })
const ACCESS = [strictBlock('client#blocked')!, strictBlock('ip#198.51.100.0/24')!]

/** What is the matter with the deployment. */
const TROUBLES = ['none', 'state table away', 'config never read', 'clients unavailable'] as const

interface Place {
  readonly mode: 'enforce' | 'observe' | 'off'
  readonly trouble: (typeof TROUBLES)[number]
  readonly authentication: 'config' | 'none'
}

/** An HTTP API's authorizer and a tiered limiter, of the same configuration, each with a state table of its own. */
function world({ mode, trouble, authentication }: Place) {
  const clock = new FakeClock()
  const items = authentication === 'none' ? openItems() : ITEMS
  const policies = setFrom({ settings: { ...SETTINGS, mode }, ...items })
  const configuration = trouble === 'config never read' ? undefined : { policies, access: new AccessList(ACCESS) }
  const parts = (): AuthorizerParts & { readonly limiter: RateLimiter } => {
    const log = new FakeLog()
    const store = new MemoryStore()
    const fails = async () => {
      throw new StoreUnavailableError('unreachable', 'no connection')
    }
    if (trouble === 'state table away') Object.assign(store, { write: fails, read: fails })
    return {
      limiter: new RateLimiter({ store, clock: clock.read }),
      configuration: { current: async () => configuration },
      plans: new Plans(log.write),
      sources: new Sources(NO_TOKENS, 300),
      clients: { find: async (key) => (trouble === 'clients unavailable' ? 'unavailable' : CLIENTS.get(key)) },
      clock: clock.read,
      log: log.write,
      ipv6Prefix: 56,
      authentication,
      failOpen: true,
    }
  }
  return { clock, authorize: makeAuthorizer(parts()), tiered: tieredLimiter(parts(), async () => {}) }
}

/** Of a deployment that verifies nobody. */
function openItems() {
  const { 'tier#closed': _, 'route#GET /private': __, ...open } = ITEMS
  return open
}

/** The request as an HTTP API tells its authorizer of it. */
function eventOf({ method, path, address, apiKey, clientId, user, headers, query, apiId, stage }: TieredRequest) {
  const shown = {
    ...headers,
    ...(apiKey !== undefined && { 'x-api-key': apiKey }),
    ...(clientId !== undefined && { 'x-client': clientId }),
    ...(user !== undefined && { 'x-user': user }),
  }
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: stage === undefined || !path.startsWith('/') ? path : `/${stage}${path}`,
    headers: shown,
    queryStringParameters: query,
    requestContext: {
      apiId,
      stage,
      domainName: 'a.execute-api.us-east-1.amazonaws.com',
      http: { method, sourceIp: address },
    },
  }
}

const request = fc
  .record({
    method: fc.constantFrom('GET', 'GET', 'get', 'POST', 'OPTIONS', 'HEAD', 'B@D METHOD'),
    path: fc.constantFrom(
      ...['/', '/hello', '/export', '/Export', '//export', '/%65xport', '/a/../export', '/export;v=1', '/export/'],
      ...['/private', '/health', '/teams', '/observed', '/low', '/{export}', '/\0', 'export', `/${'%2525'.repeat(90)}`],
    ),
    caller: fc.oneof(
      fc.constant({}),
      fc.record({
        apiKey: fc.constantFrom(
          'free key',
          'free key',
          'pro key',
          'blocked key',
          'disabled key',
          'lost tier',
          'made up',
          '',
          'x'.repeat(600),
        ),
      }),
      fc.record({ clientId: fc.constantFrom('partner', 'partner', 'blocked', 'nobody') }),
      fc.record({ user: fc.constantFrom('42', '7', '7', 'ä') }),
    ),
    address: fc.constantFrom(
      undefined,
      '203.0.113.1',
      '::ffff:203.0.113.1',
      '2001:db8::1',
      '2001:db8::2',
      '198.51.100.9',
      'none',
    ),
    headers: fc.constantFrom(
      undefined,
      {},
      { 'x-team': 'a' },
      { 'x-team': ['a', 'b'] },
      {
        origin: 'https://a.example',
        'Access-Control-Request-Method': 'GET',
      },
    ),
    query: fc.constantFrom(undefined, {}, { limit: '20' }, { limit: '1', Limit: '2' }),
    place: fc.constantFrom({}, {}, { apiId: 'shop', stage: 'prod' }, { apiId: 'cart', stage: 'dev' }),
  })
  .map(({ caller, place, ...rest }): TieredRequest => ({ ...rest, ...caller, ...place }))

const places = fc.record({
  mode: fc.constantFrom<Place['mode']>('enforce', 'enforce', 'enforce', 'observe', 'off'),
  trouble: fc.constantFrom<Place['trouble']>('none', 'none', ...TROUBLES),
  authentication: fc.constantFrom<Place['authentication']>('config', 'config', 'none'),
})

test('decides as the authorizer, whatever is asked and whatever is the matter', async () => {
  const reasons = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      places,
      fc.array(fc.tuple(request, fc.nat(20_000)), { minLength: 20, maxLength: 40 }),
      async (place, all) => {
        const { clock, authorize, tiered } = world(place)
        for (const [asked, ms] of all) {
          clock.now += ms
          const { context } = (await authorize(eventOf(asked))) as SimpleAnswer
          const decision = await tiered.decide(asked)
          expect([asked, decision.allowed, decision.context]).toEqual([asked, context.allowed, context])
          expect(decision.status).toBe(statusOf(decision))
          reasons.add(context.reason)
        }
      },
    ),
    { numRuns: runs(45, 600) },
  )
  const all = [
    'ok',
    'over-limit',
    'degraded',
    'unavailable',
    'uncounted',
    'blocked',
    'unauthorized',
    'unverified',
    'malformed',
  ]
  expect([...reasons].sort()).toEqual(all.sort())
})

const statusOf = ({ allowed, context: { reason } }: TieredDecision) =>
  allowed ? 200 : reason === 'unauthorized' ? 401 : reason === 'unverified' ? 500 : 429

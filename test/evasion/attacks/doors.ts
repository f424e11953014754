import { marshall } from '@aws-sdk/util-dynamodb'
import { PolicySets } from '../../../lambda/config-table/configuration'
import { makeTelemetry } from '../../../lambda/telemetry/telemetry'
import { UpstreamAuthorizer } from '../../../lambda/upstream/upstream-authorizer'
import { StoreUnavailableError } from '../../../limiter/errors'
import { RateLimiter } from '../../../limiter/rate-limiter'
import { MemoryStore } from '../../../limiter/stores/memory-store'
import { sdkCalls } from '../../../limiter/stores/sdk-calls'
import type { Attack, World } from '../attack'
import { limit } from '../rules'

const PATH = { path: '/anything' }
const BAD_TOKEN = { ...PATH, headers: { Authorization: 'Bearer x.y.z' } }
const TIER = { by: 'ip', policies: [limit('per-hour', 10)] }

/** A new instance, before a config table that answers this. */
const newInstance =
  (answer: () => unknown): NonNullable<Attack['world']> =>
  () => {
    const clock = () => 1_785_944_274_000
    const calls = sdkCalls({ send: async () => answer() } as never)
    return {
      parts: {
        configuration: new PolicySets({ calls, tableName: 't', clock, log: () => {}, ttlMs: 30_000, deadlineMs: 100 }),
      },
    }
  }

const items = (...some: readonly object[]) =>
  newInstance(() => ({ Items: some.map((one) => marshall({ pk: 'policy-set', ...one })) }))

const anonymous = (more: object = {}) => ({ sk: 'tier#anonymous', ...TIER, ...more })
const HOPS = { sk: 'settings', identity: [{ source: 'ip', trustedHops: 1 }] }
const JWT = { source: 'jwt', issuer: 'https://issuer.example', audience: 'api' }

function throttled(): never {
  throw Object.assign(new Error(), { name: 'ThrottlingException' })
}

/** A state table that gives one answer to everything. */
function failing(reason: StoreUnavailableError['reason']) {
  const fail = async () => {
    throw new StoreUnavailableError(reason, reason)
  }
  return { write: fail, read: fail, delete: fail }
}

/** Counts the lines that an authorizer with these parts writes. */
function lines(parts: World['parts']): World {
  const written: string[] = []
  const telemetry = makeTelemetry({
    write: (line) => void written.push(line),
    clock: Date.now,
    flushMs: 3_600_000,
    level: 'info',
  })
  return {
    parts: { ...parts, log: telemetry.log, telemetry },
    counted: () => written.filter((line) => 'message' in JSON.parse(line)).length,
  }
}

/** A second passes from one request to the next. */
function ticking({ parts }: World): World {
  let seconds = 0
  const clock = () => 1_785_944_274_000 + 1000 * seconds
  const current = () => {
    seconds++
    return parts.configuration!.current()
  }
  return {
    parts: {
      ...parts,
      clock,
      configuration: { current },
      limiter: new RateLimiter({ store: new MemoryStore(), clock }),
    },
  }
}

const door = (tried: string, now: string, world: NonNullable<Attack['world']>, more: Partial<Attack> = {}): Attack => ({
  about: 'Doors that open when unsure',
  tried,
  sends: PATH,
  world,
  passes: 0,
  now,
  ...more,
})

const REFUSED = 'unverified callers are refused'

const throwing = () =>
  new UpstreamAuthorizer({
    invoke: async () => ({ error: 'Invalid token' }),
    clock: Date.now,
    deadlineMs: 100,
    ttlMs: 0,
    cacheHeaders: [],
  })

export const DOORS: readonly Attack[] = [
  door('a new instance that cannot read the config table', REFUSED, newInstance(throttled)),
  door(
    'a mistake in the anonymous tier, at a new instance',
    REFUSED,
    items(anonymous({ policies: [limit('a', '10' as never)] })),
  ),
  door(
    'a mistake in a route that requires credentials',
    REFUSED,
    items(anonymous({ policies: [] }), { sk: 'route#ANY /anything', credentials: 'required', cost: '1' }),
  ),
  door(
    'a mistake in the settings, and a bad token',
    REFUSED,
    items(anonymous(), { sk: 'settings', identity: [{ source: 'jwt', issuer: JWT.issuer }] }),
    { sends: BAD_TOKEN },
  ),
  door(
    'a mistake in an address’s block',
    'blocked all the same',
    items(anonymous({ policies: [] }), HOPS, { sk: 'block#ip#192.0.2.66', expiresAt: 'never' }),
    { blocked: true },
  ),
  door(
    'a policy set with too many items',
    REFUSED,
    items(anonymous(), ...Array.from({ length: 5001 }, (_, i) => ({ sk: `tier#t${i}`, ...TIER }))),
  ),
  door(
    'two policies that happen to share an attribute prefix',
    'reported; counted apart',
    items(anonymous({ policies: ['p1354', 'p1895'].map((name) => ({ name, limit: 10, window: '1m' })) })),
    { passes: 10 },
  ),
  door(
    'the same, of two routes by turns',
    'counted apart',
    () =>
      ticking(
        items(
          anonymous({ policies: [] }),
          {
            sk: 'route#GET /a',
            by: 'ip',
            policies: [{ ...limit('p268', 5), algorithm: 'fixed-window', window: '1d' }],
          },
          {
            sk: 'route#GET /b',
            by: 'ip',
            policies: [{ ...limit('p1731', 1000), algorithm: 'fixed-window', window: '1s' }],
          },
        )(),
      ),
    { sends: (n) => ({ path: n % 2 ? '/a' : '/b' }), passes: 20 },
  ),
  door(
    'a tier’s policy of ten, and a global one of its name with a thousand',
    'the stricter applies',
    items(anonymous({ policies: [{ ...limit('same', 10), by: 'ip' }] }), {
      sk: 'global',
      by: 'ip',
      policies: [limit('same', 1000)],
    }),
    { passes: 10 },
  ),
  door(
    'two routes for the same requests',
    'both apply',
    items(
      anonymous(),
      { sk: 'route#GET /anything' },
      { sk: 'route#GET /anything/', cost: 5 },
      { sk: 'tier#free @shop', apis: ['shop'], policies: [] },
    ),
    { passes: 2 },
  ),
  ...(['refused', 'missing-table'] as const).map((reason) =>
    door(
      `a tier that denies without the state table, whose answer is \`${reason}\``,
      'the tier’s failure mode holds',
      () => ({ parts: { store: failing(reason) } }),
      { rules: { tiers: { anonymous: { ...TIER, failureMode: 'deny' } } } },
    ),
  ),
  door(
    'a token at which the upstream authorizer fails',
    REFUSED,
    () => ({ parts: { upstream: throwing(), store: new MemoryStore() } }),
    {},
  ),
  door(
    'endless requests while the state table is unreachable',
    'the log is sampled',
    () => lines({ store: failing('timeout') }),
    {
      times: 500,
      counts: 'lines of the log',
      passes: 4,
    },
  ),
  door(
    'endless tokens that make the upstream authorizer fail',
    'the log is sampled',
    () => lines({ upstream: throwing() }),
    {
      times: 500,
      counts: 'lines of the log',
      passes: 4,
    },
  ),
]

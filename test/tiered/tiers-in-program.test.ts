import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ConfigError, StoreUnavailableError } from '../../limiter/errors'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { createTieredLimiter, type TieredDecision, type TieredLimiter, type TiersInProgram } from '../../tiered'
import { ENGINES, openEngine, TABLE } from '../stores'

const perHour = (limit: number) => ({ name: 'per-hour', limit, window: '1h' })
const TIERS = {
  anonymous: { by: 'ip', policies: [perHour(1)] },
  free: { policies: [perHour(2)] },
  pro: { policies: [perHour(3)] },
}
const FILE = {
  settings: { defaultTier: 'free' },
  tiers: TIERS,
  routes: { 'GET /health': { cost: 0 }, 'POST /export': { cost: 2 } },
}
const GET = { method: 'GET', path: '/' }

const made: TieredLimiter[] = []
afterEach(async () => {
  await Promise.all(made.splice(0).map((limiter) => limiter.close()))
})
const limiterOf = (options: Partial<TiersInProgram> = {}): TieredLimiter => {
  const limiter = createTieredLimiter({ tiers: TIERS, store: new MemoryStore(), write: () => {}, ...options })
  made.push(limiter)
  return limiter
}
const saidOf = ({ status, context: { tier, remaining } }: TieredDecision) => [status, tier, remaining]

test('callers are held to the tier that the program names, and anonymous ones to theirs, by address', async () => {
  const limiter = limiterOf()
  const decide = async (caller: object) => saidOf(await limiter.decide({ ...GET, address: '192.0.2.1', ...caller }))
  const acme = { clientId: 'acme', tier: 'pro' }
  expect([await decide(acme), await decide(acme), await decide(acme)]).toEqual([
    [200, 'pro', 2],
    [200, 'pro', 1],
    [200, 'pro', 0],
  ])
  expect(await decide(acme)).toEqual([429, 'pro', 0])
  expect(await decide({ user: 'acme', tier: 'free' })).toEqual([200, 'free', 1])
  expect([await decide({}), await decide({})]).toEqual([
    [200, 'anonymous', 0],
    [429, 'anonymous', 0],
  ])
  expect(await decide({ address: '192.0.2.2' })).toEqual([200, 'anonymous', 0])
  expect(await decide({ apiKey: 'made up' })).toEqual([429, 'anonymous', 0])
})

test('an unknown tier is the default one, and without that the anonymous one, of the caller itself', async () => {
  const typo = { ...GET, clientId: 'acme', tier: 'prro' }
  expect(saidOf(await limiterOf().decide(typo))).toEqual([200, 'anonymous', 0])
  expect(saidOf(await limiterOf({ tiers: FILE }).decide(typo))).toEqual([200, 'free', 1])
})

test('a parsed file has its routes and settings too', async () => {
  const limiter = limiterOf({ tiers: FILE })
  const acme = { clientId: 'acme', tier: 'pro' }
  expect(saidOf(await limiter.decide({ method: 'POST', path: '/export', ...acme }))).toEqual([200, 'pro', 1])
  expect((await limiter.decide({ method: 'GET', path: '/health', ...acme })).context.reason).toBe('uncounted')
  const starter = parse(readFileSync(join(__dirname, '../../examples/http-api/tiers.yaml'), 'utf8')) as object
  expect((await limiterOf({ tiers: { ...starter } }).decide({ ...GET, path: '/news' })).allowed).toBe(true)
})

test('mistakes in tiers and options are all found when it is made', () => {
  const wrong: Partial<TiersInProgram> = {
    tiers: { free: { policies: [perHour(0)] } },
    store: {} as never,
    failureMode: 'maybe' as never,
    hmacKey: 'short',
  }
  const error = (() => {
    try {
      limiterOf(wrong)
    } catch (thrown) {
      return thrown
    }
  })() as ConfigError
  expect(error).toBeInstanceOf(ConfigError)
  const sentences = [
    /store must be a store such as/,
    /failureMode must be one of local, allow, deny, got "maybe"/,
    /hmacKey must be/,
    /limit must be .*got 0 \(tiers, tier "free", policy "per-hour"\)/,
    /tiers must have "anonymous"/,
  ]
  for (const sentence of sentences) expect(error.issues).toContainEqual(expect.stringMatching(sentence))
  for (const none of [undefined, null, 'tiers.yaml', 7])
    expect(() => createTieredLimiter(none as never)).toThrow(/options must be an object/)
  expect(() => limiterOf({ tiers: 'tiers.yaml' as never })).toThrow(/tiers must be tiers by name/)
  expect(() => createTieredLimiter({ tiers: TIERS } as never)).toThrow(/store is missing/)
  expect(() => createTieredLimiter({ tiers: TIERS, store: new MemoryStore(), configTable: 'c' } as never)).toThrow(
    /unknown field "configTable"/,
  )
  const closed = { ...TIERS, closed: { credentials: 'required', policies: [perHour(1)] } }
  expect(() => limiterOf({ tiers: closed, authentication: 'none' })).toThrow(/credentials must not be "required"/)
})

test('a tier without a client or a user is a mistake of the program', async () => {
  await expect(limiterOf().decide({ ...GET, tier: 'pro' })).rejects.toThrow(/tier needs clientId or user/)
})

test.each(['local', 'allow', 'deny'] as const)('without the store, failure mode %s decides', async (failureMode) => {
  const store = new MemoryStore()
  const fail = async () => {
    throw new StoreUnavailableError('unreachable', 'no connection')
  }
  const limiter = limiterOf({ failureMode, store: Object.assign(store, { write: fail, read: fail }) })
  const answers = [await limiter.decide(GET), await limiter.decide(GET)].map(({ status }) => status)
  expect(answers).toEqual({ local: [200, 429], allow: [200, 200], deny: [429, 429] }[failureMode])
})

test('with a secret, no subject is stored under a hash that anybody can make', async () => {
  const store = new MemoryStore()
  const written = jest.spyOn(store, 'write')
  await limiterOf({ store, hmacKey: 'a secret of sixteen bytes' }).decide({ ...GET, clientId: 'acme', tier: 'pro' })
  expect(written.mock.calls.map(([key]) => key)).toEqual([expect.stringMatching(/^client~/)])
})

test('units of a policy that settles are debited, and settled once', async () => {
  const tokens = { name: 'tokens', limit: 100, window: '1h', cost: 'tokens', settle: true }
  const limiter = limiterOf({ tiers: { ...TIERS, pro: { policies: [tokens] } } })
  const request = { ...GET, clientId: 'acme', tier: 'pro', costs: { tokens: 10 } }
  const { context } = await limiter.decide(request)
  const meter = limiter.meter(context.reservation)
  expect(await meter.debit(5)).toEqual({ stop: false })
  expect(await meter.debit(200)).toEqual({ stop: true })
  expect([await meter.settle(40), await limiter.settle(context.reservation, 1)]).toEqual([true, false])
  expect((await limiter.decide(request)).decision?.remaining).toBe(50)
})

describe.each(ENGINES)('on %s', (engine) => {
  test('processes share the counts of a DynamoDbStore', async () => {
    const opened = await openEngine(engine)
    try {
      const { DynamoDbStore } = await import('../../limiter/index.ts')
      const options = () => ({ store: new DynamoDbStore({ client: opened.client, tableName: TABLE }) })
      const [one, other] = [limiterOf(options()), limiterOf(options())]
      const acme = { ...GET, clientId: 'shared', tier: 'free' }
      const answers = [await one.decide(acme), await other.decide(acme), await one.decide(acme)]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    } finally {
      await opened.close()
    }
  })
})

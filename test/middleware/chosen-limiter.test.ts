import { type AnyPolicyInput, createLimiter, type Limiter, MemoryStore } from '../../limiter'
import { ConfigError } from '../../limiter/errors'
import type { RateLimitOptions } from '../../middleware'
import { type Asked, SERVERS, type Served } from './servers'

const perHour = (limit: number): AnyPolicyInput => ({ name: 'per-hour', limit, window: '1h' })
const RUNNING: AnyPolicyInput = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '1h' }

/** The tier of each caller, by the user that a test names. */
const TIERS: Readonly<Record<string, string>> = { alice: 'free', bob: 'free', carol: 'pro', mallory: 'typo' }

describe.each(Object.entries(SERVERS))('%s: a limiter that depends on the request', (_, serve) => {
  const open: Served[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((served) => served.close()))
  })

  const started = async (options: RateLimitOptions<Asked>, slow?: () => Promise<unknown>) => {
    const served = await serve({ limits: [options], ...(slow && { slow }) })
    open.push(served)
    const get = async (user?: string, path = '/') =>
      fetch(served.url + path, { headers: user === undefined ? {} : { 'x-user': user } })
    return { ...served, get }
  }

  /** Limiters of one store, whose policies have one name. */
  const tiered = (): RateLimitOptions<Asked> => {
    const store = new MemoryStore()
    const limiterOf = (policies: readonly AnyPolicyInput[]): Limiter => createLimiter({ store, policies })
    const tiers = new Map([
      ['anonymous', limiterOf([perHour(1)])],
      ['free', limiterOf([perHour(2)])],
      ['pro', limiterOf([perHour(3)])],
    ])
    return {
      limiter: async (asked) => tiers.get(TIERS[asked.header('x-user') ?? ''] ?? 'anonymous'),
      keyBy: (asked) => asked.header('x-user') && `user:${asked.header('x-user')}`,
    }
  }

  test('holds each caller to a tier of its own, and counts anonymous ones apart, by address', async () => {
    const { get, handled } = await started(tiered())
    for (const [user, limit] of [
      [undefined, 1],
      ['alice', 2],
      ['bob', 2],
      ['carol', 3],
    ] as const) {
      for (let left = limit - 1; left >= 0; left--) {
        const { status, headers } = await get(user)
        expect([user, status, headers.get('x-ratelimit-remaining')]).toEqual([user, 200, String(left)])
      }
      const denied = await get(user)
      expect([denied.status, await denied.json()]).toEqual([429, expect.objectContaining({ limit })])
    }
    expect(handled).toHaveLength(8)
  })

  test('without one, a request passes uncounted', async () => {
    const { get } = await started(tiered())
    for (let i = 0; i < 3; i++) {
      const answer = await get('mallory')
      expect([answer.status, answer.headers.get('x-ratelimit-limit')]).toEqual([200, null])
    }
  })

  test.each(['per-hour', {}, 7])('that is %j ends the request with an error that says so', async (wrong) => {
    const { get, errors, handled } = await started({ limiter: () => wrong as never })
    expect([(await get()).status, handled]).toEqual([500, []])
    expect(errors).toEqual([expect.any(ConfigError)])
    expect(String(errors[0])).toMatch(
      /limiter must return what createLimiter or createTieredLimiter returned, or undefined, got/,
    )
  })

  test('costs that it does not know end the request with an error', async () => {
    const { get, errors } = await started({ ...tiered(), costs: { tokens: 5 } })
    expect((await get()).status).toBe(500)
    expect(String(errors[0])).toMatch(/costs must be left out, for no policy has a `cost`, got "tokens"/)
  })

  test('may count what runs, of some callers only', async () => {
    const store = new MemoryStore()
    const running = createLimiter({ store, policies: [RUNNING], denialTtlMs: 0 })
    const counting = createLimiter({ store, policies: [perHour(9)] })
    const ends: (() => void)[] = []
    const { get } = await started(
      { limiter: (asked) => (asked.header('x-user') ? running : counting), keyBy: () => 'a' },
      () => new Promise<void>((resolve) => void ends.push(resolve)),
    )
    const until = async (condition: () => unknown) => {
      while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const first = get('alice', '/slow')
    await until(() => ends.length === 1)
    expect([(await get('alice')).status, (await get()).status]).toEqual([429, 200])
    ends[0]!()
    await first
    await until(async () => (await running.peek('a')).allowed)
  })
})

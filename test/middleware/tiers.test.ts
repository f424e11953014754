import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { createLimiter, MemoryStore } from '../../limiter'
import { ConfigError } from '../../limiter/errors'
import { decisionOf, expressRateLimit, type RateLimitOptions, reservationOf } from '../../middleware'
import { createTieredLimiter, type TieredLimiter, type TiersInProgram } from '../../tiered'
import { type Asked, SERVERS, type Served } from './servers'
import { listen } from './slots/servers'

const perHour = (limit: number) => ({ name: 'per-hour', limit, window: '1h' })
const FILE = {
  settings: { defaultTier: 'free' },
  tiers: {
    anonymous: { by: 'ip', policies: [perHour(1)] },
    free: { policies: [perHour(2)] },
    pro: { policies: [perHour(9)] },
  },
  routes: {
    'GET /export': { cost: 4 },
    'GET /reports': { cost: { query: 'rows', max: 5 } },
    'GET /private': { credentials: 'required' },
  },
}
const TIER_OF: Readonly<Record<string, string>> = { carol: 'pro', mallory: 'typo' }

const made: TieredLimiter[] = []
const open: Served[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((served) => served.close()))
  await Promise.all(made.splice(0).map((limiter) => limiter.close()))
})
const limiterOf = (options: Partial<TiersInProgram> = {}): TieredLimiter => {
  const limiter = createTieredLimiter({ tiers: FILE, store: new MemoryStore(), write: () => {}, ...options })
  made.push(limiter)
  return limiter
}
const callerOf = (asked: Asked) => {
  const user = asked.header('x-user')
  return user === undefined ? undefined : { user, tier: TIER_OF[user] }
}

async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await sleep(2)
}

describe.each(Object.entries(SERVERS))('%s with tiers', (_, serve) => {
  const started = async (options: Partial<RateLimitOptions<Asked>> = {}) => {
    const served = await serve({ limits: [{ limiter: limiterOf(), keyBy: callerOf, ...options }] })
    open.push(served)
    const get = async (user?: string, path = '/') =>
      fetch(served.url + path, { headers: user === undefined ? {} : { 'x-user': user } })
    const left = async (user?: string, path?: string) => {
      const { status, headers } = await get(user, path)
      return [status, headers.get('x-ratelimit-remaining')]
    }
    return { ...served, get, left }
  }

  test('a caller is held to its tier, an unknown tier is the default one, and anonymous callers count by address', async () => {
    const { left, get, handled } = await started()
    expect(await left('carol')).toEqual([200, '8'])
    expect([await left('bob'), await left('bob'), await left('bob')]).toEqual([
      [200, '1'],
      [200, '0'],
      [429, '0'],
    ])
    expect([await left('mallory'), await left()]).toEqual([
      [200, '1'],
      [200, '0'],
    ])
    const denied = await get()
    expect(denied.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(denied.headers.get('retry-after')).toMatch(/^\d+$/)
    expect(await denied.json()).toMatchObject({ status: 429, policy: 'per-hour', limit: 1, remaining: 0 })
    expect(handled).toHaveLength(5)
  })

  test('routes have their costs, however a path is spelled, and cost replaces them', async () => {
    const { left } = await started()
    expect(await left('carol', '/%65xport?a=1')).toEqual([200, '5'])
    expect(await left('carol', '/reports?rows=3&x=%20')).toEqual([200, '2'])
    const own = await started({ cost: () => 7 })
    expect(await own.left('carol', '/export')).toEqual([200, '2'])
  })

  test('required credentials are a 401, and no handler runs', async () => {
    const { get, handled } = await started()
    const answer = await get(undefined, '/private')
    expect([answer.status, await answer.json(), handled]).toEqual([
      401,
      expect.objectContaining({ title: 'Unauthorized', reason: 'unauthorized' }),
      [],
    ])
    expect((await get('carol', '/private')).status).toBe(200)
  })

  test('the handler knows the decision; tiers and other limiters in one chain are listed together', async () => {
    const served = await serve({
      limits: [
        { limiter: limiterOf(), keyBy: callerOf },
        {
          limiter: createLimiter({ store: new MemoryStore(), policies: [{ name: 'all', limit: 4, window: '1m' }] }),
        },
      ],
    })
    open.push(served)
    const answer = await fetch(served.url, { headers: { 'x-user': 'carol' } })
    expect(await answer.text()).toBe('normal')
    expect(answer.headers.get('ratelimit-policy')).toBe('"per-hour";q=9;w=3600, "all";q=4;w=60')
  })

  test('a keyBy that returns a string ends the request with an error', async () => {
    const { get, errors } = await started({ keyBy: () => 'user:42' })
    expect((await get()).status).toBe(500)
    expect(errors).toEqual([expect.any(ConfigError)])
    expect(String(errors[0])).toMatch(
      /keyBy must return \{ clientId \}, \{ user \} or \{ apiKey \} with tiers, got "user:42"/,
    )
  })

  test('a client that leaves while a delayed request waits is not served', async () => {
    const queue = {
      ...perHour(1),
      window: '15s',
      algorithm: 'fixed-window',
      action: 'delay',
      delayIn: 'backend',
      maxDelay: '20s',
    }
    const limiter = limiterOf({ tiers: { anonymous: { policies: [queue] } } })
    jest.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000) // a window begins, and does not end meanwhile
    const { get, handled, url } = await started({ limiter, keyBy: () => undefined })
    await get()
    const client = new AbortController()
    const left = fetch(url, { signal: client.signal }).catch(() => 'left')
    await sleep(100)
    client.abort()
    expect(await left).toBe('left')
    await sleep(100)
    jest.mocked(Date.now).mockRestore()
    expect(handled).toHaveLength(1)
  })
})

test('reserve is for limiters without tiers', () => {
  expect(() => expressRateLimit({ limiter: limiterOf(), reserve: '5m' })).toThrow(/reserve must be left out with tiers/)
})

test('what a tier settles and runs at once is debited in the handler, and settled with the response', async () => {
  const tokens = { name: 'tokens', limit: 100, window: '1h', cost: 'tokens', settle: '5m' }
  const running = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '60s' }
  const tiers = { anonymous: { policies: [perHour(9), running] }, pro: { policies: [tokens, running] } }
  const limiter = limiterOf({ tiers })
  let go = () => {}
  const app = express().use(
    expressRateLimit({
      limiter,
      keyBy: (req: express.Request) => (req.get('x-user') ? { user: 'carol', tier: 'pro' } : undefined),
      costs: { tokens: 10 },
    }),
  )
  app.get('/', async (req, res) => {
    const { stop } = await reservationOf(req).debit({ costs: { tokens: 30 } })
    res.write(JSON.stringify({ stop, policies: Object.keys(decisionOf(req)!.policies).length }))
    await new Promise<void>((resolve) => {
      go = resolve
    })
    res.end()
  })
  const { port, server } = await listen('HTTP/1.1', app)
  const get = (headers: Record<string, string> = { 'x-user': 'carol' }) =>
    fetch(`http://127.0.0.1:${port}/`, { headers })
  const first = await get()
  expect((await get()).status).toBe(429)
  go()
  expect(JSON.parse(await first.text())).toMatchObject({ stop: false })
  const left = async () =>
    (await limiter.decide({ method: 'GET', path: '/', user: 'carol', tier: 'pro', costs: { tokens: 1 } })).decision!
  let decision = await left()
  await until(async () => {
    if (!decision.allowed) decision = await left()
    return decision.allowed
  })
  expect(decision.policies.tokens!.remaining).toBe(100 - 30 - 1)
  const anonymous = await get({}) // whose tier reserves a slot, and no units
  go()
  expect(JSON.parse(await anonymous.text())).toEqual({ stop: false, policies: 2 })
  server.close()
})

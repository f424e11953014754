import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { DECISION_HEADERS } from '../../lambda/responses/header-table'
import {
  type AnyPolicyInput,
  createLimiter,
  type Decision,
  type Limiter,
  MemoryStore,
  type PolicyInput,
} from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import type { RateLimitOptions } from '../../middleware'
import { type Asked, CHUNKS, SERVERS, type Served, type Setup } from './servers'

const TWO: PolicyInput = { name: 'per-hour', limit: 2, window: '1h' }
const DENIED = DECISION_HEADERS.filter(({ denied }) => denied).map(({ name }) => name.toLowerCase())
const ALLOWED = DECISION_HEADERS.filter(({ allowed }) => allowed === 'always').map(({ name }) => name.toLowerCase())
const STORE_FAILS = async () => {
  throw new StoreUnavailableError('unreachable', 'no connection')
}
/** A store that has answered once, and then no more. */
function mortalStore() {
  const store = new MemoryStore()
  return { store, die: () => Object.assign(store, { write: STORE_FAILS, read: STORE_FAILS }) }
}

describe.each(Object.entries(SERVERS))('%s', (_, serve) => {
  const open: Served[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((served) => served.close()))
  })

  const limiterOf = (...policies: readonly PolicyInput[]) =>
    createLimiter({ store: new MemoryStore(), policies: policies.length > 0 ? policies : [TWO] })
  const started = async (
    options: Partial<RateLimitOptions<Asked>> = {},
    more: Partial<Setup> = {},
  ): Promise<Served & { get(path?: string, init?: RequestInit): Promise<Response> }> => {
    const served = await serve({ limits: [{ limiter: limiterOf(), ...options }], ...more })
    open.push(served)
    return { ...served, get: (path = '/', init) => fetch(served.url + path, init) }
  }
  const statuses = async (answers: Promise<Response>[]) => (await Promise.all(answers)).map(({ status }) => status)

  test('allowed requests have the headers, and a denied one the 429 of the authorizer and no handler', async () => {
    const { get, handled } = await started()
    const first = await get('/a')
    expect([first.status, await first.text()]).toEqual([200, 'normal'])
    for (const name of ALLOWED) expect([name, first.headers.get(name)]).toEqual([name, expect.stringMatching(/./)])
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
    expect(first.headers.get('ratelimit')).toMatch(/^"per-hour";r=1;t=\d+$/)
    expect(first.headers.get('ratelimit-policy')).toBe('"per-hour";q=2;w=3600')
    expect(first.headers.get('retry-after')).toBe(null)
    await get('/b')

    const denied = await get('/c')
    expect([denied.status, denied.headers.get('content-type')]).toEqual([
      429,
      expect.stringMatching(/^application\/problem\+json/),
    ])
    for (const name of DENIED) expect([name, denied.headers.get(name)]).toEqual([name, expect.stringMatching(/./)])
    expect(await denied.json()).toEqual({
      type: 'about:blank',
      title: 'Too Many Requests',
      status: 429,
      detail: expect.stringContaining('The limit of 2 units in the policy per-hour is used up.'),
      reason: 'over-limit',
      policy: 'per-hour',
      limit: 2,
      remaining: 0,
      retryAfter: Number(denied.headers.get('retry-after')),
    })
    expect(handled).toEqual(['/a', '/b'])
  })

  test('a header of the handler is kept', async () => {
    const { headers } = await (await started()).get('/own')
    expect([headers.get('retry-after'), headers.get('x-ratelimit-limit')]).toEqual(['7', 'own'])
    expect(headers.get('x-ratelimit-remaining')).toBe('1')
  })

  test('what the handler throws is answered by the framework, with the headers', async () => {
    const { get, errors } = await started()
    const { status, headers } = await get('/error')
    expect([status, headers.get('x-ratelimit-remaining'), errors.length]).toEqual([500, '1', 1])
    expect(headers.get('ratelimit-policy')).toBe('"per-hour";q=2;w=3600')
  })

  test('a streamed answer has the headers, and all its chunks', async () => {
    const answer = await (await started()).get('/stream')
    expect([answer.headers.get('x-ratelimit-remaining'), await answer.text()]).toEqual(['1', CHUNKS.join('')])
  })

  test('requests count by keyBy, and without a key by address', async () => {
    const { get } = await started({
      keyBy: async (asked) => asked.header('x-user') && `user:${asked.header('x-user')}`,
    })
    const of = (user?: string) => get('/', { headers: user === undefined ? {} : { 'x-user': user } })
    expect(await statuses([of('a'), of('a'), of('b'), of(), of()])).toEqual([200, 200, 200, 200, 200])
    expect(await statuses([of('a'), of('b'), of()])).toEqual([429, 200, 429])
  })

  test.each(['', undefined, null])('a keyBy that returns %j counts by address', async (key) => {
    const taken: string[] = []
    const limiter = limiterOf()
    const take = (subject: string) => {
      taken.push(subject)
      return limiter.take(subject)
    }
    const { get } = await started({ limiter: { ...limiter, take: take as Limiter['take'] }, keyBy: () => key as never })
    await get()
    expect(taken).toEqual(['ip:127.0.0.1'])
  })

  test.each([
    ['throws', () => Promise.reject(new Error('no session'))],
    ['returns no text', () => ({ toString: () => 'a' }) as never],
    ['returns the number 0', () => 0 as never],
  ])('a keyBy that %s ends the request with an error, and no handler is asked', async (_, keyBy) => {
    const { get, handled, errors } = await started({ keyBy })
    expect((await get()).status).toBe(500)
    expect([handled, errors.length]).toEqual([[], 1])
  })

  test('a cost is a number or depends on the request; a wrong one charges nothing and ends the request', async () => {
    const limiter = limiterOf({ ...TWO, limit: 10 })
    const { get, handled } = await started({ limiter, cost: (asked) => Number(asked.header('x-cost') ?? 1) })
    const left = async (cost: string) => {
      const { status, headers } = await get('/', { headers: { 'x-cost': cost } })
      return [status, headers.get('x-ratelimit-remaining')]
    }
    expect(await left('4')).toEqual([200, '6'])
    for (const wrong of ['1.5', '-1', 'many']) expect(await left(wrong)).toEqual([500, null])
    expect(await left('0')).toEqual([200, null]) // it takes nothing, so it is not counted
    expect(await left('6')).toEqual([200, '0'])
    expect(await left('11')).toEqual([429, '0'])
    expect(handled).toHaveLength(3)
  })

  test('costs by name charge the policies that count them', async () => {
    const tokens: PolicyInput = { name: 'tokens', limit: 100, window: '1h', cost: 'tokens' }
    const { get } = await started({ limiter: limiterOf(TWO, tokens), costs: async () => ({ tokens: 70 }) })
    expect((await get()).headers.get('ratelimit')).toMatch(/^"per-hour";r=1;t=\d+, "tokens";r=30;t=\d+$/)
    expect(await (await get()).json()).toMatchObject({ policy: 'tokens', remaining: 30 })
  })

  test('a skipped request is not counted and gets no headers', async () => {
    const { get } = await started({ skip: async (asked) => asked.header('x-health') === '1' })
    for (let i = 0; i < 4; i++) {
      const answer = await get('/', { headers: { 'x-health': '1' } })
      expect([answer.headers.get('x-ratelimit-limit'), await answer.text()]).toEqual([null, 'uncounted'])
    }
    expect((await get()).headers.get('x-ratelimit-remaining')).toBe('1')
  })

  test.each(['HEAD', 'OPTIONS', 'DELETE'])('%s counts as any request does', async (method) => {
    const { get } = await started()
    const answers = [await get('/', { method }), await get('/', { method }), await get('/', { method })]
    expect(answers.map(({ status, headers }) => [status, headers.get('x-ratelimit-remaining')])).toEqual([
      [200, '1'],
      [200, '0'],
      [429, '0'],
    ])
    expect(await answers[2]!.text()).toMatch(method === 'HEAD' ? /^$/ : /"over-limit"/)
  })

  test('a body of a denied request does not stand in the way of the next one of its connection', async () => {
    const { get } = await started()
    await Promise.all([get(), get()])
    const post = () => get('/', { method: 'POST', body: 'x'.repeat(300_000) })
    expect(await statuses([post(), post()])).toEqual([429, 429])
    expect((await get()).status).toBe(429)
  })

  describe('addresses', () => {
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

    test('behind a proxy the entry that it has added counts, and none that a caller made up', async () => {
      const { get } = await started({}, { proxies: 1 })
      expect(await statuses([get('/', from('1.1.1.1, 9.9.9.9')), get('/', from('2.2.2.2, 9.9.9.9'))])).toEqual([
        200, 200,
      ])
      expect(await statuses([get('/', from('3.3.3.3, 9.9.9.9')), get('/', from('9.9.9.8'))])).toEqual([429, 200])
    })

    test('without one the header is not looked at', async () => {
      const { get } = await started()
      expect(await statuses(['1.1.1.1', '2.2.2.2', '3.3.3.3'].map((one) => get('/', from(one))))).toContain(429)
    })

    test('a network of IPv6 counts as one, an IPv4 address in any spelling too', async () => {
      const { get } = await started({}, { proxies: 1 })
      const network = ['2001:db8:1:200::1', '2001:db8:1:2ff::2', '2001:db8:1:2aa:ffff::']
      for (const status of [200, 200, 429]) expect((await get('/', from(network.pop()!))).status).toBe(status)
      const ipv4 = ['::ffff:1.2.3.4', '1.2.3.4', '::ffff:102:304']
      for (const status of [200, 200, 429]) expect((await get('/', from(ipv4.pop()!))).status).toBe(status)
    })

    test('the prefix of IPv6 can be another', async () => {
      const { get } = await started({ ipv6Prefix: 64 }, { proxies: 1 })
      const network = ['2001:db8:1:200::1', '2001:db8:1:201::1', '2001:db8:1:202::1']
      expect(await statuses(network.map((one) => get('/', from(one))))).toEqual([200, 200, 200])
    })
  })

  describe('several middlewares', () => {
    const both = async () => {
      const [minute, hour] = [limiterOf({ ...TWO, name: 'per-minute', window: '1m', limit: 3 }), limiterOf()]
      return started(
        {},
        {
          limits: [
            { limiter: minute, keyBy: () => 'a' },
            { limiter: hour, keyBy: () => 'b' },
          ],
        },
      )
    }

    test('say the numbers of the tightest, and list all policies', async () => {
      const { headers } = await (await both()).get()
      expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['2', '1'])
      expect(headers.get('ratelimit')).toMatch(/^"per-minute";r=2;t=\d+, "per-hour";r=1;t=\d+$/)
      expect(headers.get('ratelimit-policy')).toBe('"per-minute";q=3;w=60, "per-hour";q=2;w=3600')
    })

    test('deny as soon as one does, named after it', async () => {
      const { get, handled } = await both()
      for (let i = 0; i < 2; i++) await get()
      expect(await (await get()).json()).toMatchObject({ policy: 'per-hour', remaining: 0 })
      const last = await get()
      expect([last.status, await last.json()]).toEqual([429, expect.objectContaining({ policy: 'per-minute' })])
      expect(handled).toHaveLength(2)
    })

    test('of one limiter count a request each; one middleware that is used twice counts it once', async () => {
      const limit = { limiter: limiterOf({ ...TWO, limit: 10 }) }
      const twice = await started({}, { limits: [limit, { ...limit }] })
      expect((await twice.get()).headers.get('x-ratelimit-remaining')).toBe('8')
    })
  })

  describe('past the limit', () => {
    const delaying: PolicyInput = {
      name: 'p',
      limit: 1,
      window: '300ms',
      algorithm: 'fixed-window',
      action: 'delay',
      maxDelay: '3s',
    }

    test('action delay delays the request, and its body is there afterwards', async () => {
      const { get, handled } = await started({ limiter: limiterOf({ ...delaying, window: '200ms' }) })
      const startedAt = performance.now()
      const body = 'x'.repeat(100_000)
      const answers = await Promise.all(Array.from({ length: 4 }, () => get('/', { method: 'POST', body })))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
      expect(performance.now() - startedAt).toBeGreaterThan(390)
      expect(handled).toHaveLength(4)
    })

    test('a client that leaves meanwhile is not served, and its units are given back', async () => {
      const limiter = limiterOf({ ...delaying, window: '2s', maxDelay: '10s' })
      const refunds: unknown[] = []
      const refund: Limiter['refund'] = async (...given) => {
        refunds.push(given)
        await limiter.refund(...given)
      }
      const { get, handled, url, errors } = await started({ limiter: { ...limiter, refund }, keyBy: () => 'a' })
      await get('/first')
      const leaver = httpRequest(`${url}/leaver`, { method: 'POST' })
      leaver.on('error', () => {})
      leaver.end('body')
      await once(leaver, 'socket')
      while (((await limiter.peek('a', { cost: 1 })) as Decision).delayMs <= 2000) await sleep(5)
      leaver.destroy()
      while (refunds.length === 0) await sleep(5)
      expect(refunds).toEqual([
        ['a', undefined, { chargedAt: expect.any(Number), delayMs: expect.any(Number), costs: undefined }],
      ])
      while ((await limiter.peek('a', { cost: 1 })).delayMs > 2000) await sleep(5)
      expect([handled, errors]).toEqual([['/first'], []])
    })

    test('a request of low priority is served, and its handler can tell', async () => {
      const { get } = await started({ limiter: limiterOf({ ...TWO, limit: 1, action: 'deprioritize' }) })
      expect(await Promise.all([await get(), await get()].map((answer) => answer.text()))).toEqual(['normal', 'low'])
    })

    test('an overrun says so', async () => {
      const { get } = await started({ limiter: limiterOf({ ...TWO, limit: 1, overrun: '100%' }) })
      await get()
      expect((await get()).headers.get('x-ratelimit-reason')).toBe('overrun')
    })
  })

  describe('what runs at once', () => {
    /** A server that runs one request at a time, and what ends the slow ones. */
    const running = async (more: readonly AnyPolicyInput[] = []) => {
      const policies: AnyPolicyInput[] = [
        { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '1h' },
        ...more,
      ]
      const limiter = createLimiter({ store: new MemoryStore(), policies })
      const ends: (() => void)[] = []
      const slow = () => new Promise<void>((resolve) => void ends.push(resolve))
      const served = await started({ limiter, keyBy: () => 'a' }, { slow })
      const isFree = async () => (await limiter.peek('a')).allowed
      const until = async (condition: () => boolean | Promise<boolean>) => {
        while (!(await condition())) await sleep(5)
      }
      return { ...served, ends, isFree, until }
    }

    test('a slot is held while the handler runs, and free when its response is complete', async () => {
      const { get, ends, isFree, until } = await running()
      const first = get('/slow')
      await until(() => ends.length === 1)
      const denied = await get()
      expect([denied.status, denied.headers.get('retry-after')]).toEqual([429, '1'])
      expect(denied.headers.get('ratelimit-policy')).toBe('"running";q=1;qu="concurrent-requests"')
      ends[0]!()
      expect((await first).headers.get('ratelimit')).toBe('"running";r=0;t=3600')
      await until(isFree)
      for (const path of ['/stream', '/error', '/own']) {
        expect([path, (await get(path)).status]).toEqual([path, path === '/error' ? 500 : 200])
        await until(isFree)
      }
    })

    test('a client that leaves frees nothing while its handler is seen to run, or holds the slot', async () => {
      const { get, ends, isFree, until, url } = await running()
      const leaver = httpRequest(`${url}/slow`)
      leaver.on('error', () => {})
      leaver.end()
      await until(() => ends.length === 1)
      leaver.destroy()
      await sleep(120)
      expect((await get()).status).toBe(429)
      ends[0]!()
      await until(isFree)
      expect((await get()).status).toBe(200)
    })

    test('a client that leaves while its request is delayed frees the slot', async () => {
      const pace: PolicyInput = {
        ...TWO,
        limit: 1,
        window: '8s',
        algorithm: 'gcra', // no window ends between the two
        action: 'delay',
        maxDelay: '10s',
      }
      const { get, handled, isFree, until, url } = await running([pace])
      await get()
      await until(isFree)
      const leaver = httpRequest(url)
      leaver.on('error', () => {})
      leaver.end()
      await until(async () => !(await isFree()))
      leaver.destroy()
      await until(isFree)
      expect(handled).toEqual(['/'])
    })
  })

  describe('while the store is away', () => {
    const mortal = async (onStoreError?: 'local' | 'allow' | 'deny' | 'throw') => {
      const { store, die } = mortalStore()
      const served = await started({ limiter: createLimiter({ store, policies: [TWO], onStoreError }) })
      await served.get()
      die()
      return served
    }

    test('the limit is counted in memory by default', async () => {
      const { get } = await mortal()
      const [allowed, denied] = [await get(), await get()]
      expect([allowed.status, allowed.headers.get('x-ratelimit-reason')]).toEqual([200, 'degraded'])
      expect([denied.status, await denied.json()]).toEqual([429, expect.objectContaining({ reason: 'degraded' })])
    })

    test('allow lets all pass', async () => {
      const { get } = await mortal('allow')
      expect(await statuses([get(), get(), get()])).toEqual([200, 200, 200])
    })

    test('deny lets none pass, and says that no limit is to blame', async () => {
      const { get, handled } = await mortal('deny')
      const answer = await get()
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
      expect(await answer.json()).toMatchObject({ reason: 'unavailable' })
      expect(handled).toHaveLength(1)
    })

    test('throw hands the error to the framework', async () => {
      const { get, handled, errors } = await mortal('throw')
      expect((await get()).status).toBe(500)
      expect([handled.length, errors]).toEqual([1, [expect.any(StoreUnavailableError)]])
    })
  })
})

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import express from 'express'
import { type Options, rateLimit, type Store, MemoryStore as TheirMemoryStore } from 'express-rate-limit'
import fc from 'fast-check'
import { DynamoDbStore, MemoryStore, type StateStore, StoreUnavailableError } from '../../limiter'
import { ConfigError } from '../../limiter/errors'
import { subjectKey } from '../../limiter/subject-key'
import { ExpressRateLimitStore } from '../../middleware/express-rate-limit-store'
import { FaultyStore } from '../limiter/faulty-store'
import { ENGINES, type OpenEngine, openEngine, TABLE } from '../stores'

const HOUR = 3_600_000
const servers: Server[] = []
afterEach(async () => {
  jest.useRealTimers()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** What the package says of a store that does not do as it expects. */
const mistakes: unknown[] = []
const logger = {
  error: (error: unknown) => void mistakes.push(error),
  warn: (error: unknown) => void mistakes.push(error),
}
beforeEach(() => mistakes.splice(0))

/** A server with the real middleware; `/bad` is answered with 400. */
async function served(store: Store, options: Partial<Options> = {}) {
  const app = express()
  const limit = rateLimit({ windowMs: HOUR, limit: 2, store, logger, ...options })
  app.use(limit)
  app.get('/bad', (_req, res) => void res.status(400).end())
  app.get('/', (_req, res) => void res.end('ok'))
  app.set('env', 'test')
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  servers.push(server)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { limit, get: (path = '/') => fetch(url + path) }
}

const initialized = (store: StateStore, windowMs = HOUR, prefix?: string) => {
  const made = new ExpressRateLimitStore({ store, prefix })
  made.init({ windowMs })
  return made
}

test('it has a prefix, and its counts are shared by other processes', () => {
  const store = new ExpressRateLimitStore({ store: new MemoryStore(), prefix: 'login:' })
  expect([store.prefix, store.localKeys]).toEqual(['login:', false])
})

test.each([
  [{ standardHeaders: false, legacyHeaders: true }],
  [{ standardHeaders: 'draft-6' }],
  [{ standardHeaders: 'draft-7', legacyHeaders: false }],
  [{ standardHeaders: 'draft-8', legacyHeaders: false }],
] as Partial<Options>[][])('answers are those of the package with its own store: %j', async (options) => {
  const ours = await served(new ExpressRateLimitStore({ store: new MemoryStore() }), options)
  const theirs = await served(new TheirMemoryStore(), options)
  for (let i = 0; i < 4; i++) {
    const [a, b] = [await ours.get(), await theirs.get()]
    expect(a.status).toBe(i < 2 ? 200 : 429)
    expect([a.status, await a.text(), numbersApart(a.headers)]).toEqual([
      b.status,
      await b.text(),
      numbersApart(b.headers),
    ])
  }
  expect(mistakes).toEqual([])
})

/** Headers without the times, which depend on when a window began. */
const numbersApart = (headers: Headers) =>
  [...headers]
    .filter(([name]) => !/^(date|retry-after|(x-)?ratelimit-reset)$/.test(name))
    .map(([name, value]) => [name, value.replace(/\b(reset|t)=\d+/, '$1=…')])

test('a window ends at the reset time, which is at most windowMs away', async () => {
  jest.useFakeTimers({ now: 150 * 1e10 + 40 })
  const store = initialized(new MemoryStore(), 150)
  const first = await store.increment('a')
  expect([first.totalHits, first.resetTime.getTime() - Date.now()]).toEqual([1, 110])
  jest.advanceTimersByTime(109)
  expect(await store.get('a')).toEqual(first)
  jest.advanceTimersByTime(1)
  expect(await store.get('a')).toBe(undefined)
  expect((await store.increment('a')).totalHits).toBe(1)
})

test('totalHits grows past every limit, so that a limit that depends on the request is right for each', async () => {
  const { get } = await served(new ExpressRateLimitStore({ store: new MemoryStore() }), {
    limit: (req) => (req.path === '/' ? 1 : 4),
  })
  const statuses = []
  for (const path of ['/', '/', '/', '/bad', '/bad']) statuses.push((await get(path)).status)
  expect(statuses).toEqual([200, 429, 429, 400, 429])
})

test('failed requests that are skipped are taken back, and so are successful ones', async () => {
  const store = new ExpressRateLimitStore({ store: new MemoryStore() })
  const { get, limit } = await served(store, { skipFailedRequests: true, keyGenerator: () => 'a' })
  for (let i = 0; i < 5; i++) expect((await get('/bad')).status).toBe(400)
  while (await limit.getKey('a')) await new Promise((resolve) => setTimeout(resolve, 5))
  await get()
  expect(await limit.getKey('a')).toMatchObject({ totalHits: 1 })
  const other = new ExpressRateLimitStore({ store: new MemoryStore() })
  const successes = await served(other, { skipSuccessfulRequests: true, keyGenerator: () => 'a' })
  for (let i = 0; i < 5; i++) expect((await successes.get()).status).toBe(200)
  expect(mistakes).toEqual([])
})

test('decrement never counts below nothing, and resetKey forgets one key', async () => {
  const store = initialized(new MemoryStore())
  await store.decrement('a')
  expect(await store.get('a')).toBe(undefined)
  for (const key of ['a', 'a', 'b']) await store.increment(key)
  await store.decrement('a')
  expect(await store.get('a')).toMatchObject({ totalHits: 1 })
  await store.resetKey('a')
  expect([await store.get('a'), (await store.get('b'))?.totalHits]).toEqual([undefined, 1])
  expect((await store.increment('a')).totalHits).toBe(1)
})

test('two limiters of one table count apart by their prefixes, and by their windows', async () => {
  const memory = new MemoryStore()
  const stores = [initialized(memory), initialized(memory, HOUR, 'login:'), initialized(memory, 1000)]
  for (const store of stores) expect((await store.increment('a')).totalHits).toBe(1)
})

test('no key under a prefix counts under another, in any division of the same text', async () => {
  const parts = fc.array(fc.constantFrom('a', ':', 'a:', '\ud800', '\udfff'), { minLength: 1, maxLength: 3 })
  const divided = fc.tuple(fc.constantFrom('a:', ':', 'a', '::', 'a.'), parts, fc.nat(5)).map(([first, more, at]) => {
    const text = first + more.join('')
    const prefix = /^[\w.:-]+/.exec(text.slice(0, 1 + at))![0]
    return [prefix, text.slice(prefix.length)] as const
  })
  await fc.assert(
    fc.asyncProperty(fc.array(divided, { minLength: 10, maxLength: 30, size: 'max' }), async (hits) => {
      const memory = new MemoryStore()
      const counts = new Map<string, number>()
      for (const [prefix, key] of hits) {
        const named = JSON.stringify([prefix, key])
        const count = (counts.get(named) ?? 0) + 1
        counts.set(named, count)
        expect([named, (await initialized(memory, HOUR, prefix).increment(key)).totalHits]).toEqual([named, count])
      }
    }),
  )
})

test('a prefix whose only colon is its end counts on what earlier releases have stored', async () => {
  const memory = new MemoryStore()
  for (const [prefix, key] of [
    [undefined, '192.0.2.1'],
    [undefined, '2001:db8::/56'],
    ['login:', 'ip:192.0.2.1'],
  ] as const) {
    const store = initialized(memory, HOUR, prefix)
    await store.increment(key)
    const item = await memory.read(subjectKey(`${prefix ?? 'rate-limit:'}${key}`))
    expect(Object.keys(item.policies)).toHaveLength(1)
  }
})

describe.each(ENGINES)('on %s', (engine) => {
  let opened: OpenEngine
  beforeAll(async () => {
    opened = await openEngine(engine)
  })
  afterAll(() => opened?.close())

  test('several instances share the counts, and every hit is counted once, in one call', async () => {
    const sent: string[] = []
    const counted = (client: DynamoDBClient): Pick<DynamoDBClient, 'send'> => ({
      send: ((command: { constructor: { name: string } }, options: never) => {
        sent.push(command.constructor.name)
        return client.send(command as never, options)
      }) as never,
    })
    const instances = Array.from({ length: 3 }, () =>
      initialized(new DynamoDbStore({ client: counted(opened.client), tableName: TABLE })),
    )
    for (let i = 0; i < 12; i++) expect((await instances[i % 3]!.increment('one')).totalHits).toBe(i + 1)
    expect(sent).toEqual(Array(12).fill('UpdateItemCommand'))
    const hits = await Promise.all(Array.from({ length: 30 }, (_, i) => instances[i % 3]!.increment('two')))
    expect(hits.map(({ totalHits }) => totalHits).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, i) => i + 1),
    )
    expect(await instances[0]!.get('two')).toMatchObject({ totalHits: 30 })
    await instances[1]!.resetKey('two')
    expect([await instances[2]!.get('two'), (await instances[0]!.increment('two')).totalHits]).toEqual([undefined, 1])
  })

  test('two servers with the real middleware admit the limit together', async () => {
    const server = () => served(new ExpressRateLimitStore({ store: opened.store, prefix: 'both:' }), { limit: 5 })
    const both = [await server(), await server()]
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => both[i % 2]!.get()))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
    expect(mistakes).toEqual([])
  })
})

test.each(['answer lost', 'copied', 'sent twice'] as const)(
  'a hit whose answer was %s is counted once',
  async (fault) => {
    const faulty = new FaultyStore(new MemoryStore())
    const store = initialized(faulty)
    await store.increment('a')
    faulty.plan([fault])
    expect((await store.increment('a')).totalHits).toBe(2)
    await faulty.deliverDelayed()
    expect(await initialized(faulty).get('a')).toMatchObject({ totalHits: 2 })
  },
)

describe('while the table is away', () => {
  const fails = async () => {
    throw new StoreUnavailableError('unreachable', 'no connection')
  }
  const away = () => Object.assign(new MemoryStore(), { write: fails, read: fails, delete: fails })

  test('requests are answered with an error', async () => {
    const { get, limit } = await served(new ExpressRateLimitStore({ store: away() }))
    expect((await get()).status).toBe(500)
    await expect(limit.getKey('a')).rejects.toThrow(StoreUnavailableError)
    await expect(limit.resetKey('a')).rejects.toThrow(StoreUnavailableError)
  })

  test('passOnStoreError lets them pass', async () => {
    const { get } = await served(new ExpressRateLimitStore({ store: away() }), { passOnStoreError: true })
    expect([(await get()).status, (await get()).status, (await get()).status]).toEqual([200, 200, 200])
    expect(mistakes).toHaveLength(3)
  })
})

describe('mistakes', () => {
  test.each([
    [{}, /store is missing, it must be a store such as new DynamoDbStore/],
    [{ store: {} }, /store must be a store/],
    [{ store: new MemoryStore(), windowMs: 1000 }, /unknown field "windowMs"/],
    [{ store: new MemoryStore(), prefix: '' }, /prefix must be 1 to 64 letters/],
    [{ store: new MemoryStore(), hmacKey: 'short' }, /hmacKey/],
  ])('in the options are found when the store is made: %j', (options, message) => {
    expect(() => new ExpressRateLimitStore(options as never)).toThrow(message)
  })

  test.each([0, -1, 1.5, Number.NaN, Infinity, '1000' as never, undefined as never])(
    'a window of %p is refused, and so is every hit, which the package would pass on uncounted',
    async (windowMs) => {
      const store = initialized(new MemoryStore())
      expect(() => store.init({ windowMs })).toThrow(ConfigError)
      await expect(store.increment('a')).rejects.toThrow(/windowMs must be whole milliseconds from 1/)
    },
  )

  test('before init, every method says what is missing', async () => {
    const store = new ExpressRateLimitStore({ store: new MemoryStore() })
    for (const call of [store.increment('a'), store.decrement('a'), store.resetKey('a'), store.get('a')])
      await expect(call).rejects.toThrow('windowMs is missing')
  })
})

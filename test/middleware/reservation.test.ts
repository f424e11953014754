import { once } from 'node:events'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import { Hono } from 'hono'
import { stream } from 'hono/streaming'
import { type AnyPolicyInput, createLimiter, type FailureMode, MemoryStore } from '../../limiter'
import { ConfigError, CostError, StoreUnavailableError } from '../../limiter/errors'
import { expressRateLimit, honoRateLimit, type RateLimitOptions, reservationOf } from '../../middleware'

const TOKENS = { name: 'tokens', limit: 1000, window: '1h', algorithm: 'fixed-window', cost: 'tokens' } as const
const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '60s' } as const
const HOUR = 3_600_000

async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await sleep(2)
}

function limited(policies: readonly AnyPolicyInput[] = [TOKENS], onStoreError?: FailureMode) {
  const store = new MemoryStore()
  const time = { now: 1_800_000_000_000 }
  const limiter = createLimiter({ store, policies, denialTtlMs: 0, onStoreError, clock: () => time.now })
  const options: RateLimitOptions<object> = { limiter, keyBy: () => 'a', costs: { tokens: 100 }, reserve: '5m' }
  const charged = async () => 1000 - (await limiter.peek('a', { cost: 0 })).policies.tokens!.remaining
  const fail = async () => {
    throw new StoreUnavailableError('unreachable', 'no connection')
  }
  return {
    ...{ store, limiter, options, charged, time },
    breaks: () => Object.assign(store, { write: fail, read: fail }),
    heals: () => Reflect.deleteProperty(store, 'write') && Reflect.deleteProperty(store, 'read'),
  }
}

/** What a handler of Express does with a request that these middlewares have admitted. */
async function answering<Result>(
  options: readonly RateLimitOptions<object>[],
  handler: (req: express.Request) => Promise<Result>,
): Promise<Result | undefined> {
  let result: Result | undefined
  const app = express()
  for (const one of options) app.use(expressRateLimit(one))
  app.get('/', async (req, res) => {
    result = await handler(req)
    res.send('answered')
  })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).text()
  server.close()
  return result
}

const mistakeOf = async (work: Promise<unknown>) => work.catch((error: unknown) => error)

test('is an error to debit or settle where no middleware reserves, or after it was settled', async () => {
  const { options, charged } = limited()
  const { reserve: _, ...charging } = options
  const errors = await answering([charging], async (req) => [
    await mistakeOf(reservationOf(req).debit(1)),
    await mistakeOf(reservationOf({}).settle(1)),
  ])
  for (const error of errors!) expect(error).toBeInstanceOf(ConfigError)
  expect(String(errors![0])).toMatch(/debit needs a request that a middleware with the option reserve has seen/)
  const late = await answering([options], async (req) => {
    await reservationOf(req).settle(1)
    return mistakeOf(reservationOf(req).debit(1))
  })
  expect(String(late)).toMatch(/debit must come before settle/)
  expect(await charged()).toBe(100 + 1)
})

test('a mistake in what was used settles nothing, and what was debited is settled in the end', async () => {
  const { options, charged } = limited()
  const errors = await answering([options], async (req) => {
    await reservationOf(req).debit(8)
    return [
      await mistakeOf(reservationOf(req).settle({ costs: { tokns: 1 } })),
      await mistakeOf(reservationOf(req).settle(1.5)),
      await mistakeOf(reservationOf(req).debit(-1)),
    ]
  })
  expect(errors).toEqual([expect.any(ConfigError), expect.any(CostError), expect.any(CostError)])
  await until(async () => (await charged()) === 8)
})

test('what the store did not get is settled at the end of the response, as the handler said', async () => {
  const { options, charged, breaks, heals } = limited()
  const settled = await answering([options], async (req) => {
    breaks()
    const first = await reservationOf(req).settle(250)
    heals()
    return first
  })
  expect(settled).toBe(false)
  await until(async () => (await charged()) === 250)
})

test.each([
  ['local', { stop: false }],
  ['allow', { stop: false }],
  ['deny', { stop: true }],
  ['throw', expect.any(StoreUnavailableError)],
] as const)('where the store fails in the middle, failure mode %s decides, and all is charged', async (mode, said) => {
  const { options, charged, breaks, heals } = limited([TOKENS], mode)
  const answer = await answering([options], async (req) => {
    breaks()
    const debit = await mistakeOf(reservationOf(req).debit(300))
    heals()
    return debit
  })
  expect(answer).toEqual(said)
  await until(async () => (await charged()) === 300)
})

test('several middlewares are debited and settled together', async () => {
  const [one, other] = [limited(), limited()]
  const both = [one.options, { ...other.options, costs: { tokens: 50 } }]
  const tokens = await answering(both, async (req) => {
    await reservationOf(req).debit(40)
    await reservationOf(req).debit(20)
    return reservationOf(req).reservations
  })
  expect(new Set(tokens).size).toBe(2)
  await until(async () => (await one.charged()) === 60 && (await other.charged()) === 60)
})

test('a client that leaves while its request is delayed is charged no tokens', async () => {
  const pace = {
    name: 'pace',
    limit: 1,
    window: '8s',
    algorithm: 'fixed-window',
    action: 'delay',
    maxDelay: '20s',
  } as const
  const { options, charged, limiter } = limited([TOKENS, pace])
  await limiter.take('a', { cost: 1, costs: { tokens: 0 } })
  const server = express().use(expressRateLimit(options)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const leaver = get(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`).on('error', () => {})
  await until(async () => (await charged()) === 100)
  leaver.destroy()
  await until(async () => (await charged()) === 0)
  server.close()
})

test('of a process that was killed, the units stay charged, and the slot and the reservation end by themselves', async () => {
  const { options, charged, limiter, time } = limited([TOKENS, RUNNING])
  const app = new Hono().use(honoRateLimit(options))
  let token: string | undefined
  const killed = app.get('/', (c) => {
    token = reservationOf(c).reservations[0]
    return new Promise<Response>(() => {})
  })
  void killed.request('/')
  await until(() => token)
  expect((await limiter.peek('a')).allowed).toBe(false)
  time.now += 62_000
  expect((await limiter.peek('a', { costs: { tokens: 1 } })).allowed).toBe(true)
  expect(await charged()).toBe(100)
  time.now += 2 * HOUR
  expect(await limiter.settle(token!, { costs: { tokens: 900 } })).toBe(false)
})

describe('Hono where no response is shown', () => {
  const streamed = (options: RateLimitOptions<object>, debited: number[]) =>
    new Hono().use(honoRateLimit(options)).get('/', (c) =>
      stream(c, async (out) => {
        for (let i = 0; i < 50; i++) {
          const { stop } = await reservationOf(c).debit(2)
          debited.push(2)
          if (stop) return
          await out.write('text')
          await sleep(1)
        }
      }),
    )

  test('a stream that is read to its end is settled then', async () => {
    const { options, charged } = limited()
    const debited: number[] = []
    const answer = await streamed(options, debited).request('/')
    expect(await answer.text()).toBe('text'.repeat(50))
    await until(async () => (await charged()) === 100)
    expect(debited).toHaveLength(50)
  })

  test('a stream whose reader has left is settled to what was debited until then', async () => {
    const { options, charged } = limited()
    const debited: number[] = []
    const client = new AbortController()
    const answer = await streamed(options, debited).request('/', { signal: client.signal })
    const reader = answer.body!.getReader()
    await reader.read()
    client.abort()
    await reader.cancel()
    await until(() => debited.length > 0)
    await sleep(150)
    expect(debited.length).toBeLessThan(50)
    expect(await charged()).toBe(debited.length * 2)
  })
})

import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { stream } from 'hono/streaming'
import Koa from 'koa'
import { type AnyPolicyInput, createLimiter, type FailureMode, MemoryStore } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import {
  expressRateLimit,
  fastifyRateLimit,
  honoRateLimit,
  koaRateLimit,
  type RateLimitOptions,
  type RequestReservation,
  reservationOf,
} from '../../middleware'
import { visit } from './slots/client'

const LIMIT = 1000
const RESERVED = 100
const TOKENS = { name: 'tokens', limit: LIMIT, window: '1h', algorithm: 'fixed-window', cost: 'tokens' } as const
const POLICIES = [{ name: 'requests', limit: 50, window: '1h' }, TOKENS] as const
const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '1h' } as const

/** The answer of a handler, part by part. */
type Answer = (reservation: RequestReservation) => AsyncGenerator<string>

/** How each framework streams an answer, and what it passes to its middlewares. */
const FRAMEWORKS: Record<string, (options: RateLimitOptions<object>, answer: Answer) => Promise<RequestListener>> = {
  async 'Express, by writes'(options, answer) {
    const app = express().set('env', 'test').use(expressRateLimit(options))
    app.get('/', async (req, res) => {
      try {
        for await (const part of answer(reservationOf(req))) res.write(part)
        res.end()
      } catch {
        res.destroy()
      }
    })
    return app
  },
  async Fastify(options, answer) {
    const app = fastify()
    app.addHook('onRequest', fastifyRateLimit(options))
    app.get('/', async (request, reply) => reply.send(Readable.from(answer(reservationOf(request)))))
    await app.ready()
    return app.routing as unknown as RequestListener
  },
  async 'Hono, by stream()'(options, answer) {
    const app = new Hono().use(honoRateLimit(options))
    app.get('/', (c) =>
      stream(
        c,
        async (out) => {
          for await (const part of answer(reservationOf(c))) await out.write(part)
        },
        async () => {},
      ),
    )
    return getRequestListener(app.fetch)
  },
  async Koa(options, answer) {
    const app = new Koa()
    app.on('error', () => {})
    app.use(koaRateLimit(options)).use((ctx) => {
      ctx.body = Readable.from(answer(reservationOf(ctx)))
    })
    return app.callback()
  },
}

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})
beforeAll(() => {
  jest.spyOn(console, 'error').mockImplementation(() => {})
})

async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await sleep(2)
}

function limited(policies: readonly AnyPolicyInput[] = POLICIES, onStoreError?: FailureMode) {
  const store = new MemoryStore()
  const limiter = createLimiter({ store, policies, denialTtlMs: 0, onStoreError })
  const options: RateLimitOptions<object> = {
    limiter,
    keyBy: () => 'a',
    costs: { tokens: RESERVED },
    reserve: '5m',
  }
  /** Tokens that are charged. */
  const charged = async () =>
    LIMIT - (await limiter.peek('a', { cost: 0, costs: { tokens: 0 } })).policies.tokens!.remaining
  return { store, limiter, options, charged }
}

async function serve(app: RequestListener): Promise<number> {
  const server = createServer(app).listen(0, '127.0.0.1')
  servers.push(server)
  await new Promise((resolve) => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

/** A course of one request, and the tokens that it is charged in the end. */
interface Course {
  readonly name: string
  readonly answer: Answer
  /** Whether the client leaves once it has the first byte. */
  readonly leaves?: true
  readonly charged: number
}

const COURSES: readonly Course[] = [
  {
    name: 'the handler settles it to less',
    async *answer(reservation) {
      yield 'text'
      expect(await reservation.settle(12)).toBe(true)
    },
    charged: 12,
  },
  {
    name: 'the handler settles it to more, and once more',
    async *answer(reservation) {
      expect(await reservation.settle({ costs: { tokens: 812 } })).toBe(true)
      expect(await reservation.settle(3)).toBe(false)
      yield 'text'
    },
    charged: 812,
  },
  {
    name: 'the handler debits more than is reserved',
    async *answer(reservation) {
      for (let i = 0; i < 20; i++) {
        yield 'text'
        expect(await reservation.debit(20)).toEqual({ stop: false })
      }
    },
    charged: 400,
  },
  {
    name: 'the handler debits estimates, and learns the true number in the end',
    async *answer(reservation) {
      for (let i = 0; i < 10; i++) await reservation.debit({ costs: { tokens: 3 } })
      yield 'text'
      await reservation.settle(44)
    },
    charged: 44,
  },
  {
    name: 'the handler never reads it',
    async *answer() {
      yield 'text'
    },
    charged: RESERVED,
  },
  {
    name: 'the model fails before its first token',
    // biome-ignore lint/correctness/useYield: that is the case
    async *answer() {
      throw new Error('of the model')
    },
    charged: RESERVED,
  },
  {
    name: 'the model fails in the middle',
    async *answer(reservation) {
      yield 'text'
      await reservation.debit(7)
      throw new Error('of the model')
    },
    charged: 7,
  },
  {
    name: 'the client leaves, and the model is slow',
    async *answer(reservation) {
      for (let i = 0; i < 40; i++) {
        metered += 5
        if ((await reservation.debit(5)).stop) return
        yield 'text'
        await sleep(i === 3 ? 300 : 20)
      }
    },
    leaves: true,
    get charged() {
      return metered
    },
  },
]
let metered = 0

describe.each(Object.entries(FRAMEWORKS))('%s', (_, listener) => {
  test.each(COURSES.map((course) => [course.name, course] as const))('settles once where %s', async (_, course) => {
    metered = 0
    const { limiter, options, charged } = limited()
    let token: string | undefined
    const app = await listener(options, (reservation) => {
      token = reservation.reservations[0]
      return course.answer(reservation)
    })
    const client = visit('HTTP/1.1', await serve(app), '/')
    if (course.leaves) {
      await client.begun
      client.leave()
    }
    await client.over
    await until(async () => (await charged()) === course.charged)
    await sleep(course.leaves ? 500 : 120)
    expect(await charged()).toBe(course.charged)
    if (course.leaves) expect(metered).toBeLessThan(40 * 5)
    expect(await limiter.settle(token!, 0)).toBe(false)
    expect((await limiter.peek('a', { cost: 0 })).policies.requests!.remaining).toBe(49)
  })

  test('stops a stream at the limit, and charges all that it has debited', async () => {
    const { options, charged, limiter } = limited([{ ...TOKENS, limit: 150 }])
    let debited = 0
    const app = await listener(options, async function* (reservation) {
      for (let i = 0; i < 100; i++) {
        debited += 10
        yield 'text'
        if ((await reservation.debit(10)).stop) return
      }
    })
    await visit('HTTP/1.1', await serve(app), '/').over
    await until(async () => (await charged()) !== LIMIT - 150 + RESERVED)
    expect(debited).toBeGreaterThanOrEqual(150)
    expect(debited).toBeLessThanOrEqual(170)
    expect((await limiter.take('a', { costs: { tokens: 1 } })).allowed).toBe(false)
  })

  test('settles the units and frees the slot of one limiter together', async () => {
    const { limiter, options, charged } = limited([...POLICIES, RUNNING])
    let go = () => {}
    const app = await listener(options, async function* (reservation) {
      await reservation.debit(30)
      yield 'text'
      await new Promise<void>((resolve) => {
        go = resolve
      })
    })
    const port = await serve(app)
    const client = visit('HTTP/1.1', port, '/')
    await client.begun
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).json()).toMatchObject({ status: 429, policy: 'running' })
    go()
    await client.over
    await until(async () => (await limiter.peek('a', { costs: { tokens: 1 } })).allowed)
    expect(await charged()).toBe(30)
  })

  test('a held one is settled by another process, and not by the end of the response', async () => {
    const { limiter, options, charged } = limited([...POLICIES, RUNNING])
    let tokens: readonly string[] = []
    const app = await listener(options, async function* (reservation) {
      expect(reservation.hold()).toBe(true)
      tokens = reservation.reservations
      yield 'queued'
    })
    await visit('HTTP/1.1', await serve(app), '/').over
    await sleep(150)
    expect([await charged(), (await limiter.peek('a', { costs: { tokens: 1 } })).allowed]).toEqual([RESERVED, false])
    expect(await limiter.settle(tokens[0]!, { costs: { tokens: 64 } })).toBe(true)
    expect([await charged(), (await limiter.peek('a', { costs: { tokens: 1 } })).allowed]).toEqual([64, true])
  })

  test.each([
    ['local', true],
    ['allow', true],
    ['deny', false],
  ] as const)('without the store, failure mode %s decides, and nothing is reserved', async (mode, isServed) => {
    const { store, options } = limited(POLICIES, mode)
    const fail = async () => {
      throw new StoreUnavailableError('unreachable', 'no connection')
    }
    Object.assign(store, { write: fail, read: fail })
    const seen: unknown[] = []
    const app = await listener(options, async function* (reservation) {
      seen.push(reservation.reservations, await reservation.debit(9), await reservation.settle(9))
      yield 'text'
    })
    const answer = await fetch(`http://127.0.0.1:${await serve(app)}/`)
    expect([answer.status, await answer.text()]).toEqual(isServed ? [200, 'text'] : [429, expect.any(String)])
    expect(seen).toEqual(isServed ? [[], { stop: false }, false] : [])
  })
})

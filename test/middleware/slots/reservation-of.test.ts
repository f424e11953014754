import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { createLimiter, MemoryStore } from '../../../limiter'
import { StoreUnavailableError } from '../../../limiter/errors'
import {
  expressRateLimit,
  fastifyRateLimit,
  honoRateLimit,
  koaRateLimit,
  type RateLimitOptions,
  reservationOf,
} from '../../../middleware'
import { OwnTime } from '../../in-time'
import { visit } from './client'
import { listen } from './servers'
import { Work } from './work'

const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 1, timeout: '1h' } as const

const DELAYING = [
  RUNNING,
  { name: 'pace', limit: 1, window: '8s', algorithm: 'fixed-window', action: 'delay', maxDelay: '20s' },
] as const

/** Longer than a slot is kept after the last sign of a handler. */
const QUIET = 120

async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await sleep(2)
}

function limited(store = new MemoryStore()) {
  const limiter = createLimiter({ store, policies: [RUNNING], denialTtlMs: 0 })
  const options: RateLimitOptions<object> = { limiter, keyBy: () => 'a' }
  return { limiter, options, store, isFree: async () => (await limiter.peek('a')).allowed }
}

/** An Express server with one handler, and a client's visits to it. */
async function serve(handler: express.RequestHandler, options: readonly RateLimitOptions<object>[]) {
  const app = express().set('env', 'test')
  for (const one of options) app.use(expressRateLimit(one))
  const { port, server, overAt } = await listen('HTTP/1.1', app.get('/', handler))
  servers.push(server)
  return { port, overAt, visit: () => visit('HTTP/1.1', port, '/') }
}
const servers: { close(): unknown }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

describe('a handler that goes on after its client has left', () => {
  test('is seen while it writes, and its slot is free within 100 ms after it stops', async () => {
    const { options, isFree } = limited()
    const work = new Work({ parts: 40, everyMs: 10, failsAt: 39 })
    const { visit } = await serve(
      async (_req, res) => {
        for await (const part of work.parts()) res.write(part)
      },
      [options],
    )
    const time = new OwnTime()
    const client = visit()
    await client.begun
    client.leave()
    await until(isFree)
    const freeAt = performance.now()
    time.stop()
    expect(work.endedAt).toBeLessThanOrEqual(freeAt)
    expect(time.between(work.endedAt!, freeAt)).toBeLessThan(100)
  })

  test('is seen where it pipes only then, until what it pipes stands still', async () => {
    const { options, isFree } = limited()
    const work = new Work({ parts: 1_000_000, everyMs: 0 })
    const app = new Koa()
    app.use(koaRateLimit(options)).use(async (ctx) => {
      ctx.respond = false
      ctx.res.write('begun')
      await sleep(2 * QUIET)
      Readable.from(work.parts()).pipe(ctx.res)
    })
    const { port, server } = await listen('HTTP/1.1', app.callback() as never)
    servers.push(server)
    const time = new OwnTime()
    const client = visit('HTTP/1.1', port, '/')
    await client.begun
    client.leave()
    await until(isFree)
    const freeAt = performance.now()
    time.stop()
    expect(work.beganAt).toBeLessThanOrEqual(freeAt)
    expect(time.between(work.beganAt!, freeAt)).toBeLessThan(150)
  })

  test('keeps the slot that it holds until it releases it', async () => {
    const { options, isFree } = limited()
    const work = new Work({ parts: 1, slowPart: 0 })
    const { visit } = await serve(
      async (req, res) => {
        const slot = reservationOf(req)
        expect(slot.hold()).toBe(true)
        try {
          res.send(await work.text())
        } finally {
          expect(await slot.settle()).toBe(true)
        }
      },
      [options],
    )
    const client = visit()
    await until(() => work.beganAt)
    client.leave()
    await until(isFree)
    expect(work.endedAt).toBeLessThanOrEqual(performance.now())
  })
})

describe('reservationOf', () => {
  const sendsFirst = (then: (slot: ReturnType<typeof reservationOf>) => unknown): express.RequestHandler => {
    return (req, res) => {
      const slot = reservationOf(req)
      res.send('answered')
      then(slot)
    }
  }

  test('holds a slot past its response, once it is released it is free, and that counts once', async () => {
    const { options, isFree } = limited()
    let slot: ReturnType<typeof reservationOf> | undefined
    const { visit } = await serve(
      sendsFirst((one) => {
        slot = one
        slot.hold()
      }),
      [options],
    )
    await visit().over
    await sleep(QUIET)
    expect(await isFree()).toBe(false)
    expect([await slot!.settle(), await isFree(), await slot!.settle(), slot!.hold()]).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  test('releases a slot whose response still goes on, and no other request’s', async () => {
    const { options, limiter, isFree } = limited()
    const { visit } = await serve(
      async (req, res) => {
        await reservationOf(req).settle()
        res.write('begun')
        await new Promise((resolve) => res.on('close', resolve))
      },
      [options],
    )
    const client = visit()
    await client.begun
    expect(await isFree()).toBe(true)
    const other = await limiter.acquire('a')
    client.leave()
    await sleep(QUIET)
    expect(await isFree()).toBe(false)
    await other.release()
  })

  test('has nothing to hold where a request takes no slot', async () => {
    const { options } = limited()
    const held: boolean[] = []
    const { visit } = await serve(
      sendsFirst(async (slot) => held.push(slot.hold(), await slot.settle())),
      [{ ...options, skip: () => true }],
    )
    await visit().over
    expect(held).toEqual([false, false])
  })

  test('has the slots of all middlewares of a request', async () => {
    const [first, second] = [limited(), limited()]
    let slot: ReturnType<typeof reservationOf> | undefined
    const { visit } = await serve(
      sendsFirst((one) => {
        slot = one
        slot.hold()
      }),
      [first.options, second.options],
    )
    await visit().over
    await sleep(QUIET)
    const free = async () => [await first.isFree(), await second.isFree()]
    expect(await free()).toEqual([false, false])
    expect([await slot!.settle(), await free()]).toEqual([true, [true, true]])
  })

  test('frees what one middleware has taken where another one denies', async () => {
    const [first, second] = [limited(), limited()]
    await second.limiter.acquire('a')
    const { visit } = await serve(() => {}, [first.options, second.options])
    await visit().over
    await until(first.isFree)
  })

  test('does not reject while the store is away, and releases later what it could not', async () => {
    const { options, store, isFree } = limited()
    const released: boolean[] = []
    let slot: ReturnType<typeof reservationOf> | undefined
    const away = jest.spyOn(store, 'write')
    const { visit } = await serve(
      async (req, res) => {
        slot = reservationOf(req)
        away.mockImplementation(async () => {
          throw new StoreUnavailableError('unreachable', 'no connection')
        })
        released.push(await slot.settle())
        res.send('answered')
      },
      [options],
    )
    await visit().over
    away.mockRestore()
    expect([released, await isFree()]).toEqual([[false], false])
    expect([await slot!.settle(), await isFree()]).toEqual([true, true])
  })

  test('is that of request and ctx in Fastify and Koa', async () => {
    const [inFastify, inKoa] = [limited(), limited()]
    const held: boolean[] = []
    const app = fastify().addHook('onRequest', fastifyRateLimit(inFastify.options))
    app.get('/', async (request) => held.push(reservationOf(request).hold()))
    await app.inject('/')
    const koa = new Koa()
    koa.use(koaRateLimit(inKoa.options)).use(async (ctx) => {
      ctx.body = 'answered'
      held.push(reservationOf(ctx).hold())
    })
    const { port, server } = await listen('HTTP/1.1', koa.callback() as never)
    servers.push(server)
    await visit('HTTP/1.1', port, '/').over
    await sleep(QUIET)
    expect([held, await inFastify.isFree(), await inKoa.isFree()]).toEqual([[true, true], false, false])
  })
})

describe('a client that leaves while its slot is being taken', () => {
  test.each(['HTTP/1.1', 'HTTP/2'] as const)('keeps no slot: %s', async (protocol) => {
    const { options, store, isFree } = limited()
    const original = MemoryStore.prototype.write.bind(store)
    let isAsked = false
    jest.spyOn(store, 'write').mockImplementation(async (...given) => {
      isAsked = true
      await sleep(60)
      return original(...given)
    })
    const limit = expressRateLimit(options) // of which any server can make use
    const { port, server } = await listen(protocol, (request, response) => void limit(request, response, () => {}))
    servers.push(server)
    const client = visit(protocol, port, '/')
    await until(() => isAsked)
    client.leave()
    await sleep(60)
    await until(async () => !(await isFree()))
    const time = new OwnTime()
    const takenAt = performance.now()
    await until(isFree)
    expect(time.between(takenAt, performance.now())).toBeLessThan(100 + 60 + 50)
    time.stop()
  })
})

describe('a connection that closes with pipelined requests', () => {
  test.each<[string, (work: Work) => express.RequestHandler, boolean]>([
    ['plain', (work) => async (_req, res) => void res.send(await work.text()), false],
    ['pipeline', (work) => async (_req, res) => pipeline(Readable.from(work.parts()), res), true],
  ])('frees the slots of those that are not answered yet: %s', async (_, handlerOf, isSeen) => {
    const { options, isFree } = limited()
    const work = new Work({ parts: 3, slowPart: 1 })
    const serveSecond = handlerOf(work)
    const { port } = await serve(
      (req, res, next) => {
        if (req.query.first === undefined) return serveSecond(req, res, next)
        return undefined // which is never answered
      },
      [{ ...options, skip: (req) => (req as express.Request).query.first !== undefined }],
    )
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /?first HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await until(() => work.beganAt)
    const time = new OwnTime()
    const leftAt = performance.now()
    socket.destroy()
    await until(isFree)
    time.stop()
    if (isSeen) expect(work.endedAt).toBeLessThanOrEqual(performance.now())
    else expect(time.between(leftAt, performance.now())).toBeLessThan(150)
  })
})

test('a client that leaves while its request is delayed gets its slot back where no response is shown', async () => {
  const limiter = createLimiter({ store: new MemoryStore(), policies: DELAYING, denialTtlMs: 0 })
  const app = new Hono().use(honoRateLimit({ limiter, keyBy: () => 'a' })).get('/', (c) => c.text('answered'))
  const isFree = async () => (await limiter.peek('a')).allowed
  expect((await app.request('/')).status).toBe(200)
  await until(isFree)
  const client = new AbortController()
  const left = app.request('/', { signal: client.signal })
  await until(async () => !(await isFree()))
  client.abort()
  expect((await left).status).toBe(408)
  await until(isFree)
})

test('a client of HTTP/2 that leaves while its request is delayed gets its units and its slot back', async () => {
  const limiter = createLimiter({ store: new MemoryStore(), policies: DELAYING, denialTtlMs: 0 })
  const refund = jest.spyOn(limiter, 'refund')
  const app = new Koa()
  app.use(koaRateLimit({ limiter, keyBy: () => 'a' })).use((ctx) => {
    ctx.body = 'answered'
  })
  const { port, server } = await listen('HTTP/2', app.callback() as never)
  servers.push(server)
  await visit('HTTP/2', port, '/').over
  const isFree = async () => (await limiter.peek('a')).allowed
  await until(isFree)
  const client = visit('HTTP/2', port, '/')
  await until(async () => !(await isFree()))
  client.leave()
  await until(isFree)
  expect(refund).toHaveBeenCalledTimes(1)
})

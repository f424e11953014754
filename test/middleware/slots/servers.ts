import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { stream } from 'hono/streaming'
import Koa from 'koa'
import {
  expressRateLimit,
  fastifyRateLimit,
  honoRateLimit,
  koaRateLimit,
  type RateLimitOptions,
} from '../../../middleware'
import type { Work } from './work'

/** How a handler answers. Its name says what of it is seen: the work itself, or the response alone. */
export interface Way {
  readonly name: string
  /** Whether the end of the work is seen. If not, the request ends with its response. */
  readonly isSeen: boolean
  /** Whether the answer is streamed. */
  readonly isStreamed: boolean
}
const seen = (name: string, isStreamed = true): Way => ({ name, isSeen: true, isStreamed })
const unseen = (name: string, isStreamed = true): Way => ({ name, isSeen: false, isStreamed })

interface Framework {
  readonly ways: readonly Way[]
  /** An app whose handlers are at `/<name of the way>`, each with the work that is to be done next. */
  listener(work: () => Work, options: RateLimitOptions<object>, file: string): Promise<RequestListener>
}

/** Its cancellation lasts until the work has ended, which that of `Readable.toWeb` does not. */
const webStream = (parts: AsyncIterable<Buffer>): ReadableStream =>
  (ReadableStream as unknown as { from(parts: AsyncIterable<Buffer>): ReadableStream }).from(parts)

/** Writes all parts, without a look at what becomes of them. */
async function write(work: Work, response: Pick<ServerResponse, 'write' | 'end'>): Promise<void> {
  for await (const part of work.parts()) response.write(part)
  response.end()
}

const Express: Framework = {
  ways: [
    unseen('plain', false),
    seen('pipeline'),
    unseen('pipe'),
    unseen('tee'),
    seen('destroyed'),
    unseen('writes'),
    unseen('file'),
  ],
  async listener(work, options, file) {
    const app = express().set('env', 'test').use(expressRateLimit(options))
    app.get('/plain', async (_req, res) => void res.send(await work().text()))
    app.get('/pipeline', async (_req, res) => pipeline(Readable.from(work().parts()), res))
    app.get('/pipe', (_req, res) => {
      const parts = Readable.from(work().parts())
      parts.on('error', () => res.destroy()).pipe(res)
    })
    app.get('/tee', (_req, res) => {
      const parts = Readable.from(work().parts())
      parts.on('error', () => res.destroy()).pipe(res)
      parts.pipe(new PassThrough().resume())
    })
    app.get('/destroyed', (_req, res) => {
      const parts = Readable.from(work().parts())
      parts.on('error', () => res.destroy()).pipe(res)
      res.on('close', () => parts.destroy())
    })
    app.get('/writes', async (_req, res) => write(work(), res))
    app.get('/file', (_req, res) => res.sendFile(file, () => {}))
    return app
  },
}

const Fastify: Framework = {
  ways: [
    seen('plain', false),
    unseen('callback', false),
    seen('readable'),
    seen('sent'),
    unseen('web'),
    seen('iterable'),
    seen('response'),
    seen('hijacked-pipeline'),
    unseen('hijacked-writes'),
    seen('waits-and-pipes'),
  ],
  async listener(work, options) {
    let handle: RequestListener | undefined
    const serverFactory = (listener: RequestListener) => {
      handle = listener
      return createServer()
    }
    const app = fastify({ serverFactory }).addHook('onRequest', fastifyRateLimit(options))
    app.get('/plain', async () => work().text())
    app.get('/callback', (_request, reply) => {
      work()
        .text()
        .then(
          (text) => reply.send(text),
          (error) => reply.send(error),
        )
    })
    app.get('/readable', async () => Readable.from(work().parts()))
    app.get('/sent', (_request, reply) => void reply.send(Readable.from(work().parts())))
    app.get('/web', async () => Readable.toWeb(Readable.from(work().parts())))
    app.get('/iterable', async () => webStream(work().parts()))
    app.get('/response', async () => new Response(webStream(work().parts())))
    app.get('/hijacked-pipeline', async (_request, reply) => {
      reply.hijack()
      await pipeline(Readable.from(work().parts()), reply.raw)
    })
    app.get('/hijacked-writes', async (_request, reply) => {
      reply.hijack()
      await write(work(), reply.raw).catch(() => reply.raw.destroy())
    })
    app.get('/waits-and-pipes', async (_request, reply) => {
      await pipeline(Readable.from(work().parts()), reply.raw).catch(() => {})
      return reply
    })
    await app.ready()
    return (request, response) => handle!(request, response)
  },
}

const HonoFramework: Framework = {
  ways: [seen('plain', false), unseen('readable'), seen('iterable'), unseen('helper')],
  async listener(work, options) {
    const app = new Hono().use(honoRateLimit(options))
    app.get('/plain', async (c) => c.text(await work().text()))
    app.get('/readable', () => new Response(Readable.toWeb(Readable.from(work().parts())) as never))
    app.get('/iterable', () => new Response(webStream(work().parts())))
    app.get('/helper', (c) =>
      stream(c, async (out) => {
        for await (const part of work().parts()) await out.write(part)
      }),
    )
    app.onError((_error, c) => c.text('Internal Server Error', 500))
    return getRequestListener(app.fetch) as RequestListener
  },
}

const KoaFramework: Framework = {
  ways: [seen('plain', false), seen('readable'), seen('iterable'), seen('own-pipeline'), seen('own-writes')],
  async listener(work, options) {
    const app = new Koa()
    app.use(koaRateLimit(options))
    app.silent = true
    app.use(async (ctx) => {
      if (ctx.path === '/plain') ctx.body = await work().text()
      if (ctx.path === '/readable') ctx.body = Readable.from(work().parts())
      if (ctx.path === '/iterable') ctx.body = webStream(work().parts())
      if (!ctx.path.startsWith('/own')) return
      ctx.respond = false
      if (ctx.path === '/own-pipeline') await pipeline(Readable.from(work().parts()), ctx.res)
      else
        await write(work(), ctx.res).catch((error) => {
          ctx.res.destroy()
          throw error
        })
    })
    return app.callback() as RequestListener
  },
}

const FRAMEWORKS = { Express, Fastify, Hono: HonoFramework, Koa: KoaFramework } as const

/** Express does not run on Node's HTTP/2: it gives requests the prototype of HTTP/1.1. */
export const CASES = Object.entries(FRAMEWORKS).flatMap(([name, framework]) =>
  (['HTTP/1.1', 'HTTP/2'] as const)
    .filter((protocol) => name !== 'Express' || protocol === 'HTTP/1.1')
    .map((protocol) => [name, protocol, framework] as const),
)

/** A server on loopback, and when the last response was over. */
export async function listen(protocol: 'HTTP/1.1' | 'HTTP/2', listener: RequestListener) {
  const overAt: { last?: number } = {}
  const server = (protocol === 'HTTP/2' ? createHttp2Server() : createServer()) as Server
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    delete overAt.last
    response.setMaxListeners(20) // for the listener of this test is one more
    response.once('close', () => {
      overAt.last = performance.now()
    })
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, overAt, server }
}

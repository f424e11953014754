import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { type ServerType, serve } from '@hono/node-server'
import express from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { type Context, Hono } from 'hono'
import Koa from 'koa'
import type { RateLimitOptions } from '../../middleware'
import {
  decisionOf,
  expressRateLimit,
  fastifyRateLimit,
  honoRateLimit,
  koaRateLimit,
  reservationOf,
} from '../../middleware'

/** What a test says of a server, in the words of no framework. */
export interface Setup {
  /** One for each middleware, in the order of use. */
  readonly limits: readonly RateLimitOptions<Asked>[]
  /** How many proxies stand in front. @default none */
  readonly proxies?: number
  /** What the handler of `/slow` waits for. */
  readonly slow?: () => Promise<unknown>
}

/** What the options' functions get to see of a request. */
export interface Asked {
  header(name: string): string | undefined
}

/** A server on loopback, and which paths its handlers were asked for. */
export interface Served {
  readonly url: string
  readonly handled: string[]
  /** What the error handler of the framework, or its log, was told. */
  readonly errors: unknown[]
  close(): Promise<void>
}

export const CHUNKS = ['one ', 'two ', 'three']
const OWN = { 'Retry-After': '7', 'X-RateLimit-Limit': 'own' }

/** The options with functions of a framework's request, which all ask for headers only. */
const of = <Request>(
  { limiter, keyBy, cost, costs, skip, ...others }: RateLimitOptions<Asked>,
  asked: (request: Request) => Asked,
): RateLimitOptions<Request> => {
  const by = <Value>(value: Value | ((one: Asked) => Value | Promise<Value>)) =>
    typeof value === 'function'
      ? (request: Request) => (value as (one: Asked) => Value | Promise<Value>)(asked(request))
      : value
  const mapped = { limiter: by(limiter), keyBy: by(keyBy), cost: by(cost), costs: by(costs), skip: by(skip) }
  return { ...others, ...mapped } as RateLimitOptions<Request>
}

async function serveExpress({ limits, proxies = 0, slow = async () => {} }: Setup): Promise<Served> {
  const app = express()
  const [handled, errors]: [string[], unknown[]] = [[], []]
  app.set('trust proxy', proxies)
  for (const limit of limits)
    app.use(expressRateLimit(of(limit, (req: express.Request) => ({ header: (name) => req.get(name) }))))
  app.use((req, _res, next) => {
    handled.push(req.path)
    next()
  })
  app.get('/error', () => {
    throw new Error('of the handler')
  })
  app.get('/own', (_req, res) => void res.set(OWN).send('own'))
  app.get('/slow', async (req, res) => {
    reservationOf(req).hold() // Express does not show when a handler ends
    await slow()
    await reservationOf(req).settle()
    res.send('slow')
  })
  app.get('/stream', (_req, res) => void Readable.from(CHUNKS).pipe(res))
  app.use((req, res) => void res.send(decisionOf(req)?.priority ?? 'uncounted'))
  app.use((error: unknown, _req: express.Request, _res: express.Response, next: express.NextFunction) => {
    errors.push(error)
    next(error)
  })
  app.set('env', 'test') // whose errors are not printed
  return served(app.listen(0, '127.0.0.1'), handled, errors)
}

async function serveFastify({ limits, proxies = 0, slow = async () => {} }: Setup): Promise<Served> {
  const app = fastify({ trustProxy: (_address: string, hop: number) => hop < proxies, forceCloseConnections: true })
  const [handled, errors]: [string[], unknown[]] = [[], []]
  const asked = ({ headers }: FastifyRequest) => ({ header: (name: string) => headers[name]?.toString() })
  for (const limit of limits) app.addHook('onRequest', fastifyRateLimit(of(limit, asked)))
  app.addHook('preHandler', async ({ url }) => void handled.push(url))
  app.addHook('onError', async (_request, _reply, error) => void errors.push(error))
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.get('/error', async () => {
    throw new Error('of the handler')
  })
  app.get('/own', async (_request, reply) => reply.headers(OWN).send('own'))
  app.get('/slow', async () => {
    await slow()
    return 'slow'
  })
  app.get('/stream', async (_request, reply) => reply.send(Readable.from(CHUNKS)))
  app.all('/*', async (request) => decisionOf(request)?.priority ?? 'uncounted')
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { url: urlOf(app.server.address()), handled, errors, close: () => app.close() }
}

async function serveHono({ limits, proxies = 0, slow = async () => {} }: Setup): Promise<Served> {
  const app = new Hono()
  const [handled, errors]: [string[], unknown[]] = [[], []]
  const forwarded = (c: Context) => c.req.header('x-forwarded-for')?.split(',').at(-proxies)?.trim()
  for (const limit of limits) {
    const options = of(limit, (c: Context) => ({ header: (name) => c.req.header(name) }))
    app.use(honoRateLimit(proxies > 0 ? { ...options, address: forwarded } : options))
  }
  app.use(async (c, next) => {
    handled.push(c.req.path)
    await next()
  })
  app.get('/error', () => {
    throw new Error('of the handler')
  })
  app.get('/slow', async (c) => {
    await slow()
    return c.text('slow')
  })
  app.get('/own', () => new Response('own', { headers: OWN }))
  app.get(
    '/stream',
    () => new Response(Readable.toWeb(Readable.from(CHUNKS.map((text) => Buffer.from(text)))) as never),
  )
  app.all('*', (c) => c.text(decisionOf(c)?.priority ?? 'uncounted'))
  app.onError((error, c) => {
    errors.push(error)
    return c.text('Internal Server Error', 500)
  })
  const server = await new Promise<ServerType>((resolve) => {
    const made: ServerType = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(made))
  })
  return {
    url: urlOf(server.address()),
    handled,
    errors,
    close: () => ended(server as Server),
  }
}

async function serveKoa({ limits, proxies = 0, slow = async () => {} }: Setup): Promise<Served> {
  const app = new Koa({ proxy: proxies > 0, maxIpsCount: proxies })
  const [handled, errors]: [string[], unknown[]] = [[], []]
  app.on('error', (error) => errors.push(error))
  for (const limit of limits)
    app.use(koaRateLimit(of(limit, (ctx: Koa.Context) => ({ header: (name) => ctx.get(name) || undefined }))))
  app.use(async (ctx) => {
    handled.push(ctx.path)
    if (ctx.path === '/error') throw new Error('of the handler')
    if (ctx.path === '/slow') await slow()
    if (ctx.path === '/own') ctx.set(OWN)
    if (ctx.path === '/stream') ctx.body = Readable.from(CHUNKS)
    else ctx.body = ctx.path === '/own' ? 'own' : (decisionOf(ctx)?.priority ?? 'uncounted')
  })
  return served(app.listen(0, '127.0.0.1'), handled, errors)
}

/** A server of Node's own that begins to listen. */
async function served(server: Server, handled: string[], errors: unknown[]): Promise<Served> {
  await new Promise((resolve) => server.once('listening', resolve))
  return { url: urlOf(server.address()), handled, errors, close: () => ended(server) }
}

const ended = (server: Server) =>
  new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

const urlOf = (address: string | AddressInfo | null) => `http://127.0.0.1:${(address as AddressInfo).port}`

export const SERVERS = { Express: serveExpress, Fastify: serveFastify, Hono: serveHono, Koa: serveKoa } as const

import { tracingChannel } from 'node:diagnostics_channel'
import { onCall } from '../backend/running-request'
import type { NamedValues } from '../tiered/tiered-request'
import { Connection, type ServerStream } from './connection'
import type { RateLimitOptions } from './options'
import { RequestLimiter } from './request-limiter'

/** The part of Fastify's request that is used here. */
export interface FastifyRequest {
  readonly ip: string
  readonly method: string
  readonly originalUrl: string
  readonly headers: NamedValues
}

/** The part of Fastify's reply that is used here. */
export interface FastifyReply {
  readonly raw: ServerStream
  code(status: number): unknown
  headers(headers: Record<string, string>): unknown
  send(body: string): unknown
  hijack(): unknown
}

/**
 * For Fastify, as a hook of all routes, `app.addHook('onRequest', fastifyRateLimit({ limiter }))`, or of one,
 * `{ onRequest: … }`. A `keyBy` or `cost` that reads the body wants the hook `preHandler`. The address is `request.ip`,
 * which follows the option `trustProxy`.
 *
 * @throws ConfigError with every mistake in the options.
 */
export function fastifyRateLimit<Request extends FastifyRequest = FastifyRequest>(
  options: RateLimitOptions<Request>,
): (request: Request, reply: FastifyReply) => Promise<unknown> {
  const limiter = new RequestLimiter<Request>(options, {
    addressOf: ({ ip }) => ip,
    factsOf: ({ method, originalUrl: url, headers }) => ({ method, url, headers }),
  })
  return async (request, reply) => {
    const connection = new Connection(reply.raw)
    const outcome = await limiter.decide(request, connection)
    if (connection.isWatched) traceHandlers()
    if (outcome.kind === 'passes') {
      connections.set(request, [...(connections.get(request) ?? []), connection])
      reply.headers({ ...outcome.headers })
      return undefined
    }
    if (outcome.kind === 'left') return reply.hijack()
    const { statusCode, headers, body } = outcome.response
    reply.code(statusCode)
    reply.headers(headers)
    reply.send(body)
    return reply // which tells Fastify that the hook has answered
  }
}

/** For each request that a handler will serve. */
const connections = new WeakMap<object, readonly Connection[]>()
const handlerEnds = new WeakMap<object, () => void>()

type Method = (...args: never[]) => unknown

/** What Fastify publishes about a handler. */
interface Trace {
  readonly request: object
  readonly reply: Record<'hijack' | 'then' | 'send', Method>
  readonly async?: boolean
}

const endHandler = ({ request }: Trace) => handlerEnds.get(request)?.()

const HANDLERS = {
  start({ request, reply }: Trace) {
    const watching = connections.get(request)
    if (!watching) return
    const ends = watching.map((connection) => connection.begin())
    const end = () => {
      for (const endPart of ends) endPart()
    }
    handlerEnds.set(request, end)
    // a handler that returns the reply has ended; what a handler does after hijacking the reply is not visible
    onCall(reply, 'then', end)
    onCall(reply, 'hijack', end)
    onCall(reply, 'send', (payload) => {
      for (const connection of watching) connection.watchBody(payload instanceof Response ? payload.body : payload)
    })
  },
  end(trace: Trace) {
    if (!trace.async) endHandler(trace)
  },
  asyncStart() {},
  asyncEnd: endHandler,
  error() {},
}

let isTracing = false

/**
 * Makes each handler a part of its request, once for the process.
 *
 * @see https://fastify.dev/docs/latest/Reference/Hooks/#diagnostics-channel-hooks
 */
function traceHandlers(): void {
  if (isTracing) return
  isTracing = true
  tracingChannel<unknown, Trace>('fastify.request.handler').subscribe(HANDLERS)
}

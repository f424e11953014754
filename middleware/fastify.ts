import { connectionOf, type NodeResponse } from './connection'
import type { RateLimitOptions } from './options'
import { RequestLimiter } from './request-limiter'

/** As much of Fastify's request as is used here. */
export interface FastifyRequest {
  readonly ip: string
}

/** As much of Fastify's reply as is used here. */
export interface FastifyReply {
  readonly raw: Pick<NodeResponse, 'destroyed' | 'writableEnded' | 'writableFinished' | 'end' | 'once'>
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
  const limiter = new RequestLimiter(options, ({ ip }) => ip)
  return async (request, reply) => {
    const outcome = await limiter.decide(request, connectionOf(reply.raw))
    if (outcome.kind === 'passes') {
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

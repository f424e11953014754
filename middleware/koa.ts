import type { NamedValues } from '../tiered/tiered-request'
import { Connection, type NodeResponse, setHeaders } from './connection'
import type { RateLimitOptions } from './options'
import { RequestLimiter } from './request-limiter'

/** The part of Koa's context that is used here. */
export interface KoaContext {
  readonly ip: string
  readonly method: string
  readonly originalUrl: string
  readonly headers: NamedValues
  readonly res: NodeResponse & { writeHead: (...args: never[]) => unknown }
  status: number
  body: unknown
  set(headers: Record<string, string>): unknown
}

/**
 * For Koa: `app.use(koaRateLimit({ limiter }))`. The address is `ctx.ip`, which follows `app.proxy`; then set
 * `app.maxIpsCount` to the number of your proxies, or callers choose their address.
 *
 * @throws ConfigError with every mistake in the options.
 */
export function koaRateLimit<Context extends KoaContext = KoaContext>(
  options: RateLimitOptions<Context>,
): (ctx: Context, next: () => Promise<unknown>) => Promise<void> {
  const limiter = new RequestLimiter<Context>(options, {
    addressOf: ({ ip }) => ip,
    factsOf: ({ method, originalUrl: url, headers }) => ({ method, url, headers }),
  })
  return async (ctx, next) => {
    const connection = new Connection(ctx.res)
    const outcome = await limiter.decide(ctx, connection)
    if (outcome.kind === 'left') return
    if (outcome.kind === 'denied') {
      const { statusCode, headers, body } = outcome.response
      ctx.set(headers)
      ctx.status = statusCode
      ctx.body = body
      return
    }
    ctx.set({ ...outcome.headers })
    const handled = connection.begin()
    try {
      await next()
    } catch (error) {
      keep(outcome.headers, ctx.res)
      throw error
    } finally {
      handled()
    }
  }
}

/** Adds headers again when the response begins: Koa removes all before it answers an error. */
function keep(headers: Readonly<Record<string, string>>, response: KoaContext['res']): void {
  const { writeHead } = response
  response.writeHead = (...args) => {
    const missing = Object.entries(headers).filter(([name]) => !response.headersSent && !response.hasHeader(name))
    setHeaders(response, Object.fromEntries(missing))
    return writeHead.apply(response, args)
  }
}

import { Connection, type ServerStream } from './connection'
import type { RateLimitOptions } from './options'
import { RequestLimiter } from './request-limiter'

/** The part of Hono's context that is used here. */
export interface HonoContext {
  /** The bindings of the runtime; those of `@hono/node-server` have the request of Node. */
  readonly env: unknown
  readonly req: {
    readonly method: string
    readonly url: string
    readonly raw: { readonly signal: AbortSignal; readonly headers: Headers }
  }
  res: Response
  header(name: string, value: string): void
  body(body: string | null, status: 401 | 408 | 429 | 500, headers?: Record<string, string>): Response
}

/**
 * For Hono: `app.use(honoRateLimit({ limiter }))`. On Node's server the address is that of the connection; elsewhere,
 * and behind proxies, set `address`: `(c) => getConnInfo(c).remote.address`, with the `getConnInfo` of the runtime.
 *
 * @throws ConfigError with every mistake in the options.
 */
export function honoRateLimit<Context extends HonoContext = HonoContext>(
  options: RateLimitOptions<Context>,
): (c: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const limiter = new RequestLimiter<Context>(options, {
    addressOf: peerOf,
    factsOf: ({ req: { method, url, raw } }) => ({ method, url, headers: Object.fromEntries(raw.headers) }),
  })
  return async (c, next) => {
    const { outgoing } = bindingsOf(c)
    const connection = new Connection(outgoing, c.req.raw.signal)
    const outcome = await limiter.decide(c, connection)
    if (outcome.kind === 'left') return c.body(null, 408)
    if (outcome.kind === 'denied') {
      const { statusCode, headers, body } = outcome.response
      return c.body(body, statusCode as 401 | 429 | 500, headers)
    }
    const handled = connection.begin()
    try {
      await next()
      if (connection.isWatched && outgoing) connection.watchBody(c.res.body)
      else if (connection.isWatched && c.res.body) c.res = new Response(connection.watchedBody(c.res.body), c.res)
    } finally {
      handled()
    }
    if (c.res.status < 200) return undefined // a changed protocol: no response can be made of it
    for (const [name, value] of Object.entries(outcome.headers)) if (!c.res.headers.has(name)) c.header(name, value)
    return undefined
  }
}

interface NodeBindings {
  readonly outgoing?: ServerStream
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } }
}

const bindingsOf = ({ env }: HonoContext): NodeBindings => (env ?? {}) as NodeBindings

function peerOf(c: HonoContext): string | undefined {
  const { incoming } = bindingsOf(c)
  if (incoming) return incoming.socket?.remoteAddress
  throw new Error(
    'honoRateLimit needs the option address, or keyBy: this runtime does not give the address of the client',
  )
}

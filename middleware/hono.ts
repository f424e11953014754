import { type Connection, connectionOf, type NodeResponse } from './connection'
import type { RateLimitOptions } from './options'
import { RequestLimiter } from './request-limiter'

/** As much of Hono's context as is used here. */
export interface HonoContext {
  /** The bindings of the runtime; those of `@hono/node-server` have the request of Node. */
  readonly env: unknown
  readonly req: { readonly raw: { readonly signal: AbortSignal } }
  readonly res: { readonly status: number; readonly headers: { has(name: string): boolean } }
  header(name: string, value: string): void
  body(body: string | null, status: 429 | 408, headers?: Record<string, string>): Response
}

/**
 * For Hono: `app.use(honoRateLimit({ limiter }))`. On Node's server the address is that of the connection; elsewhere,
 * and behind proxies, `address` says it: `(c) => getConnInfo(c).remote.address`, with the `getConnInfo` of the
 * runtime.
 *
 * @throws ConfigError with every mistake in the options.
 */
export function honoRateLimit<Context extends HonoContext = HonoContext>(
  options: RateLimitOptions<Context>,
): (c: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const limiter = new RequestLimiter(options, peerOf)
  return async (c, next) => {
    const connection = connectionTo(c)
    const outcome = await limiter.decide(c, connection)
    if (outcome.kind === 'left') return c.body(null, 408)
    if (outcome.kind === 'denied') return c.body(outcome.response.body, 429, outcome.response.headers)
    try {
      await next()
    } finally {
      connection.handled()
    }
    if (c.res.status < 200) return undefined // a changed protocol: no response can be made of it
    for (const [name, value] of Object.entries(outcome.headers)) if (!c.res.headers.has(name)) c.header(name, value)
    return undefined
  }
}

interface NodeBindings {
  readonly outgoing?: NodeResponse
  readonly incoming?: { readonly socket?: { readonly remoteAddress?: string } }
}

/** Where the runtime does not show its response, a request ends when its handler has returned one. */
function connectionTo({ env, req }: HonoContext): Connection {
  const { outgoing } = (env ?? {}) as NodeBindings
  let end = () => {}
  const leaving = () => req.raw.signal
  if (outgoing) return { ...connectionOf(outgoing), leaving }
  return {
    leaving,
    onEnd(listener) {
      end = listener
    },
    handled: () => end(),
  }
}

function peerOf({ env }: HonoContext): string | undefined {
  const { incoming } = (env ?? {}) as NodeBindings
  if (incoming) return incoming.socket?.remoteAddress
  throw new Error('honoRateLimit needs the option address, or keyBy: this runtime does not say who is calling')
}

import type { NamedValues } from '../tiered/tiered-request'
import { Connection, type NodeResponse, setHeaders } from './connection'
import type { RateLimitOptions } from './options'
import { RequestLimiter } from './request-limiter'

/** The part of Express's request that is used here; any server that calls `(req, res, next)` has it. */
export interface ExpressRequest {
  readonly method?: string | undefined
  readonly originalUrl?: string | undefined
  readonly url?: string | undefined
  readonly headers?: NamedValues | undefined
  readonly ip?: string | undefined
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/**
 * For Express and whatever calls middlewares as it does: `app.use(expressRateLimit({ limiter }))`. The address is
 * `req.ip`, which follows Express's setting `trust proxy`.
 *
 * @throws ConfigError with every mistake in the options.
 */
export function expressRateLimit<Request extends ExpressRequest = ExpressRequest>(
  options: RateLimitOptions<Request>,
): (req: Request, res: NodeResponse, next: (error?: unknown) => void) => Promise<void> {
  const limiter = new RequestLimiter<Request>(options, {
    addressOf: ({ ip, socket }) => ip ?? socket.remoteAddress,
    factsOf: ({ method = '', originalUrl, url = '', headers }) => ({ method, url: originalUrl ?? url, headers }),
  })
  const passes = async (req: Request, res: NodeResponse): Promise<boolean> => {
    const outcome = await limiter.decide(req, new Connection(res))
    if (outcome.kind === 'passes') setHeaders(res, outcome.headers)
    if (outcome.kind === 'denied') {
      const { statusCode, headers, body } = outcome.response
      res.statusCode = statusCode
      setHeaders(res, { ...headers, 'Content-Length': String(Buffer.byteLength(body)) })
      res.end(body as never)
    }
    return outcome.kind === 'passes'
  }
  return async (req, res, next) => {
    let goesOn: boolean
    try {
      goesOn = await passes(req, res)
    } catch (error) {
      next(error)
      return
    }
    if (goesOn) next()
  }
}

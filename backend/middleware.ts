import { fromEvent } from './gateway-context'
import { type TooManyRequests, tooManyRequests, withHeaders } from './responses'
import { waitForTurn } from './turn'
import type { BackendOptions } from './with-rate-limit'

/**
 * The part of middy's request that is used here, so that middy is not a dependency. @see
 * https://middy.js.org/docs/intro/how-it-works
 */
interface Request {
  readonly event: unknown
  readonly context: unknown
  response: unknown
}

/** A middleware of middy: `middy(handler).use(rateLimit())`. */
export interface RateLimitMiddleware {
  /** Answers a request that is over the limit with 429, and delays one that has a delay. */
  before(request: Request): Promise<TooManyRequests | undefined>
  /** Adds the headers of the decision to the response. */
  after(request: Request): void
  /** Adds the headers of the decision to the response that another middleware made from an error. */
  onError(request: Request): void
}

/**
 * `withRateLimit` for handlers that are built with middy. Use it first: then responses that other middlewares make from
 * errors get the headers, too, and a request over the limit does not run the others.
 */
export function rateLimit({ maxDelayMs }: BackendOptions = {}): RateLimitMiddleware {
  const addHeaders = (request: Request) => {
    request.response = withHeaders(request.response, fromEvent(request.event))
  }
  return {
    async before({ event, context }) {
      const decision = fromEvent(event)
      if (decision.turnedAway) return tooManyRequests(decision)
      await waitForTurn(decision.delayMs, context, maxDelayMs)
      return undefined
    },
    after: addHeaders,
    onError: addHeaders,
  }
}

import { fields, fromEvent } from './gateway-context'
import { isSuccess, type TooManyRequests, tooManyRequests, withHeaders } from './responses'
import { beginSettling, type CostNow, prepareToSettle, type RequestSettling } from './settling'
import { endingWith, isStream } from './streamed-response'
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

/** How `rateLimit` treats requests that are let through. */
export interface RateLimitOptions extends BackendOptions {
  /**
   * What a request has really used, as for `withRateLimit`. @default not known
   */
  readonly cost?: ((event: never, response: never) => CostNow) | undefined
}

/** A middleware of middy: `middy(handler).use(rateLimit())`. */
export interface RateLimitMiddleware {
  /** Answers a request that is over the limit with 429, and delays one that has a delay. */
  before(request: Request): Promise<TooManyRequests | undefined>
  /**
   * Adds the headers of the decision to the response, and settles what the request holds: once its body is over, where
   * that is a stream.
   */
  after(request: Request): Promise<void>
  /** Adds the headers of the decision to the response that another middleware made from an error, and settles. */
  onError(request: Request): Promise<void>
}

/**
 * `withRateLimit` for handlers that are built with middy. Use it first: then responses that other middlewares make from
 * errors get the headers, too, and a request over the limit does not run the others.
 *
 * Where another middleware answers early, middy runs no more of them: that request is not settled. Where one does so,
 * wrap what `middy` returns with `withRateLimit`.
 */
export function rateLimit(options: RateLimitOptions = {}): RateLimitMiddleware {
  prepareToSettle(options)
  const settlings = new WeakMap<Request, RequestSettling>()
  const addHeaders = (request: Request) => {
    request.response = withHeaders(request.response, fromEvent(request.event))
  }
  return {
    async before(request) {
      const { event, context } = request
      const decision = fromEvent(event)
      if (decision.turnedAway) return tooManyRequests(decision)
      const settling = beginSettling(decision, options)
      if (settling) settlings.set(request, settling)
      await waitForTurn(decision.delayMs, [context], options.maxDelayMs)
      return undefined
    },
    async after(request) {
      const { event, response } = request
      addHeaders(request)
      const settling = settlings.get(request)
      if (fromEvent(event).opensConnection && isSuccess(response)) settling?.leave()
      const end = () => settling?.end(() => options.cost?.(event as never, response as never))
      const streamed = settling && withBody(request.response, (body) => endingWith(body, end))
      if (streamed === undefined) await end()
      else request.response = streamed
    },
    async onError(request) {
      addHeaders(request)
      await settlings.get(request)?.end()
    },
  }
}

/** A streamed response, or one with a streamed body, with another stream; `undefined` for any other one. */
function withBody(response: unknown, made: (body: AsyncIterable<unknown>) => unknown): unknown {
  if (isStream(response)) return made(response)
  const { body } = fields(response)
  return isStream(body) ? { ...fields(response), body: made(body) } : undefined
}

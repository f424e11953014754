import { fromEvent } from './gateway-context'
import { type TooManyRequests, tooManyRequests, withHeaders } from './responses'
import { waitForTurn } from './turn'

/** A Lambda handler: the event first, then the context. What it returns may be a promise. */
export type Handler<Args extends unknown[], Result> = (...args: Args) => Result

/** What `withRateLimit` and `rateLimit` have in common. */
export interface BackendOptions {
  /** The longest delay of a request, in milliseconds. @default 10000 */
  readonly maxDelayMs?: number
}

/** How `withRateLimit` treats requests that are let through. */
export interface WithRateLimitOptions<Args extends unknown[], Result> extends BackendOptions {
  /**
   * Serves requests of low priority, for example from a cache or through a queue.
   * @default the handler serves them like all others
   */
  readonly lowPriority?: Handler<Args, Result>
}

/**
 * Wraps a handler behind a REST or HTTP API that Sluice protects. Its responses get the decision's headers. A request
 * over the limit that an HTTP API passed on is answered 429 without calling the handler. A request with a delay waits
 * first.
 *
 * Errors pass through, and so do requests that did not pass Sluice.
 */
export function withRateLimit<Args extends unknown[], Result>(
  handler: Handler<Args, Result>,
  options: WithRateLimitOptions<Args, Result> = {},
): (...args: Args) => Promise<Awaited<Result> | TooManyRequests> {
  return async (...args): Promise<Awaited<Result> | TooManyRequests> => {
    const [event, context] = args
    const decision = fromEvent(event)
    if (decision.turnedAway) return tooManyRequests(decision)
    await waitForTurn(decision.delayMs, context, options.maxDelayMs)
    const serve = decision.lowPriority ? (options.lowPriority ?? handler) : handler
    return withHeaders<Awaited<Result>>(await serve(...args), decision)
  }
}

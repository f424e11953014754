import { fromEvent } from './gateway-context'
import { type TooManyRequests, tooManyRequests, withHeaders } from './responses'
import { waitForTurn } from './turn'

/** A Lambda handler: the event first, then the context. What it returns may be a promise. */
export type Handler<Args extends unknown[], Result> = (...args: Args) => Result

/** What `withRateLimit` and `rateLimit` have in common. */
export interface BackendOptions {
  /** The longest wait for a request's turn, in milliseconds. @default 10000 */
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
 * Wraps a handler behind a REST or HTTP API that Sluice protects: its responses get the decision's headers, a request
 * over the limit that an HTTP API let through is answered 429 without it, and a request that has to wait for its turn
 * waits.
 *
 * Errors pass through, and so do requests that did not come by Sluice.
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

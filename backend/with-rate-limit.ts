import { fromEvent } from './gateway-context'
import { isSuccess, type TooManyRequests, tooManyRequests, withHeaders } from './responses'
import type { Settlements } from './settlements'
import { beginSettling, type CostNow, prepareToSettle, type SettleOptions } from './settling'
import { streamEnd } from './streamed-response'
import { waitForTurn } from './turn'

/** A Lambda handler: the event first, then the context. What it returns may be a promise. */
export type Handler<Args extends unknown[], Result> = (...args: Args) => Result

/** What `withRateLimit` and `rateLimit` have in common. */
export interface BackendOptions extends SettleOptions {
  /** The longest delay of a request, in milliseconds. @default 10000 */
  readonly maxDelayMs?: number | undefined
}

/** How `withRateLimit` treats requests that are let through. */
export interface WithRateLimitOptions<Args extends unknown[], Result> extends BackendOptions {
  /**
   * Serves requests of low priority, for example from a cache or through a queue.
   * @default the handler serves them like all others
   */
  readonly lowPriority?: Handler<Args, Result> | undefined
  /**
   * What a request has really used, of everything that `settle` reserves or by the name of each cost. It is called once
   * the handler has answered.
   *
   * @returns `undefined` where it is not known: the request stays charged as it was reserved.
   * @default not known
   */
  readonly cost?: ((event: Args[0], result: Awaited<Result>) => CostNow) | undefined
}

/**
 * Wraps a handler behind an API that Sluice protects. Its responses get the decision's headers. A request
 * over the limit that an HTTP API passed on is answered 429 without calling the handler. A request with a delay waits
 * first.
 *
 * Once the handler has ended, by an error too, a request that holds units or a slot is settled; where the handler
 * streams its answer, once that is over as well. That never makes an answer fail, and delays it by `settleWithinMs` at
 * most. Where wrappers are nested, the outermost settles. Wrap a streaming handler inside:
 * `awslambda.streamifyResponse(withRateLimit(handler))`.
 *
 * What opens a WebSocket is settled once its connection has ended: wrap the handler of `$disconnect`, too. Its messages
 * are not counted here, but by `withMessageLimit` of `sluice/tiered`.
 *
 * Errors pass through, and so do requests that did not pass Sluice.
 */
export function withRateLimit<Args extends unknown[], Result>(
  handler: Handler<Args, Result>,
  options: WithRateLimitOptions<Args, Result> = {},
): (...args: Args) => Promise<Awaited<Result> | TooManyRequests> {
  return rateLimited(handler, options)
}

/** @param settlements by whom requests are settled. @default by the function, in the table of its environment */
export function rateLimited<Args extends unknown[], Result>(
  handler: Handler<Args, Result>,
  options: WithRateLimitOptions<Args, Result>,
  settlements?: Settlements,
): (...args: Args) => Promise<Awaited<Result> | TooManyRequests> {
  prepareToSettle(options)
  return async (...args): Promise<Awaited<Result> | TooManyRequests> => {
    const decision = fromEvent(args[0])
    if (decision.turnedAway) return tooManyRequests(decision)
    return withHeaders<Awaited<Result>>(await serveDecided(handler, args, options, settlements), decision)
  }
}

/** Serves a request whose decision lets it through: after its delay, and settled once it has ended. */
export async function serveDecided<Args extends unknown[], Result>(
  handler: Handler<Args, Result>,
  args: Args,
  options: WithRateLimitOptions<Args, Result>,
  settlements?: Settlements,
): Promise<Awaited<Result>> {
  const [event, ...others] = args
  const decision = fromEvent(event)
  const settling = beginSettling(decision, options, settlements)
  const streamed = settling && streamEnd(others)
  let cost: (() => CostNow) | undefined
  try {
    await waitForTurn(decision.delayMs, others, options.maxDelayMs)
    const serve = decision.lowPriority ? (options.lowPriority ?? handler) : handler
    const result = await serve(...args)
    cost = () => options.cost?.(event, result)
    if (decision.opensConnection && isSuccess(result)) settling?.leave()
    await streamed
    return result
  } finally {
    await settling?.end(cost)
  }
}

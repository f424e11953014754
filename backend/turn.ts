/** API Gateway gives an integration 29 s, and the handler needs some of them. */
const MAX_WAIT_MS = 10_000

/** Time left for the function after the wait, in milliseconds, so that the handler can still answer. */
const SPARE_MS = 1000

interface LambdaContext {
  getRemainingTimeInMillis?(): number
}

/**
 * Delays the request by the `delayMs` of its decision, but at most by `maxDelayMs`, and never into the function's last
 * second. Lambda bills the function while it waits.
 *
 * @param given the handler's arguments: one of them is Lambda's context, after the stream if the response is streamed.
 */
export async function waitForTurn(
  delayMs: number,
  given: readonly unknown[],
  maxDelayMs: number = MAX_WAIT_MS,
): Promise<void> {
  const contexts = given as readonly (LambdaContext | null | undefined)[]
  const context = contexts.find((one) => typeof one?.getRemainingTimeInMillis === 'function')
  const left = context?.getRemainingTimeInMillis?.() ?? Infinity
  const waitMs = Math.min(delayMs, maxDelayMs, left - SPARE_MS)
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
}

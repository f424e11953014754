/** API Gateway gives an integration 29 s, and the handler wants some of them. */
const LONGEST_WAIT_MS = 10_000

/** Left of the function's own time when the wait is over, in milliseconds, so that the handler can still answer. */
const SPARE_MS = 1000

interface LambdaContext {
  getRemainingTimeInMillis?(): number
}

/**
 * Waits until it is the request's turn: the `delayMs` of its decision, but at most `maxDelayMs`, and never into the
 * last second of the function. The function is paid for while it waits.
 */
export async function waitForTurn(
  delayMs: number,
  context: unknown,
  maxDelayMs: number = LONGEST_WAIT_MS,
): Promise<void> {
  const left = (context as LambdaContext | undefined)?.getRemainingTimeInMillis?.() ?? Infinity
  const waitMs = Math.min(delayMs, maxDelayMs, left - SPARE_MS)
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
}

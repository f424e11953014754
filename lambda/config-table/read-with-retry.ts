import { SETUP_FAILURES } from '../../limiter/errors'
import { toStoreUnavailable } from '../../limiter/stores/dynamodb-errors'

/** The share of the time for the first attempt, which leaves enough for a second one. */
const FIRST_SHARE = 0.6

export interface Reading {
  readonly tableName: string
  /** Time for all tries, in milliseconds. */
  readonly deadlineMs: number
  /**
   * Whether a request waits for the reading: then one lost answer is retried, so that it does not cost an instance its
   * tiers or a client its identity. A reading in the background is not retried.
   */
  readonly awaited: boolean
}

/**
 * Reads the config table. Where a request waits, a failure that may be temporary is retried once, which is safe for a
 * read.
 */
export async function readWithRetry<T>(
  { tableName, deadlineMs, awaited }: Reading,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (!awaited) return read(AbortSignal.timeout(deadlineMs))
  const startedAt = performance.now()
  try {
    return await read(AbortSignal.timeout(Math.ceil(deadlineMs * FIRST_SHARE)))
  } catch (error) {
    const { reason } = toStoreUnavailable(error, tableName)
    const leftMs = deadlineMs - (performance.now() - startedAt)
    if (SETUP_FAILURES.includes(reason) || leftMs < 1) throw error
    return read(AbortSignal.timeout(Math.floor(leftMs)))
  }
}

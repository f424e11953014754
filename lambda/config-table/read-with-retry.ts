import { SETUP_FAILURES } from '../../limiter/errors'
import { toStoreUnavailable } from '../../limiter/stores/dynamodb-errors'

/** The time for one reading of the policy set or of the secrets, in milliseconds. */
export const READING_DEADLINE_MS = 2000

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
  /**
   * Where an older value is there: the time without an answer after which it is read a second time beside the first, in
   * milliseconds. After a freeze the first connection may be dead without saying so.
   */
  readonly secondAfterMs?: number
}

/**
 * Reads the config table. Where a request waits, a failure that may be temporary is retried once, which is safe for a
 * read.
 */
export async function readWithRetry<T>(
  { tableName, deadlineMs, awaited, secondAfterMs }: Reading,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (!awaited) return read(AbortSignal.timeout(deadlineMs))
  const isFinal = (error: unknown) => SETUP_FAILURES.includes(toStoreUnavailable(error, tableName).reason)
  if (secondAfterMs !== undefined)
    return firstOfTwo(() => read(AbortSignal.timeout(deadlineMs)), secondAfterMs, isFinal)
  const startedAt = performance.now()
  try {
    return await read(AbortSignal.timeout(Math.ceil(deadlineMs * FIRST_SHARE)))
  } catch (error) {
    const leftMs = deadlineMs - (performance.now() - startedAt)
    if (isFinal(error) || leftMs < 1) throw error
    return read(AbortSignal.timeout(Math.floor(leftMs)))
  }
}

/** Reads a second time where the first reading fails or has not answered in time; the first success counts. */
function firstOfTwo<T>(
  read: () => Promise<T>,
  secondAfterMs: number,
  isFinal: (error: unknown) => boolean,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let left = 2
    let started = 0
    const start = () => {
      if (started === 2) return
      started++
      read().then(
        (result) => {
          clearTimeout(timer)
          resolve(result)
        },
        (error: unknown) => {
          if (--left > 0 && !isFinal(error)) return start()
          clearTimeout(timer)
          reject(error)
        },
      )
    }
    const timer = setTimeout(start, secondAfterMs)
    start()
  })
}

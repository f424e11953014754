import { toStoreUnavailable } from '../../limiter/stores/dynamodb-errors'

/** The first try's share of the time, so that a second one is worth its while. */
const FIRST_SHARE = 0.6

export interface Reading {
  readonly tableName: string
  /** Time for all tries, in milliseconds. */
  readonly deadlineMs: number
  /**
   * Whether a request waits for it: one answer that is lost should not cost an instance its tiers, or a client its
   * name. In the background a failure can wait.
   */
  readonly awaited: boolean
}

/** Reads the config table, and where somebody waits once more if that may help: a reading changes nothing. */
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
    if (reason === 'refused' || reason === 'missing-table' || leftMs < 1) throw error
    return read(AbortSignal.timeout(Math.floor(leftMs)))
  }
}

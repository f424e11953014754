import type { EpochMs } from '../clock'
import { StoreUnavailableError } from '../errors'
import type { LeaseState, Throttling } from './lease'

/** No pause is longer, in milliseconds: a later end was set before the clock was. */
const MAX_PAUSE_MS = 2000

/** Before a throttled item is tried again, on the average, in milliseconds: twice as long after each that fails. */
const RETRY_MS = 50
const LONGEST_RETRY_MS = 200

/** How long no units have trickled back yet, in milliseconds; 0 where they can be asked for. */
export function pauseLeftMs({ pausedUntil = 0 }: Pick<LeaseState, 'pausedUntil'> = {}, now: EpochMs): number {
  const waitMs = pausedUntil - now
  return waitMs > 0 && waitMs <= MAX_PAUSE_MS ? waitMs : 0
}

/** The item was throttled, once more after `before`: nothing is asked of it for a while. */
export function throttledNow(error: StoreUnavailableError, before: Throttling | undefined, now: EpochMs): Throttling {
  const retryMs = Math.min(LONGEST_RETRY_MS, 2 * (before?.retryMs ?? RETRY_MS / 2))
  return { error, retryMs, until: now + retryMs * (0.5 + Math.random()) }
}

/** What others have found. */
export function throttledUntil(until: EpochMs): Throttling {
  const error = new StoreUnavailableError('hot-key', 'the item gets more writes than the store takes, as others found')
  return { error, retryMs: RETRY_MS, until }
}

/** @throws StoreUnavailableError the one with which the item was throttled, while that is a moment ago. */
export function throwIfThrottled(throttling: Throttling | undefined, now: EpochMs): void {
  if (throttling && now < throttling.until && throttling.until - now <= 2 * LONGEST_RETRY_MS) throw throttling.error
}

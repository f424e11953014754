import type { EpochMs } from '../clock'
import type { StoreUnavailableError } from '../errors'
import type { Pauses } from './lease'

/** No pause is longer, in milliseconds: a later end was set before the clock was. */
const MAX_PAUSE_MS = 2000

/**
 * Between two tries of an item that is throttled, on the average, in milliseconds: a try for each request would keep it
 * throttled.
 */
const RETRY_MS = 50

/** How long no units have trickled back yet, in milliseconds; 0 where they can be asked for. */
export function pauseLeftMs({ pausedUntil = 0 }: Pauses = {}, now: EpochMs): number {
  const waitMs = pausedUntil - now
  return waitMs > 0 && waitMs <= MAX_PAUSE_MS ? waitMs : 0
}

/** The item was throttled: nothing is asked of it for about `RETRY_MS`. */
export function pauseThrottled(pauses: Pauses, error: StoreUnavailableError, now: EpochMs): void {
  pauses.throttled = { error, until: now + RETRY_MS * (0.5 + Math.random()) }
}

/** @throws StoreUnavailableError the one with which the item was throttled, while that is a moment ago. */
export function throwIfThrottled({ throttled }: Pauses, now: EpochMs): void {
  if (throttled && now < throttled.until && throttled.until - now <= 2 * RETRY_MS) throw throttled.error
}

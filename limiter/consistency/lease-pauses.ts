import type { EpochMs } from '../clock'
import { StoreUnavailableError } from '../errors'
import type { Pauses } from './lease'

/** No pause is longer, in milliseconds: a later end was set before the clock was. */
const MAX_PAUSE_MS = 2000

/** Before a throttled item is tried again, on the average, in milliseconds: twice as long after each that fails. */
const RETRY_MS = 50
const LONGEST_RETRY_MS = 200

/** How long no units have trickled back yet, in milliseconds; 0 where they can be asked for. */
export function pauseLeftMs({ pausedUntil = 0 }: Pauses = {}, now: EpochMs): number {
  const waitMs = pausedUntil - now
  return waitMs > 0 && waitMs <= MAX_PAUSE_MS ? waitMs : 0
}

/** The item was throttled: nothing is asked of it for a while. */
export function pauseThrottled(pauses: Pauses, error: StoreUnavailableError, now: EpochMs): void {
  const retryMs = Math.min(LONGEST_RETRY_MS, 2 * (pauses.throttled?.retryMs ?? RETRY_MS / 2))
  pauses.throttled = { error, retryMs, until: now + retryMs * (0.5 + Math.random()) }
}

/** @throws StoreUnavailableError until then, where others have found the item throttled. */
export function heedThrottled(until: EpochMs, now: EpochMs): void {
  if (until <= now) return
  const error = new StoreUnavailableError('hot-key', 'the item gets more writes than the store takes, as others found')
  throwIfThrottled({ throttled: { error, retryMs: RETRY_MS, until } }, now)
}

/** @throws StoreUnavailableError the one with which the item was throttled, while that is a moment ago. */
export function throwIfThrottled({ throttled }: Pauses, now: EpochMs): void {
  if (throttled && now < throttled.until && throttled.until - now <= 2 * LONGEST_RETRY_MS) throw throttled.error
}

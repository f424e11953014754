import type { EpochMs } from '../clock'
import type { StoreUnavailableError } from '../errors'
import type { LeaseState, Pauses } from './lease'
import { isBusy } from './pool-count'
import { type Pool, trickles, turnMs } from './pools'

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

/** @throws StoreUnavailableError the one with which the item was throttled, while that is a moment ago. */
export function throwIfThrottled({ throttled }: Pauses, now: EpochMs): void {
  if (throttled && now < throttled.until && throttled.until - now <= 2 * LONGEST_RETRY_MS) throw throttled.error
}

/**
 * Until when an instance does not ask a pool again that has no units for it. Where units come back one by one, the
 * instances of a pool take turns, so that one of them makes the next deposit and few wait for it.
 */
export function emptyFor(units: number, pool: Pool, isAwaited: boolean, now: EpochMs): LeaseState['empty'] {
  if (units < pool.refused) return undefined
  if (!trickles(pool)) return { units, until: pool.emptyUntil, pool }
  const from = isAwaited ? Math.max(now, pool.emptyUntil) : pool.emptyUntil
  return { units, until: from + Math.random() * turnMs(pool.pools.count), pool }
}

/** The same after a draw: of a busy pool, an instance draws once in a turn. */
export const drawnOnce = (pool: Pool, now: EpochMs): LeaseState['empty'] =>
  isBusy(pool, now) ? { units: 0, until: now + turnMs(pool.pools.count), pool } : undefined

import type { Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import { StoreUnavailableError } from '../errors'
import type { LeaseSize } from './lease-size'
import type { Pool, PoolCount, PoolPause } from './pools'

/** No pause is longer, in milliseconds: a later end was set before the clock was. */
const MAX_PAUSE_MS = 2000

/** Before a throttled item is tried again, on the average, in milliseconds: twice as long after each that fails. */
const RETRY_MS = 50
const LONGEST_RETRY_MS = 200

/** Units that are charged already, and how the policies stood just after. */
export interface Lease {
  left: number
  /** Units charged, but for those that were given back. */
  units: number
  readonly takenAt: EpochMs
  /** When the units were charged to the subject's own item, if that was before: they were in a pool. */
  readonly chargedAt: EpochMs
  usedAt: EpochMs
  readonly expiresAt: EpochMs
  readonly policies: readonly CompiledPolicy[]
  readonly verdicts: Verdicts
}

/** What an instance holds and knows of one subject under some policies. */
export interface LeaseState {
  readonly key: string
  /** The name of the pools of these policies under these limits: other limits have other pools. */
  readonly poolName: string
  readonly size: LeaseSize
  /** Units trickle back to the limit, and are asked for again then. */
  pausedUntil?: EpochMs
  /** Why nothing is asked for a moment of the subject's own item, or of its pools. */
  readonly throttled: { [kind in ItemKind]?: Throttling | undefined }
  /** How many pools the units are in, as far as is known; 1 where they are leased from the subject's own item. */
  pools: PoolCount
  /** Writes to its pool that have failed since its last draw: the pool has not counted them. */
  failedWrites: number
  /** Which of them this instance draws from: at random below the most that there can be, modulo their number. */
  readonly place: number
  /** It leaves its pool alone: that had no units for so large a request. */
  pause?: PoolPause | undefined
  /** Its pool was claimed by another instance when it looked first. */
  claim?: { readonly generation: number; readonly seenAt: number }
  lease?: Lease
  granting?: Promise<Verdicts>
  /** Units of the requests that wait for the lease that is on its way. */
  awaited: number
  /** The subject was reset while a lease was on its way: what that has beyond its request is not spent. */
  forgotten?: boolean
}

/** Stamp of a number of pools that no item has told: of 1 by a new instance, of more as the own item was throttled. */
export const UNSEEN = -1

/**
 * Learns from a pool how many there are. That there are fewer, not before it is empty: nobody else would draw what it
 * has. That there are none, not once the own item was throttled: the pool may have been filled before.
 */
export function learnCount(state: LeaseState, { since, pools }: Pool, hasUnits: boolean): void {
  const { count, stamp } = state.pools
  const isIgnored = stamp === UNSEEN ? pools.count === 1 : hasUnits && pools.count < count
  if (since > 0 && pools.stamp > stamp && !isIgnored) state.pools = pools
}

/** A clock that was set back makes no lease last longer. */
export const isSpendable = (lease: Lease | undefined, now: EpochMs): lease is Lease =>
  lease !== undefined && now >= lease.takenAt && now < lease.expiresAt

/** Verdicts of a while ago, with units that are held on top. */
export const withMore = (verdicts: Verdicts, units: number, elapsedMs: number): Verdicts =>
  verdicts.map((verdict) => ({
    ...verdict,
    // a lease that overran a limit leaves nothing of the limit
    remaining: verdict.exceeded ? verdict.remaining : verdict.remaining + units,
    resetAfterMs: Math.max(0, verdict.resetAfterMs - elapsedMs),
  }))

export type ItemKind = 'own' | 'pools'

/** An item got more writes than the store takes: nothing is asked of it until then. */
export interface Throttling {
  readonly error: StoreUnavailableError
  /** How long that is on the average. */
  readonly retryMs: number
  readonly until: EpochMs
}

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

/** @throws StoreUnavailableError where the item was throttled a moment ago: the error then, if not others found it. */
export function throwIfThrottled(throttling: Partial<Throttling> | undefined, now: EpochMs): void {
  const { until = 0, error } = throttling ?? {}
  if (now >= until || until - now > 2 * LONGEST_RETRY_MS) return
  throw error ?? new StoreUnavailableError('hot-key', 'others found the item throttled')
}

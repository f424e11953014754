import { numberOf } from '../algorithms/conditional-write'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import type { Item } from '../stores/store'
import {
  COUNTED_MS,
  countOf,
  FIRST_POOLS,
  isCounted,
  MAX_POOLS,
  mostPools,
  type Pool,
  poolFieldsIn,
  trickles,
  turnMs,
} from './pools'

/** An item takes 1,000 writes a second: above this many there are twice as many pools, and four times as many above. */
const MANY_PER_SECOND = 500
const TOO_MANY_PER_SECOND = 800
/** Below this there are half as many. */
const FEW_PER_SECOND = 80

/**
 * How many pools there should be, by the writes that one of them had.
 *
 * @param own the subject's item as it is now.
 * @param evidence one of them as it is, or that the own item had more writes than it takes.
 */
export function wantedPools(
  own: Item,
  evidence: Pool | 'throttled',
  policies: readonly CompiledPolicy[],
  now: EpochMs,
): number {
  const { count, stamp } = countOf(poolFieldsIn(own))
  const most = Math.max(count, mostPools(policies, now)) // others of the subject may have more
  if (evidence === 'throttled') return count === 1 ? Math.min(most, FIRST_POOLS) : count
  if (!isCounted(evidence, stamp)) return count
  const perSecond = writesPerSecond(evidence, now)
  if (perSecond > TOO_MANY_PER_SECOND) return Math.min(most, count * 4)
  if (perSecond > MANY_PER_SECOND) return Math.min(most, count * 2)
  const isNew = Math.abs(now - numberOf(poolFieldsIn(own), 'o')) < 2 * COUNTED_MS
  const isFew = perSecond < FEW_PER_SECOND && now - evidence.since >= countingMs(policies)
  return isFew && !isNew ? Math.max(1, count / 2) : count
}

/** At least so many, as far as the pool has counted. */
const writesPerSecond = ({ writes, since }: Pool, now: EpochMs): number =>
  (writes * 1000) / Math.max(COUNTED_MS, now - since)

/** Writes are counted for the last window, and in long ones for a minute: every window begins with many. */
export const countingMs = (policies: readonly CompiledPolicy[]): number =>
  Math.min(60_000, Math.max(COUNTED_MS, ...policies.map(({ windowMs }) => windowMs)))

/**
 * Whether instances save writes to a pool: there can be no more pools, this one gets more writes than it had when there
 * became so many, and a draw brings few units: they come back one by one, or end soon.
 */
export const isBusy = (pool: Pool, now: EpochMs): boolean =>
  pool.pools.count === MAX_POOLS &&
  writesPerSecond(pool, now) > MANY_PER_SECOND / 2 &&
  (trickles(pool) || pool.endsAt - now < turnMs(MAX_POOLS))

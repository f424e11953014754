import { add, atLeast, exactly, replace, set, stillAt, when } from '../algorithms/conditional-write'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import { type KnownItems, type Plan, READ, writing } from '../plan'
import type { Subject } from '../request'
import { POOL_PREFIX } from '../stores/attribute-prefix'
import { isRecent } from '../view'
import { estimateCapacity, wholeOf } from './capacity'
import { type LeaseState, UNSEEN } from './lease'
import type { Capacity } from './lease-size'
import {
  COUNTED_MS,
  comesBack,
  DEPOSITED_MS,
  drawnPerMs,
  hasPace,
  isClaimed,
  isCounted,
  isPaced,
  MANY_PER_SECOND,
  MAX_POOLS,
  type Pool,
  type PoolCount,
  poolKeyOf,
  poolNamesIn,
  poolOf,
  poolsOf,
  SOON_MS,
  spendableIn,
  takesTurns,
  turnMs,
  writesPerSecond,
} from './pools'

/** A deposit is this share of what is left of the limit, divided by the number of pools. */
const DEPOSITED = 3 / 4
/** Where there is enough for all, so many times what is drawn in `DEPOSITED_MS`. */
const SPARE = 1.5
/** It may always be so many times what one instance draws: a pool that is used again has no pace yet. */
const USUAL_DRAWS = 16
/** What was drawn since the last deposit is a pace as well, as if that had taken so long at least, in milliseconds. */
const SHORTLY_MS = 250
/** Where less is left than comes back in a second, instances draw for so long, or for two turns, in milliseconds. */
const SCARCE_MS = 250
/** Units a millisecond for which there may be thousands of instances, whose first requests throttle the own item. */
const FOR_THOUSANDS = 10
/** Below this share of what it had after the last deposit, a pool gets the next. */
const LOW = 1 / 8
/** After how long an instance makes the deposit itself that another was to make, in milliseconds at least. */
const ABANDONED_MS = 60
/** How long pools are busy since they were seen to be, in milliseconds. */
const BUSY_MS = 30_000

/** Where an instance's pool is; `undefined` where there are none. */
export const poolKey = ({ key, poolName, pools: { count }, place }: LeaseState): string | undefined =>
  count === 1 ? undefined : poolKeyOf(key, poolName, place % count)

/** Whether a subject has pools, and whether they get more writes than its own item would take. */
export type PoolsSeen = 'none' | 'quiet' | 'busy'

/**
 * What an instance knows of the pools of a subject whose own item has told of some; it may have learnt since that there
 * are none. Pools are busy unless the one that was seen lately had counted few writes, for a second at least.
 */
export function poolsSeen(items: KnownItems, state: LeaseState, policies: readonly CompiledPolicy[]): PoolsSeen {
  const { item } = items.view(state.key)!
  const told = poolsOf(item, policies, items.now())
  if (told.stamp > state.pools.stamp && poolNamesIn(item).includes(state.poolName)) state.pools = told
  const key = poolKey(state)
  if (key === undefined) return 'none'
  const view = items.view(key)
  if (!view) return 'busy'
  if (!isRecent(view, items.now(), BUSY_MS)) return 'quiet'
  const pool = poolOf(view.item)
  const isKnown = isCounted(pool, state.pools.stamp) && isPaced(pool, view.seenAt)
  return isKnown && pool.pools.count * writesPerSecond(pool, view.seenAt) <= MANY_PER_SECOND ? 'quiet' : 'busy'
}

/** Whether an instance is new to a subject that may have thousands of them. */
export const isNew = ({ pools }: LeaseState, policies: readonly CompiledPolicy[], now: EpochMs): boolean =>
  pools.count === 1 &&
  pools.stamp === UNSEEN &&
  policies.every((policy) => wholeOf(policy, now) >= FOR_THOUSANDS * policy.windowMs)

/** Whether the instance that has claimed a pool has not made its deposit for too long. */
export function isAbandoned(state: LeaseState, { generation }: Pool): boolean {
  const now = performance.now()
  if (state.claim?.generation !== generation) state.claim = { generation, seenAt: now }
  return now - state.claim.seenAt >= ABANDONED_MS * (1 + Math.random()) // not all at once
}

/** A pool as it was seen last. */
const seenIn = (items: KnownItems, key: string): Pool => poolOf(items.view(key)?.item)

/** Whether an instance's pool is to be filled before it is empty: what it has left is worth as much as what comes. */
export function isLow(items: KnownItems, state: LeaseState, policies: readonly CompiledPolicy[], pool: Pool): boolean {
  const isFull = pool.left >= pool.level * LOW
  if (isFull || isClaimed(pool) || pool.pools.stamp !== state.pools.stamp) return false
  const now = items.now()
  const endsAt = now + estimateCapacity(items.view(state.key), policies, now, 0).endsInMs
  return endsAt === pool.endsAt && now >= Math.max(pool.emptyUntil, pool.throttledUntil)
}

/** Reads a pool. */
export function* seePool(items: KnownItems, key: string): Plan<Pool> {
  yield READ
  return seenIn(items, key)
}

/**
 * Takes units from a pool, in one write if it has as many as was seen last.
 *
 * @param unitsOf how many of the pool's to take; 0 for none.
 * @param writes what the pool counts: this one, and those before it that failed.
 * @returns the units, and the pool as it was found after that, with the times of these units.
 */
export function* draw(
  items: KnownItems,
  { key, policies }: Subject,
  unitsOf: (pool: Pool) => number,
  writes = 1,
): Plan<{ readonly units: number; readonly pool: Pool }> {
  let isFresh = false
  for (;;) {
    const item = items.view(key)?.item
    const pool = poolOf(item)
    const now = items.now()
    const isStale = !isFresh && takesTurns(pool) && pool.emptyUntil <= now // others have drawn and filled it since
    const units = !isStale && spendableIn(pool, now) > 0 ? unitsOf(pool) : 0
    if (units > 0) {
      const guard = [atLeast('l', units), exactly('e', pool.endsAt)]
      const write = when(guard, add('l', -units), add('u', units), add('n', writes))
      const { kind } = yield writing(items.fit([{ prefix: POOL_PREFIX, write }], policies, item, now))
      // others may have made the next deposit between the write and its answer
      const { chargedAt, endsAt } = pool
      if (kind !== 'refused') return { units, pool: { ...seenIn(items, key), chargedAt, endsAt } }
    } else {
      if (isFresh) return { units, pool }
      yield READ
    }
    isFresh = true
  }
}

/**
 * Claims a pool for a deposit.
 *
 * @returns the pool as it is then; `undefined` where another instance has claimed it, or has made a deposit.
 */
export function* claim(items: KnownItems, { key, policies }: Subject, seen: Pool): Plan<Pool | undefined> {
  const now = items.now()
  const generation = 2 * items.nextId().value + 1 // as no other claim has
  const part = { prefix: POOL_PREFIX, write: when([stillAt('g', seen.generation)], set('g', generation), add('n', 1)) }
  const { kind } = yield writing(items.fit([part], policies, items.view(key)?.item, now))
  const pool = seenIn(items, key)
  return kind !== 'refused' && pool.generation === generation ? pool : undefined
}

/** What a deposit depends on, beside its pool and what is left. */
export interface Demand {
  /** How many pools there are. */
  readonly pools: PoolCount
  /** What the instance itself would take: what is known of the demand of a pool that is new. */
  readonly own: number
  /** Whether the limit has enough for all: `isAmple`. */
  readonly isEnough: boolean
  readonly drawMs: number
}

/**
 * How many units to put into a pool: a share of what is left, so that pools with different demand get what they need by
 * getting it more often; bounded by what is drawn in a while, since a pool that is given up keeps it.
 */
export function depositOf(
  pool: Pool,
  available: Capacity,
  { pools, own, isEnough, drawMs }: Demand,
  now: EpochMs,
): number {
  const { left, endsInMs, refill } = available
  const perMs = drawnPerMs(pool, now)
  const sinceThen = refill > 0 ? 0 : (pool.level - pool.left) / Math.max(SHORTLY_MS, now - pool.chargedAt)
  const share = (left * DEPOSITED) / pools.count
  const evenly = hasPace(pool, pools.stamp) ? 0 : (left * DEPOSITED) / MAX_POOLS / endsInMs
  const pace = Math.max(perMs * (isEnough ? SPARE : 1), sinceThen, evenly)
  const most = Math.max(pace * Math.min(drawMs || DEPOSITED_MS, endsInMs), USUAL_DRAWS * own)
  const soonMs = refill > 0 ? 2 * turnMs(pools.count) : SOON_MS
  const sinceMs = Math.max(turnMs(pools.count), Math.min(COUNTED_MS, now - pool.chargedAt))
  const fair = refill > 0 ? (left + comesBack(available, sinceMs)) / pools.count : left
  const least = Math.min(left, fair, perMs * Math.min(soonMs, endsInMs))
  return Math.floor(Math.max(least, Math.min(share, most)))
}

/** `drawMs` of a pool that is one of so many. If less is left than comes back in a second, pools take turns. */
export function drawMsOf(available: Capacity, count: number): number {
  if (available.refill === 0) return 0
  return comesBack(available, COUNTED_MS) > available.left ? Math.max(SCARCE_MS, 2 * turnMs(count)) : DEPOSITED_MS
}

/** What a claimed pool gets: units, and what its other fields are after that. */
export interface Deposit extends Omit<Pool, 'left' | 'level' | 'generation' | 'drawn' | 'writes' | 'since'> {
  readonly units: number
}

/** Makes a deposit, unless the pool was claimed by another instance meanwhile: then these units are lost. */
export function* deposit(items: KnownItems, { key, policies }: Subject, claimed: Pool, made: Deposit): Plan<void> {
  const now = items.now()
  const { units, endsAt, chargedAt } = made
  const isSame = endsAt === claimed.endsAt
  const countedMs = Math.abs(now - claimed.since)
  const isNew = claimed.since === 0 || claimed.pools.stamp !== made.pools.stamp
  const counting = isNew
    ? [set('n', 2), set('u', 0), set('o', now)] // the claim and this
    : countedMs >= 2 * countingMs(policies)
      ? [add('n', 1 - half(claimed.writes)), add('u', -half(claimed.drawn)), set('o', now - countingMs(policies))]
      : [add('n', 1)]
  const write = when(
    [exactly('g', claimed.generation)],
    set('g', claimed.generation + 1),
    // what other units could be spent until is not what these can
    ...(isSame ? [add('l', units)] : units > 0 ? [set('l', units), set('e', endsAt), set('c', chargedAt)] : []),
    ...(units > 0 ? [set('q', units + (isSame ? Math.max(0, claimed.left) : 0))] : []),
    ...counting,
    set('s', made.pools.count),
    set('d', made.pools.stamp),
    set('z', made.emptyUntil),
    set('m', made.refused),
    set('t', made.throttledUntil),
    set('h', made.drawMs),
    replace('v', made.standing),
  )
  yield writing(items.fit([{ prefix: POOL_PREFIX, write }], policies, items.view(key)?.item, now))
}

const half = (count: number): number => Math.floor(count / 2)

export const LONGEST_COUNTED_MS = 60_000
/** Writes are counted for the last window, and in long ones for a minute. */
export const countingMs = (policies: readonly CompiledPolicy[]): number =>
  Math.min(LONGEST_COUNTED_MS, Math.max(COUNTED_MS, ...policies.map(({ windowMs }) => windowMs)))

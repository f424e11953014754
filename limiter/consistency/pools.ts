import type { Verdict, Verdicts } from '../algorithms/algorithm'
import { type Fields, listOf, numberOf } from '../algorithms/conditional-write'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import { POOL_PREFIX, PREFIX_LENGTH, prefixOf } from '../stores/attribute-prefix'
import type { Item } from '../stores/store'
import { mostUnits } from './capacity'
import { type Capacity, LONGEST_DRAW_MS } from './lease-size'

/** An item takes 1,000 writes a second: above this many there are twice as many pools. */
export const MANY_PER_SECOND = 500
/** Writes and units drawn are those in a second, or longer, in milliseconds. */
export const COUNTED_MS = 1000
/** So many there are first, and who has seen none looks for so many. */
export const FIRST_POOLS = 4
export const MAX_POOLS = 64
/** A deposit is this share of what is left of the limit, divided by the number of pools. */
const DEPOSITED = 3 / 4
/** It is no more than what is drawn in this time, in milliseconds; so many times that where there is enough for all. */
const DEPOSITED_MS = 10_000
const SPARE = 1.5
/** It may always be so many times what one instance draws: a pool that is used again has no pace yet. */
const USUAL_DRAWS = 16
/** What was drawn since the last deposit is a pace as well, as if that had taken so long at least, in milliseconds. */
const SHORTLY_MS = 250
/** No less than what is drawn in this time, in milliseconds. Turns of pools are no shorter: several writes each. */
const SOON_MS = 50
/** Deposits a millisecond that pools together may charge where units come back one by one. */
const DEPOSITS_PER_MS = 0.4
/** A limit has no more pools than leave this many units to each. */
const LEAST_UNITS = 20

/**
 * Units of a subject that were charged to its own item in advance, in an item of their own, from which instances lease
 * them. The subject's own item stays exact: what was charged to it may be lost with a pool, and nothing is spent that
 * was not charged.
 */
export interface Pool {
  /** Units left. */
  readonly left: number
  /** They were charged then, and can be spent until `endsAt`. */
  readonly chargedAt: EpochMs
  readonly endsAt: EpochMs
  /** Units after the last deposit. */
  readonly level: number
  /** Changes with each claim and each deposit. Odd while an instance that has claimed the pool makes a deposit. */
  readonly generation: number
  /** Until when the own item has no units for a request of `refused`, or who comes sooner is to wait. */
  readonly emptyUntil: EpochMs
  readonly refused: number
  /** Until then the own item is not asked: it was throttled when a deposit was to be made. */
  readonly throttledUntil: EpochMs
  /** There was enough for all at the last deposit: units that an instance draws in vain are lost to nobody. */
  readonly ample: boolean
  /** Units drawn and writes made since. */
  readonly drawn: number
  readonly writes: number
  readonly since: EpochMs
  /** How many pools there were at the last deposit. */
  readonly pools: PoolCount
  /** Three numbers a policy: what it had left at the last deposit, when it will be whole, and until when it denied. */
  readonly standing: readonly number[]
}

/** How many pools there are. The stamp grows with each change: of two counts, the one with the larger stamp holds. */
export interface PoolCount {
  readonly count: number
  readonly stamp: number
}

export function poolOf(item: Item | undefined): Pool {
  const fields = poolFieldsIn(item)
  const number = (name: string) => numberOf(fields, name)
  return {
    left: number('l'),
    chargedAt: number('c'),
    endsAt: number('e'),
    level: number('q'),
    generation: number('g'),
    emptyUntil: number('z'),
    refused: number('m'),
    throttledUntil: number('t'),
    ample: number('a') === 1,
    drawn: number('u'),
    writes: number('n'),
    since: number('o'),
    pools: countOf(fields),
    standing: listOf(fields, 'v'),
  }
}

/** Units that can be drawn now. */
export const spendableIn = ({ left, endsAt }: Pool, now: EpochMs): number => (now < endsAt ? left : 0)

export const isClaimed = ({ generation }: Pool): boolean => generation % 2 === 1

/** Units of the limit come back one by one: so the own item has some again soon, and the pool is filled again then. */
export const trickles = ({ emptyUntil, endsAt }: Pool): boolean => emptyUntil > 0 && emptyUntil < endsAt

/**
 * Whether instances save writes to a pool: there can be no more pools, this one gets more writes than it had when there
 * became so many, and a draw brings few units: they come back one by one, or end soon and are scarce.
 */
export const isBusy = (pool: Pool, now: EpochMs): boolean =>
  pool.pools.count === MAX_POOLS &&
  writesPerSecond(pool, now) > MANY_PER_SECOND / 2 &&
  (trickles(pool) || (!pool.ample && pool.endsAt - now < turnMs(MAX_POOLS)))

/** At least so many, as far as the pool has counted. */
export const writesPerSecond = ({ writes, since }: Pool, now: EpochMs): number =>
  (writes * 1000) / Math.max(COUNTED_MS, now - since)

/** How long a pool is left alone where units come back one by one: so that all pools have their turn. */
export const turnMs = (count: number): number => Math.max(SOON_MS, count / DEPOSITS_PER_MS)

/** Until then an instance does not ask its pool for so many units, or more. */
export interface PoolPause {
  readonly units: number
  readonly until: EpochMs
  readonly pool: Pool
}

/** That of a pool without units: where they come back one by one, instances take turns, and few wait for a deposit. */
export function pauseOfEmpty(units: number, pool: Pool, isAwaited: boolean, now: EpochMs): PoolPause | undefined {
  if (units < pool.refused) return undefined
  if (!trickles(pool)) return { units, until: pool.emptyUntil, pool }
  const from = isAwaited ? Math.max(now, pool.emptyUntil) : pool.emptyUntil
  return { units, until: from + Math.random() * turnMs(pool.pools.count), pool }
}

/** That after a draw: of a busy pool, once in a turn, or until its units end. */
export const pauseAfterDraw = (pool: Pool, now: EpochMs): PoolPause | undefined =>
  isBusy(pool, now) ? { units: 0, until: Math.min(now + turnMs(pool.pools.count), pool.endsAt), pool } : undefined

/** The most pools that policies can have. Where one admits more than its limit, there are none but the item itself. */
export function mostPools(policies: readonly CompiledPolicy[], now: EpochMs): number {
  if (policies.some(({ nonBlocking, written }) => nonBlocking || written.overrun)) return 1
  return Math.min(MAX_POOLS, 2 ** Math.max(0, Math.floor(Math.log2(mostUnits(policies, now) / LEAST_UNITS))))
}

/** What a deposit depends on, beside its pool and what is left. */
export interface Demand {
  /** How many pools there are. */
  readonly pools: PoolCount
  /** What the instance itself would take: what is known of the demand of a pool that is new. */
  readonly own: number
  /** Whether the limit has enough for all: `isAmple`. */
  readonly isEnough: boolean
}

/**
 * How many units to put into a pool: a share of what is left, so that pools with different demand get what they need by
 * getting it more often; bounded by what is drawn in a while, since a pool that is given up keeps it.
 */
export function depositOf(pool: Pool, available: Capacity, { pools, own, isEnough }: Demand, now: EpochMs): number {
  const { left, endsInMs, refill } = available
  const perMs = drawnPerMs(pool, now)
  const sinceThen = refill > 0 ? 0 : (pool.level - pool.left) / Math.max(SHORTLY_MS, now - pool.chargedAt)
  const share = (left * DEPOSITED) / pools.count
  const evenly = hasPace(pool, pools.stamp) ? 0 : (left * DEPOSITED) / MAX_POOLS / endsInMs
  const pace = Math.max(perMs * (isEnough ? SPARE : 1), sinceThen, evenly)
  const most = Math.max(pace * Math.min(DEPOSITED_MS, endsInMs), USUAL_DRAWS * own)
  const soonMs = refill > 0 ? 2 * turnMs(pools.count) : SOON_MS
  const least = Math.min(left, perMs * Math.min(soonMs, endsInMs))
  return Math.floor(Math.max(least, Math.min(share, most)))
}

const drawnPerMs = ({ drawn, since }: Pool, now: EpochMs): number => drawn / Math.max(COUNTED_MS, now - since)

/**
 * Whether the limit has twice what all pools together draw until its units end, as far as one of them has counted: it
 * may have begun just after a draw that lasted.
 */
export const isAmple = (pool: Pool, { left, endsInMs }: Capacity, pools: PoolCount, now: EpochMs): boolean =>
  isCounted(pool, pools.stamp) &&
  now - pool.since >= COUNTED_MS &&
  left >= 2 * pools.count * drawnPerMs(pool, now - LONGEST_DRAW_MS) * endsInMs

/** Whether what was drawn is what was asked for: where no deposit could be made, it was less. */
export const hasPace = (pool: Pool, stamp: number): boolean => isCounted(pool, stamp) && pool.throttledUntil === 0

/** What a pool counts is of the number of pools that stands in it. */
export const isCounted = ({ since, pools }: Pool, stamp: number): boolean => since > 0 && pools.stamp === stamp

/** How many pools a subject's item says that there are. */
export const countOf = (fields: Fields | undefined): PoolCount => ({
  count: Math.max(1, numberOf(fields, 's')),
  stamp: numberOf(fields, 'd'),
})

/** How many of them policies draw from; 1 where units are leased from the item itself. */
export function poolsOf(item: Item | undefined, policies: readonly CompiledPolicy[], now: EpochMs): PoolCount {
  const { count, stamp } = countOf(poolFieldsIn(item))
  return { count: count === 1 ? 1 : Math.min(count, mostPools(policies, now)), stamp }
}

/** The pools of policies that lease under one name: where they are, and whose units they hold. */
interface NamedPools {
  readonly keys: readonly string[]
  holds(policy: CompiledPolicy): boolean
}

/** All pools that a subject's own item names, also those that are given up, which may hold units yet. */
export const poolsNamedIn = (key: string, item: Item): NamedPools[] =>
  poolNamesIn(item).map((name) => ({
    keys: Array.from({ length: MAX_POOLS }, (_, place) => poolKeyOf(key, name, place)),
    holds: (policy) => listOf(poolFieldsIn(item), name).includes(asNumber(policy)),
  }))

/** Names are longer than the other fields. */
export const poolNamesIn = (item: Item): string[] =>
  Object.keys(poolFieldsIn(item) ?? {}).filter((field) => field.length === PREFIX_LENGTH)

export const poolKeyOf = (key: string, name: string, place: number): string => `${key}.${name}${place}`

/** A policy with its limits, as lists of numbers can hold it. */
export const asNumber = ({ prefix, quota, nonBlocking }: CompiledPolicy): number =>
  Buffer.from(prefixOf(prefix, JSON.stringify([quota, nonBlocking]))).readUInt32BE()

export const poolFieldsIn = (item: Item | undefined): Fields | undefined => item?.policies[POOL_PREFIX]

/** What a pool remembers of verdicts. */
export const standingOf = (verdicts: Verdicts, now: EpochMs): number[] =>
  verdicts.flatMap(({ allowed, remaining, resetAfterMs, retryAfterMs }) => [
    remaining,
    Math.ceil(now + resetAfterMs),
    allowed ? 0 : Math.ceil(now + retryAfterMs),
  ])

/** What the policies said at a pool's last deposit, of a request that is allowed now. */
export const allowedBy = ({ standing, chargedAt }: Pool, policies: readonly CompiledPolicy[], now: EpochMs): Verdicts =>
  policies.map((_, i) => ({ ...verdictAt(standing, i, now), allowed: true, retryAfterMs: 0, chargedAt }))

/** The same of one that is denied until then, for want of units. Those deny it that denied the deposit, or all. */
export function deniedBy(pool: Pool, policies: readonly CompiledPolicy[], now: EpochMs, until: EpochMs): Verdicts {
  const waitMs = Math.max(0, until - now)
  const verdicts = policies.map((_, i) => verdictAt(pool.standing, i, now))
  const denies = verdicts.some(({ allowed }) => !allowed) ? ({ allowed }: Verdict) => !allowed : () => true
  return verdicts.map((verdict) =>
    denies(verdict) ? { ...verdict, allowed: false, retryAfterMs: Math.max(verdict.retryAfterMs, waitMs) } : verdict,
  )
}

function verdictAt(standing: readonly number[], i: number, now: EpochMs): Verdict {
  const [remaining = 0, wholeAt = now, deniedUntil = 0] = standing.slice(3 * i, 3 * i + 3)
  const retryAfterMs = Math.max(0, deniedUntil - now)
  return { allowed: deniedUntil === 0, remaining, resetAfterMs: Math.max(0, wholeAt - now), retryAfterMs }
}

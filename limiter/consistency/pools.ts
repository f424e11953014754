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
/** No less than what is drawn in this time, in milliseconds. Turns of pools are no shorter: several writes each. */
export const SOON_MS = 60
/** A deposit is no more than what is drawn in this time, in milliseconds, where units are not scarce. */
export const DEPOSITED_MS = 10_000
/** Deposits a millisecond that pools together may charge where units come back one by one. */
const DEPOSITS_PER_MS = 0.4
/** Who finds a pool empty comes back up to so many times later than it is filled, at random. */
const APART = 1.25
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
  /** An instance draws for so long at most, in milliseconds; 0: until the next window, with which all pools end. */
  readonly drawMs: number
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
    drawMs: number('h'),
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

/** Units of the limit come back one by one, and are scarce: the pool is filled once in a turn. */
export const takesTurns = ({ drawMs }: Pick<Pool, 'drawMs'>): boolean => drawMs > 0 && drawMs < DEPOSITED_MS

/** At least so many, as far as the pool has counted. */
export const writesPerSecond = ({ writes, since }: Pool, now: EpochMs): number =>
  (writes * 1000) / Math.max(COUNTED_MS, now - since)

/** How many units come back by themselves within a time, in milliseconds. */
export const comesBack = ({ refill, refillMs }: Capacity, ms: number): number => (refill * ms) / Math.max(1, refillMs)

/** How long a pool is left alone where units come back one by one: so that all pools have their turn. */
export const turnMs = (count: number): number => Math.max(SOON_MS, count / DEPOSITS_PER_MS)

/** Until then an instance does not ask its pool for so many units, or more. */
export interface PoolPause {
  readonly units: number
  readonly until: EpochMs
  readonly pool: Pool
}

/** That of a pool without units. Who finds that early in its turn may come back later: more instances will find it. */
export function pauseOfEmpty(units: number, pool: Pool, now: EpochMs): PoolPause | undefined {
  if (units < pool.refused) return undefined
  const leftMs = Math.min(turnMs(pool.pools.count), pool.emptyUntil - now)
  const withinMs = takesTurns(pool) ? APART * Math.max(0, leftMs) : 0
  return { units, until: pool.emptyUntil + Math.ceil(Math.random() * withinMs), pool }
}

/** The most pools that policies can have. Where one admits more than its limit, there are none but the item itself. */
export function mostPools(policies: readonly CompiledPolicy[], now: EpochMs): number {
  if (policies.some(({ nonBlocking, written }) => nonBlocking || written.overrun)) return 1
  return Math.min(MAX_POOLS, 2 ** Math.max(0, Math.floor(Math.log2(mostUnits(policies, now) / LEAST_UNITS))))
}

/**
 * Whether units that an instance draws in vain are lost to few: the pool has twice what is drawn until they end, or it
 * gets others before.
 */
export const hasEnough = (pool: Pool, now: EpochMs): boolean =>
  pool.drawMs > 0 || (isPaced(pool, now) && spendableIn(pool, now) >= 2 * drawnPerMs(pool, now) * (pool.endsAt - now))

/** Whether it has counted for long enough that this is a pace. */
export const isPaced = ({ since }: Pool, now: EpochMs): boolean => since > 0 && now - since >= COUNTED_MS

export const drawnPerMs = ({ drawn, since }: Pool, now: EpochMs): number => drawn / Math.max(COUNTED_MS, now - since)

/**
 * Whether the limit has twice what all pools together draw until its units end, as far as one of them has counted: it
 * may have begun just after a draw that lasted.
 */
export const isAmple = (pool: Pool, { left, endsInMs }: Capacity, pools: PoolCount, now: EpochMs): boolean =>
  isCounted(pool, pools.stamp) &&
  isPaced(pool, now) &&
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

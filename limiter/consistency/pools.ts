import type { Verdict, Verdicts } from '../algorithms/algorithm'
import {
  absentOrAtMost,
  add,
  atLeast,
  type Clause,
  exactly,
  type Fields,
  listOf,
  numberOf,
  replace,
  set,
  when,
} from '../algorithms/conditional-write'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import { type KnownItems, type Plan, READ, writing } from '../plan'
import type { Subject } from '../request'
import { prefixOf } from '../stores/attribute-prefix'
import type { Item } from '../stores/store'

/** Prefix of the fields below, in pools and in the subject's own item; no policy can have it. */
export const POOL_PREFIX = 'p0__'

/** An item takes 1,000 writes a second: above this many there are twice as many pools, and four times as many above. */
const MANY_PER_SECOND = 500
const TOO_MANY_PER_SECOND = 800
/** Below this there are half as many. */
const FEW_PER_SECOND = 80
/** Writes are counted for so long, at least, and a new number of pools stands for twice that, in milliseconds. */
const COUNTED_MS = 1000
const FIRST_POOLS = 4
const MAX_POOLS = 64
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
  /** Changes with each claim and each deposit. It is odd while an instance that has claimed the pool makes a deposit. */
  readonly generation: number
  /** Until when the own item has no units for a request of `refused`, or who comes sooner is to wait. */
  readonly emptyUntil: EpochMs
  readonly refused: number
  /** Units drawn and writes made since. */
  readonly drawn: number
  readonly writes: number
  readonly since: EpochMs
  /** How many pools there are; 0 where no deposit was made yet. */
  readonly count: number
  /** Three numbers a policy: what it had left at the last deposit, when it will be whole, and until when it denied. */
  readonly standing: readonly number[]
}

export function poolOf(item: Item | undefined): Pool {
  const fields = item?.policies[POOL_PREFIX]
  const number = (name: string) => numberOf(fields, name)
  return {
    left: number('l'),
    chargedAt: number('c'),
    endsAt: number('e'),
    level: number('q'),
    generation: number('g'),
    emptyUntil: number('z'),
    refused: number('m'),
    drawn: number('u'),
    writes: number('n'),
    since: number('o'),
    count: number('s'),
    standing: listOf(fields, 'v'),
  }
}

export const isClaimed = ({ generation }: Pool): boolean => generation % 2 === 1

/** The place of a pool: policies with other limits have others. @param terms identifies policies and their limits. */
export const poolKey = (key: string, terms: string, index: number): string =>
  `${key}.${prefixOf('pool', terms)}${index}`

/** The most pools that policies can have. Where one admits more than its limit, units are leased from the item itself. */
export function mostPools(policies: readonly CompiledPolicy[], now: EpochMs): number {
  if (policies.some(({ nonBlocking, written }) => nonBlocking || written.overrun)) return 1
  const capacity = Math.min(...policies.map(({ counter }) => counter.step({}, 0, now).verdict.remaining))
  return Math.min(MAX_POOLS, 2 ** Math.max(0, Math.floor(Math.log2(capacity / LEAST_UNITS))))
}

/** How many pools a subject's item says that there are; 1 where units are leased from the item itself. */
export const poolsOf = (item: Item | undefined): number => Math.max(1, countIn(fieldsIn(item)))

const fieldsIn = (item: Item | undefined): Fields | undefined => item?.policies[POOL_PREFIX]
const countIn = (fields: Fields | undefined): number => numberOf(fields, 's')

/**
 * How many pools there should be, by the writes that one of them had.
 *
 * @param own the subject's item as it is now.
 * @param pool `undefined` where the own item had more writes than it takes.
 */
function wantedPools(own: Item, pool: Pool | undefined, policies: readonly CompiledPolicy[], now: EpochMs): number {
  const most = mostPools(policies, now)
  const count = poolsOf(own)
  const decidedAt = numberOf(fieldsIn(own), 'o')
  if (Math.abs(now - decidedAt) < 2 * COUNTED_MS) return count
  if (!pool) return Math.min(most, count * FIRST_POOLS)
  const countedMs = now - pool.since
  const perSecond = (pool.writes * 1000) / countedMs
  if (pool.since === 0 || countedMs < COUNTED_MS) return count
  if (perSecond > TOO_MANY_PER_SECOND) return Math.min(most, count * 4)
  if (perSecond > MANY_PER_SECOND) return Math.min(most, count * 2)
  return perSecond < FEW_PER_SECOND && countedMs >= countingMs(policies) ? Math.max(1, count / 2) : count
}

/**
 * Reads a subject's own item, and writes down there how many pools there should be, where that changes.
 *
 * @returns how many there are.
 */
export function* decidePools(items: KnownItems, { key, policies }: Subject, pool: Pool | undefined): Plan<number> {
  const { item } = yield READ
  const now = items.now()
  const count = poolsOf(item)
  const wanted = wantedPools(item, pool, policies, now)
  if (wanted === count) return count
  const seen = fieldsIn(item)
  const guard = [guardOf(seen, 's'), guardOf(seen, 'o')]
  const part = { prefix: POOL_PREFIX, write: when(guard, set('s', wanted), set('o', Math.floor(now))) }
  yield writing(items.fit([part], policies, item, now))
  return poolsOf(items.view(key)?.item)
}

/** Writes are counted for the last window, and in long ones for a minute: every window begins with many. */
const countingMs = (policies: readonly CompiledPolicy[]): number =>
  Math.min(60_000, Math.max(COUNTED_MS, ...policies.map(({ windowMs }) => windowMs)))

const guardOf = (seen: Fields | undefined, field: string): Clause =>
  seen?.[field] === undefined ? absentOrAtMost(field, 0) : exactly(field, numberOf(seen, field))

/**
 * Takes units from a pool, in one write if it has as many as was seen last.
 *
 * @param unitsOf how many of the pool's to take; 0 for none.
 * @returns the units, and the pool as it was found after that.
 */
export function* draw(
  items: KnownItems,
  { key, policies }: Subject,
  unitsOf: (pool: Pool) => number,
): Plan<{ readonly units: number; readonly pool: Pool }> {
  let isFresh = false
  for (;;) {
    const item = items.view(key)?.item
    const pool = poolOf(item)
    const now = items.now()
    const units = now < pool.endsAt ? unitsOf(pool) : 0
    if (units > 0) {
      const guard = [atLeast('l', units), exactly('e', pool.endsAt)]
      const write = when(guard, add('l', -units), add('u', units), add('n', 1))
      const { kind } = yield writing(items.fit([{ prefix: POOL_PREFIX, write }], policies, item, now))
      if (kind !== 'refused') return { units, pool: poolOf(items.view(key)?.item) }
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
  const part = { prefix: POOL_PREFIX, write: when([sameGeneration(seen)], set('g', generation), add('n', 1)) }
  const { kind } = yield writing(items.fit([part], policies, items.view(key)?.item, now))
  const pool = poolOf(items.view(key)?.item)
  return kind !== 'refused' && pool.generation === generation ? pool : undefined
}

const sameGeneration = ({ generation }: Pool): Clause =>
  generation === 0 ? absentOrAtMost('g', 0) : exactly('g', generation)

/** What a claimed pool gets. */
export interface Deposit {
  readonly units: number
  readonly chargedAt: EpochMs
  readonly endsAt: EpochMs
  /** How many pools there are. */
  readonly count: number
  /** How the policies stood after the charge, or why they denied it. */
  readonly verdicts: Verdicts
  /** Until when nobody is to ask the own item for `refused` units or more. */
  readonly emptyUntil: EpochMs
  readonly refused: number
}

/** Makes a deposit, unless the pool was claimed by another instance meanwhile: then these units are lost. */
export function* deposit(items: KnownItems, { key, policies }: Subject, claimed: Pool, made: Deposit): Plan<void> {
  const now = Math.floor(items.now())
  const { units, endsAt, chargedAt, verdicts } = made
  const isSame = endsAt === claimed.endsAt
  const countedMs = Math.abs(now - claimed.since)
  const isAging = countedMs >= 2 * countingMs(policies)
  const write = when(
    [exactly('g', claimed.generation)],
    set('g', claimed.generation + 1),
    // what other units could be spent until is not what these can
    ...(isSame ? [add('l', units)] : units > 0 ? [set('l', units), set('e', endsAt), set('c', chargedAt)] : []),
    ...(units > 0 ? [set('q', units + (isSame ? Math.max(0, claimed.left) : 0))] : []),
    add('n', 1 - (isAging ? Math.floor(claimed.writes / 2) : 0)),
    ...(isAging ? [add('u', -Math.floor(claimed.drawn / 2)), set('o', now - countingMs(policies))] : []),
    ...(claimed.since === 0 ? [set('o', now)] : []),
    set('s', made.count),
    set('z', made.emptyUntil),
    set('m', made.refused),
    replace('v', numbersOf(verdicts, now)),
  )
  yield writing(items.fit([{ prefix: POOL_PREFIX, write }], policies, items.view(key)?.item, now))
}

const numbersOf = (verdicts: Verdicts, now: EpochMs): number[] =>
  verdicts.flatMap(({ allowed, remaining, resetAfterMs, retryAfterMs }) => [
    remaining,
    Math.ceil(now + resetAfterMs),
    allowed ? 0 : Math.ceil(now + retryAfterMs),
  ])

/** What the policies said at a pool's last deposit, of a request that is allowed now. */
export const allowedBy = ({ standing, chargedAt }: Pool, policies: readonly CompiledPolicy[], now: EpochMs): Verdicts =>
  policies.map((_, i) => ({ ...verdictAt(standing, i, now), allowed: true, retryAfterMs: 0, chargedAt }))

/** The same of one that is denied until then, since there are no units for it; who denies is who did so then, or all. */
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

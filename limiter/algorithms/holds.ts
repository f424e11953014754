import type { EpochMs } from '../clock'
import { type Algorithm, type Hold, MAX_UNITS, type Verdict } from './algorithm'
import {
  absentOrAtMost,
  add,
  atMost,
  type ConditionalWrite,
  exactly,
  type Fields,
  numberOf,
  numbersBytes,
  remove,
  set,
  setIfAbsent,
  when,
} from './conditional-write'

export interface HoldsQuota {
  /** Holds at one time. */
  readonly limit: number
  /** How long a hold lasts, in milliseconds. @default each says it */
  readonly timeoutMs?: number
  /** How long a hold whose time is over stays stored, while there is room. */
  readonly keptMs: number
  /** The longest that a hold lasts, in milliseconds. */
  readonly longestMs: number
  /**
   * Whether the holds stand in another item: here is `b` alone, since when units of this one count that requests hold.
   * A reset moves it.
   */
  readonly isShared?: boolean
}

/** When a denied request may ask again: nobody knows when a request ends. */
const RETRY_AFTER_MS = 1000

/** How far clocks may differ, in milliseconds, without ending a hold before its time. */
export const CLOCKS_DIFFER_MS = 1000

/**
 * Holds that one write removes whose time is over, as many as there is room for beside 30 policies, and how many may
 * stand before one does so without need.
 */
const REMOVED_AT_ONCE = 4
const TOLERATED = 8

/** Holds that a write removes which does nothing else. */
const REMOVED_ALONE = 50

/** How long a hold is of use to anybody after its time, in milliseconds. */
export const LONGEST_KEPT_MS = 3_600_000

/** As `Hold.id` is written. */
const ID = /^[0-9a-z]{25}$/

/** The bytes of a hold: a policy's prefix, an id of 25 characters, and a time of 13 digits. */
const HOLD_BYTES = 4 + 25 + 8

/**
 * Holds: at most `limit` requests at one time, each from its admission until it is ended, or until its time is over.
 *
 * Fields: for each hold one by its id, with the time when it is over; `n` how many are stored. Every write that adds or
 * removes holds moves `n` by as many, so a new one needs no more than `n` below the limit, whoever wrote last. Holds
 * whose time is over are removed, each as it was seen, once their room is needed.
 *
 * **For:** exact, one write to begin and one to end. **Against:** 37 bytes a hold.
 */
export const holds: Algorithm<HoldsQuota> = {
  name: 'concurrency',

  step(known, { limit, timeoutMs, keptMs, isShared }, cost, now, _asOf, asked = []) {
    if (isShared) return { verdict: ALWAYS, ...(cost > 0 && { write: when([], setIfAbsent('b', now)) }) }
    const own = new Set(asked.map(({ id }) => id))
    const stored = storedIn(known)
    const isOver = ({ until }: StoredHold) => until + CLOCKS_DIFFER_MS <= now
    const held = stored.filter((hold) => own.has(hold.id))
    const running = stored.filter((hold) => !isOver(hold) && !own.has(hold.id))
    const allowed = running.length + cost <= limit
    const lastUntil = running.reduce((latest, { until }) => Math.max(latest, until), now)
    const verdict = {
      allowed,
      remaining: Math.max(0, limit - running.length - (allowed ? cost : 0)),
      resetAfterMs: Math.max(lastUntil, allowed && cost > 0 ? now + longestOf(asked, timeoutMs) : now) - now,
      retryAfterMs: allowed ? 0 : cost > limit ? Infinity : RETRY_AFTER_MS,
    }
    if (!allowed || cost === 0 || asked.length < cost) return { verdict }
    // those of a write of ours whose answer was lost stand already
    const fresh = asked.filter(({ id }) => !held.some((hold) => hold.id === id))
    if (fresh.length === 0)
      return { verdict, write: when(held.map(asSeen), ...held.map(({ id, until }) => set(id, until))) }

    const more = cost - held.length
    const over = stored.filter(isOver).sort((one, other) => one.until - other.until)
    const missing = numberOf(known, 'n') + more - limit
    if (missing > Math.max(more, REMOVED_ALONE)) return { verdict: denied(verdict, cost), write: removal(over) }
    const old = over.filter(({ until }) => until + keptMs + CLOCKS_DIFFER_MS <= now)
    const gone =
      missing > 0
        ? over.slice(0, Math.max(missing, REMOVED_AT_ONCE))
        : old.length >= TOLERATED
          ? old.slice(0, REMOVED_AT_ONCE)
          : []
    return {
      verdict,
      write: when(
        [
          absentOrAtMost('n', limit - more + gone.length),
          ...held.map(asSeen),
          ...fresh.map(({ id }) => absentOrAtMost(id, -1)),
          ...gone.map(asSeen),
        ],
        add('n', more - gone.length),
        ...fresh.map(({ id, forMs }) => set(id, now + (timeoutMs ?? forMs ?? 0))),
        ...gone.map(({ id }) => remove(id)),
      ),
    }
  },

  /** Ends the holds that are named, and none where none is. */
  refund: (known, _quota, _units, _chargedAt, _now, ended = []) => endHolds(known, ended),

  /** A hold is never late. */
  chargeLate: () => undefined,

  retentionMs: ({ longestMs, keptMs, isShared }) => (isShared ? 0 : longestMs + keptMs + CLOCKS_DIFFER_MS),

  storedBytes: ({ limit }) => numbersBytes(1) + limit * HOLD_BYTES,

  isEndedByOthers: true,
}

const ALWAYS: Verdict = { allowed: true, remaining: MAX_UNITS, resetAfterMs: 0, retryAfterMs: 0 }

/** That units of this item that were held then count there: it was not reset. */
export const heldSince = (at: EpochMs): ConditionalWrite => when([atMost('b', at)])

/** Where a limit was lowered, more are stored than a request can remove: a denial removes some of them. */
const denied = (verdict: Verdict, cost: number): Verdict => ({
  ...verdict,
  allowed: false,
  remaining: verdict.remaining + cost,
  retryAfterMs: RETRY_AFTER_MS,
})

const removal = (over: readonly StoredHold[]): ConditionalWrite => {
  const gone = over.slice(0, REMOVED_ALONE)
  return when(gone.map(asSeen), add('n', -gone.length), ...gone.map(({ id }) => remove(id)))
}

/**
 * The write that removes holds from a subject that nobody asks for any more, once so many have gathered that they cost
 * money; `undefined` where they have not. Whether these are holds, and not another algorithm's fields, their ids tell.
 */
export function purgeHolds(known: Fields, now: EpochMs): ConditionalWrite | undefined {
  if (!hasMoreThan(TOLERATED, known)) return undefined
  const old = storedIn(known).filter(
    ({ id, until }) => ID.test(id) && until + LONGEST_KEPT_MS + CLOCKS_DIFFER_MS <= now,
  )
  return old.length > TOLERATED ? removal(old) : undefined
}

function hasMoreThan(count: number, fields: Fields): boolean {
  let left = count
  for (const _ in fields) if (left-- === 0) return true
  return false
}

/** A hold that is stored. */
interface StoredHold {
  readonly id: string
  readonly until: EpochMs
}

const asSeen = ({ id, until }: StoredHold) => exactly(id, until)

const longestOf = (asked: readonly Hold[], timeoutMs: number | undefined): number =>
  timeoutMs ?? asked.reduce((longest, { forMs = 0 }) => Math.max(longest, forMs), 0)

/** Holds that are stored, those whose time is over included. */
const storedIn = (known: Fields | undefined): StoredHold[] =>
  Object.entries(known ?? {}).flatMap(([id, until]) =>
    id.length > 1 && typeof until === 'number' ? { id, until } : [],
  )

/** The write that ends those of these holds that are stored; `undefined` where none is. */
export function endHolds(known: Fields, ended: readonly Pick<Hold, 'id'>[]): ConditionalWrite | undefined {
  const found = storedIn(known).filter(({ id }) => ended.some((hold) => hold.id === id))
  if (found.length === 0) return undefined
  return when(found.map(asSeen), add('n', -found.length), ...found.map(({ id }) => remove(id)))
}

/** The reservations that are open: how many, and how long the one that ends last stays reserved, in milliseconds. */
export function openIn(known: Fields, keptMs: number, now: EpochMs): { open: number; lastMs: number } {
  const open = storedIn(known).filter(({ until }) => until + keptMs + CLOCKS_DIFFER_MS > now)
  return { open: open.length, lastMs: open.reduce((last, { until }) => Math.max(last, until - now), 0) }
}

/** The requests that are running: when each began, and how long it may run yet, in milliseconds; the oldest first. */
export const runningIn = (known: Fields, timeoutMs: number, now: EpochMs): { sinceMs: EpochMs; leftMs: number }[] =>
  storedIn(known)
    .map(({ until }) => ({ sinceMs: until - timeoutMs, leftMs: Math.max(0, until - now) }))
    .filter(({ leftMs }) => leftMs > 0)
    .sort((one, other) => one.sinceMs - other.sinceMs)

/**
 * Fields in which so many more holds stand: those that were seen and last longest, or, where none was seen, some that
 * last until then.
 */
export function withHolds(known: Fields, seen: Fields | undefined, more: number, otherwiseUntil: EpochMs): Fields {
  const others = storedIn(seen).filter(({ id }) => !(id in known))
  const longest = others.sort((one, other) => other.until - one.until).slice(0, more)
  const rest = Array.from({ length: more - longest.length }, (_, i) => ({ id: `seen${i}`, until: otherwiseUntil }))
  return { ...known, ...Object.fromEntries([...longest, ...rest].map(({ id, until }) => [id, until])) }
}

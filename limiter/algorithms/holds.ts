import type { EpochMs } from '../clock'
import type { Algorithm, Hold } from './algorithm'
import {
  absentOrAtMost,
  add,
  type ConditionalWrite,
  exactly,
  type Fields,
  numberOf,
  numbersBytes,
  remove,
  set,
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
}

/** When a denied request may ask again: nobody knows when a request ends. */
const RETRY_AFTER_MS = 1000

/** How far clocks may differ without ending a hold before its time. */
const CLOCKS_DIFFER_MS = 1000

/**
 * Holds that one write removes whose time is over, as many as there is room for beside 30 policies, and how many may
 * stand before one does so without need.
 */
const REMOVED_AT_ONCE = 4
const TOLERATED = 8

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

  step(known, { limit, timeoutMs, keptMs }, cost, now, _asOf, asked = []) {
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

  retentionMs: ({ longestMs, keptMs }) => longestMs + keptMs + CLOCKS_DIFFER_MS,

  storedBytes: ({ limit }) => numbersBytes(1) + limit * HOLD_BYTES,

  isEndedByOthers: true,
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

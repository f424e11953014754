import type { EpochMs } from '../clock'
import type { Algorithm } from './algorithm'
import {
  type Assignment,
  absentOrAtMost,
  add,
  append,
  type Clause,
  exactly,
  type Fields,
  listBytes,
  listOf,
  numberOf,
  numbersBytes,
  remove,
  replace,
  set,
  sizeAtMost,
  when,
} from './conditional-write'
import { heldInSlidingMs } from './window-grid'

export interface SlidingLogQuota {
  /** Units in any interval of `windowMs`. */
  readonly limit: number
  readonly windowMs: number
  /** Whether requests that this policy denies are recorded too, so that a caller who goes on hitting stays out. */
  readonly countDenied: boolean
}

/**
 * Sliding log: the time of every unit, so that no interval of `windowMs` ever holds more than `limit`. An entry counts
 * while it is later than `now − windowMs`.
 *
 * Fields: `l` the times, oldest first; `t` the newest time ever recorded, below which no clock falls; `v` how often the
 * log was written; `x` units past the limit, of requests that cost more in the end than they were charged, and `y` the
 * time of the newest of them, at which all of them count. Expired entries linger until their room is needed; then the
 * log is rewritten without them, provided that nobody has written meanwhile.
 *
 * **For:** exact. **Against:** 9 bytes a unit, so it is for small limits.
 */
export const slidingLog: Algorithm<SlidingLogQuota> = {
  name: 'sliding-log',

  step(known, { limit, windowMs, countDenied }, cost, now) {
    const at = Math.max(now, numberOf(known, 't'))
    const log = listOf(known, 'l')
    const expired = firstAfter(log, at - windowMs)
    const live = log.length - expired
    const owed = numberOf(known, 'y') > at - windowMs ? numberOf(known, 'x') : 0
    const allowed = live + owed + cost <= limit
    const recorded = Math.min(allowed || countDenied ? cost : 0, limit)
    const entries = live + recorded
    // The oldest make way for the new ones, and for no more: a writer with a larger limit still counts as many as are
    // live.
    const kept = Math.min(entries, Math.max(limit, live))

    const timeOf = (count: number): EpochMs => {
      if (count > live + owed) return at
      const before = owed > 0 ? firstAfter(log, numberOf(known, 'y')) : log.length
      if (expired + count <= before) return log[expired + count - 1]!
      return expired + count - owed <= before ? numberOf(known, 'y') : log[expired + count - owed - 1]!
    }
    const freeAfterMs = (count: number): number => timeOf(count) + windowMs - now
    const verdict = {
      allowed,
      remaining: Math.max(0, limit - kept - owed),
      resetAfterMs: entries + owed > 0 ? freeAfterMs(entries + owed) : 0,
      retryAfterMs: allowed ? 0 : cost > limit ? Infinity : freeAfterMs(entries + owed + cost - limit),
    }
    if (recorded === 0) return { verdict }

    const note = [set('t', at), add('v', 1)]
    const units = Array<number>(recorded).fill(at)
    if (log.length + cost > limit || known?.x !== undefined) {
      const room = Math.min(owed, Math.max(0, limit - live)) // for all of it where the request is allowed
      const after = [...insert(log.slice(expired), numberOf(known, 'y'), room), ...units]
      const stored = replace('l', after.slice(-Math.min(after.length, Math.max(limit, live))))
      return { verdict, write: when(untouched(known), stored, ...note, ...owing(known, owed - room)) }
    }
    const noNewerEntry = at > now ? exactly('t', at) : absentOrAtMost('t', at)
    return { verdict, write: when([sizeAtMost('l', limit - cost), noNewerEntry], append('l', units), ...note) }
  },

  /** Takes units from those past the limit, then the newest entries that are not younger than the charge. */
  refund(known, _quota, units, chargedAt) {
    const log = listOf(known, 'l')
    const owed = numberOf(known, 'x')
    const back = numberOf(known, 'y') <= chargedAt ? Math.min(units, owed) : 0
    const until = log.filter((time) => time <= chargedAt).length
    const kept = [...log.slice(0, Math.max(0, until - units + back)), ...log.slice(until)]
    if (kept.length === log.length && back === 0) return undefined
    const room = Math.min(owed - back, log.length - kept.length)
    const paid = insert(kept, numberOf(known, 'y'), room)
    return when(untouched(known), replace('l', paid), add('v', 1), ...owing(known, owed - back - room))
  },

  /** At its own time among the others, as many as the limit has room for; the others past it. */
  chargeLate(known, { limit, windowMs }, units, chargedAt, now) {
    const newest = numberOf(known, 't')
    // a clock that is behind charges where others have come
    const at = newest > Math.max(now, chargedAt) ? newest : chargedAt
    const expired = Math.max(now, newest) - windowMs
    if (at <= expired) return undefined
    const log = listOf(known, 'l')
    const note = [set('t', Math.max(newest, at)), add('v', 1)]
    if (at >= newest && log.length + units <= limit) {
      const room = [sizeAtMost('l', limit - units), absentOrAtMost('t', at)]
      return when(room, append('l', Array<EpochMs>(units).fill(at)), ...note)
    }
    const live = log.slice(firstAfter(log, expired))
    const last = numberOf(known, 'y')
    const before = last > expired ? numberOf(known, 'x') : 0
    const paid = insert(live, last, Math.min(before, Math.max(0, limit - live.length)))
    const after = insert(paid, at, Math.min(units, Math.max(0, limit - paid.length)))
    const owed = before + units - (after.length - live.length)
    return when(untouched(known), replace('l', after), ...note, ...owing(known, owed, Math.max(last, at)))
  },

  retentionMs: ({ windowMs }) => windowMs,

  /** Its four numbers have names of one letter, and take the room of two. */
  storedBytes: ({ limit }) => numbersBytes(2) + listBytes(limit),

  reachedAt: (known) => numberOf(known, 't'),

  leaseExpiresAt: (_after, { windowMs, countDenied }, chargedAt) =>
    countDenied ? undefined : chargedAt + heldInSlidingMs(windowMs),

  recordsDenials: ({ countDenied }) => countDenied,
}

/** Where the times later than that begin, by bisection. */
function firstAfter(log: readonly number[], time: EpochMs): number {
  let [low, high] = [0, log.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (log[middle]! > time) high = middle
    else low = middle + 1
  }
  return low
}

/** Entries, in their order, and so many more of one time. */
function insert(log: readonly EpochMs[], time: EpochMs, count: number): EpochMs[] {
  const at = firstAfter(log, time)
  return [...log.slice(0, at), ...Array<EpochMs>(count).fill(time), ...log.slice(at)]
}

/** So many units past the limit, and the time at which they count. The log is full as long as there are any. */
function owing(known: Fields | undefined, units: number, at = numberOf(known, 'y')): Assignment[] {
  if (units > 0) return [set('x', units), set('y', at)]
  return known?.x === undefined ? [] : [remove('x'), remove('y')]
}

/** The newest time too, so that a log that was deleted and begun again is not taken for the one seen. */
const untouched = (known: Fields | undefined): Clause[] =>
  numberOf(known, 'v') === 0
    ? [absentOrAtMost('v', 0)]
    : [exactly('v', numberOf(known, 'v')), exactly('t', numberOf(known, 't'))]

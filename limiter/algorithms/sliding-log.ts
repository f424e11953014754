import type { EpochMs } from '../clock'
import type { Algorithm } from './algorithm'
import {
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

/** Units that a log keeps past its limit, where requests cost more in the end than they were charged. */
export const MAX_DEBT = 1000

/**
 * Sliding log: the time of every unit, so that no interval of `windowMs` ever holds more than `limit`. An entry counts
 * while it is later than `now − windowMs`.
 *
 * Fields: `l` the times, oldest first; `t` the newest time ever recorded, below which no clock falls; `v` how often the
 * log was written. Expired entries linger until their room is needed; then the log is rewritten without them, provided
 * that nobody has written meanwhile.
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
    const allowed = live + cost <= limit
    const recorded = Math.min(allowed || countDenied ? cost : 0, limit)
    const entries = live + recorded
    // The oldest make way for the new ones, and for no more: a writer with a larger limit still counts as many as are
    // live.
    const kept = Math.min(entries, Math.max(limit, live))

    const freeAfterMs = (count: number): number => (count <= live ? log[expired + count - 1]! : at) + windowMs - now
    const verdict = {
      allowed,
      remaining: Math.max(0, limit - kept),
      resetAfterMs: entries > 0 ? freeAfterMs(entries) : 0,
      retryAfterMs: allowed ? 0 : cost > limit ? Infinity : freeAfterMs(entries + cost - limit),
    }
    if (recorded === 0) return { verdict }

    const note = [set('t', at), add('v', 1)]
    const units = Array<number>(recorded).fill(at)
    if (log.length + cost > limit) {
      const after = [...log.slice(expired), ...units].slice(-kept)
      return { verdict, write: when(untouched(known), replace('l', after), ...note) }
    }
    const noNewerEntry = at > now ? exactly('t', at) : absentOrAtMost('t', at)
    return { verdict, write: when([sizeAtMost('l', limit - cost), noNewerEntry], append('l', units), ...note) }
  },

  /**
   * At its own time among the others. Past the limit there is room for `MAX_DEBT` more, and the oldest of what exceeds
   * that are lost.
   */
  chargeLate(known, { limit, windowMs }, units, chargedAt, now) {
    const newest = numberOf(known, 't')
    const log = listOf(known, 'l')
    // a clock that is behind charges where others have come
    const at = newest > Math.max(now, chargedAt) ? newest : chargedAt
    const expired = Math.max(now, newest) - windowMs
    if (at <= expired) return undefined
    const most = limit + MAX_DEBT
    const note = [set('t', Math.max(newest, at)), add('v', 1)]
    const entries = Array<number>(Math.min(units, most)).fill(at)
    if (at >= newest && log.length + units <= most)
      return when([sizeAtMost('l', most - units), absentOrAtMost('t', at)], append('l', entries), ...note)
    const before = log.slice(firstAfter(log, expired), firstAfter(log, at))
    const after = log.slice(firstAfter(log, at))
    return when(untouched(known), replace('l', [...before, ...entries, ...after].slice(-most)), ...note)
  },

  /** Takes out the newest entries that are not younger than the charge. */
  refund(known, _quota, units, chargedAt) {
    const log = listOf(known, 'l')
    const until = log.filter((time) => time <= chargedAt).length
    const kept = [...log.slice(0, Math.max(0, until - units)), ...log.slice(until)]
    return kept.length === log.length ? undefined : when(untouched(known), replace('l', kept), add('v', 1))
  },

  retentionMs: ({ windowMs }) => windowMs,

  storedBytes: ({ limit }) => numbersBytes(2) + listBytes(limit + MAX_DEBT),

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

/** The newest time too, so that a log that was deleted and begun again is not taken for the one seen. */
const untouched = (known: Fields | undefined): Clause[] =>
  numberOf(known, 'v') === 0
    ? [absentOrAtMost('v', 0)]
    : [exactly('v', numberOf(known, 'v')), exactly('t', numberOf(known, 't'))]

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
    const live = log.filter((time) => time > at - windowMs)
    const allowed = live.length + cost <= limit
    const recorded = allowed || countDenied ? cost : 0
    const units = Array<number>(Math.min(recorded, limit)).fill(at)
    const entries = [...live, ...units]
    // The oldest make way for the new ones, and for no more: a writer with a larger limit still counts as many as are
    // live.
    const after = entries.slice(-Math.max(limit, live.length))

    const freeAfterMs = (count: number): number => entries[count - 1]! + windowMs - now
    const verdict = {
      allowed,
      remaining: Math.max(0, limit - after.length),
      resetAfterMs: entries.length > 0 ? freeAfterMs(entries.length) : 0,
      retryAfterMs: allowed ? 0 : cost > limit ? Infinity : freeAfterMs(entries.length + cost - limit),
    }
    if (recorded === 0) return { verdict }

    const note = [set('t', at), add('v', 1)]
    if (log.length + cost > limit) return { verdict, write: when(untouched(known), replace('l', after), ...note) }
    const noNewerEntry = at > now ? exactly('t', at) : absentOrAtMost('t', at)
    return { verdict, write: when([sizeAtMost('l', limit - cost), noNewerEntry], append('l', units), ...note) }
  },

  /** Takes out the newest entries that are not younger than the charge. */
  refund(known, _quota, units, chargedAt) {
    const log = listOf(known, 'l')
    const until = log.filter((time) => time <= chargedAt).length
    const kept = [...log.slice(0, Math.max(0, until - units)), ...log.slice(until)]
    return kept.length === log.length ? undefined : when(untouched(known), replace('l', kept), add('v', 1))
  },

  retentionMs: ({ windowMs }) => windowMs,

  storedBytes: ({ limit }) => numbersBytes(2) + listBytes(limit),

  reachedAt: (known) => numberOf(known, 't'),

  leaseExpiresAt: (_after, { windowMs, countDenied }, chargedAt) =>
    countDenied ? undefined : chargedAt + heldInSlidingMs(windowMs),

  recordsDenials: ({ countDenied }) => countDenied,
}

/** The newest time too, so that a log that was deleted and begun again is not taken for the one seen. */
const untouched = (known: Fields | undefined): Clause[] =>
  numberOf(known, 'v') === 0
    ? [absentOrAtMost('v', 0)]
    : [exactly('v', numberOf(known, 'v')), exactly('t', numberOf(known, 't'))]

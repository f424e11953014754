import type { Algorithm } from './algorithm'
import {
  absentOrAtMost,
  add,
  atLeast,
  atMost,
  between,
  exactly,
  numberOf,
  numbersBytes,
  remove,
  set,
  when,
} from './conditional-write'

export interface AnchoredWindowQuota {
  /** Units per window. */
  readonly limit: number
  readonly windowMs: number
}

/**
 * Anchored window: the window opens at a subject's first request and closes `windowMs` later; the next request opens
 * the next one.
 *
 * Fields: `s` when the window opened, `c` its count. A start that lies ahead of the clock is an open window.
 *
 * **For:** no two clients' windows close at the same instant, so no stampede. **Against:** up to twice the limit across
 * an edge.
 */
export const anchoredWindow: Algorithm<AnchoredWindowQuota> = {
  name: 'anchored-window',

  step(known, { limit, windowMs }, cost, now) {
    const expired = now - windowMs
    const start = numberOf(known, 's', expired)
    const open = start > expired
    const used = open ? numberOf(known, 'c') : 0
    const allowed = used + cost <= limit
    const after = allowed ? used + cost : used
    const closesAfterMs = (open ? start : now) + windowMs - now

    const verdict = {
      allowed,
      remaining: Math.max(0, limit - after),
      resetAfterMs: after > 0 ? closesAfterMs : 0,
      retryAfterMs: allowed ? 0 : cost > limit ? Infinity : closesAfterMs,
    }
    if (!allowed || cost === 0) return { verdict }

    return {
      verdict,
      write: open
        ? when([atLeast('s', expired + 1), atMost('c', limit - cost)], add('c', cost))
        : when([absentOrAtMost('s', expired)], set('s', now), set('c', cost)),
    }
  },

  refund(known, { windowMs }, units, chargedAt, _now, _holds, stays) {
    const start = numberOf(known, 's', Infinity)
    const used = numberOf(known, 'c')
    if (start > chargedAt || start <= chargedAt - windowMs || used === 0) return undefined
    const sameWindow = between('s', chargedAt - windowMs + 1, chargedAt)
    if (units < used) return when([sameWindow, atLeast('c', units + 1)], add('c', -units))
    if (stays) return when([sameWindow, exactly('c', used)], set('c', 0))
    // A window that nothing is charged to closes: the next request opens its own, as if there had been none.
    return when([exactly('s', start), exactly('c', used)], remove('s'), remove('c'))
  },

  /** In the window that was open then, or one that others opened since; where there is none, in one of its own. */
  chargeLate(known, { windowMs }, units, chargedAt, now) {
    const start = numberOf(known, 's', -Infinity)
    const expired = chargedAt - windowMs
    if (now >= chargedAt + windowMs || (start > expired && now >= start + windowMs)) return undefined
    if (start <= expired) return when([absentOrAtMost('s', expired)], set('s', chargedAt), set('c', units))
    const oldest = Math.max(expired, now - windowMs) + 1
    return when([between('s', oldest, Math.max(start, chargedAt))], add('c', units))
  },

  retentionMs: ({ windowMs }) => windowMs,

  storedBytes: () => numbersBytes(2),

  reachedAt: (known) => numberOf(known, 's'),

  /** Where the window opened later than that, it was by a clock that is ahead, or by this charge. */
  leaseExpiresAt: (after, { windowMs }, chargedAt) => Math.min(chargedAt, numberOf(after, 's', chargedAt)) + windowMs,

  /**
   * A subject that sent several requests in one window has likely opened the next one by now, at the hands of other
   * instances.
   */
  extrapolate: (seen, _seenAt, { windowMs }, now) =>
    numberOf(seen, 's', now) <= now - windowMs && numberOf(seen, 'c') > 1 ? { s: now, c: 0 } : seen,
}

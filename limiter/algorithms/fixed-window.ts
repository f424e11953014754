import type { Algorithm } from './algorithm'
import { absentOrAtMost, add, exactly, numberOf, numbersBytes, set, when } from './conditional-write'
import { lateSlot, purgeSlots, refundSlots, removeExpired, slot, slotsBytes } from './slots'
import type { WindowGrid } from './window-grid'

export interface FixedWindowQuota {
  /** Units per window. */
  readonly limit: number
  /** Where windows begin and end: by the epoch, or by a calendar. */
  readonly grid: WindowGrid
}

/**
 * Fixed window: at most `limit` units in each window of a grid that everybody shares.
 *
 * Fields: `w` the newest window written, and that window's count in its own slot. A clock behind `w` counts in `w`, so
 * stepping back never opens a fresh window.
 *
 * **For:** the easiest to explain, lines up with billing periods. **Against:** up to twice the limit across an edge.
 */
export const fixedWindow: Algorithm<FixedWindowQuota> = {
  name: 'fixed-window',

  step(known, { limit, grid }, cost, now) {
    const today = grid.indexAt(now)
    const window = Math.max(today, numberOf(known, 'w', today))
    const counter = slot(window)
    const used = numberOf(known, counter)
    const allowed = used + cost <= limit
    const after = allowed ? used + cost : used
    const nextWindowMs = grid.startOf(window + 1) - now

    const verdict = {
      allowed,
      remaining: Math.max(0, limit - after),
      resetAfterMs: after > 0 ? nextWindowMs : 0,
      retryAfterMs: allowed ? 0 : cost > limit ? Infinity : nextWindowMs,
    }
    if (!allowed || cost === 0) return { verdict }

    const noNewerWindow = window > today ? exactly('w', window) : absentOrAtMost('w', window)
    return {
      verdict,
      write: when(
        [noNewerWindow, absentOrAtMost(counter, limit - cost)],
        set('w', window),
        add(counter, cost),
        ...removeExpired(known, window),
      ),
    }
  },

  refund: (known, { grid }, units, chargedAt) => refundSlots(known, units, grid.indexAt(chargedAt), 1),

  chargeLate(known, { grid }, units, chargedAt, now) {
    const charge = lateSlot(known, grid.indexAt(chargedAt), grid.indexAt(now), 1)
    return (
      charge &&
      when(charge.guard, ...charge.newest, add(slot(charge.index), units), ...removeExpired(known, charge.index))
    )
  },

  retentionMs: ({ grid }) => grid.longestMs,

  storedBytes: () => numbersBytes(1) + slotsBytes(1),

  reachedAt: (known, { grid }, now) => grid.startOf(numberOf(known, 'w', grid.indexAt(now))),

  leaseExpiresAt(after, { grid }, chargedAt) {
    const today = grid.indexAt(chargedAt)
    return grid.startOf(Math.max(today, numberOf(after, 'w', today)) + 1)
  },

  purge: (known) => purgeSlots(known, numberOf(known, 'w')),
}

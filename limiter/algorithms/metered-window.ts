import type { EpochMs } from '../clock'
import { type Algorithm, MAX_UNITS } from './algorithm'
import {
  type Assignment,
  absentOrAtMost,
  add,
  atLeast,
  between,
  type Clause,
  exactly,
  type Fields,
  numberOf,
  numbersBytes,
  remove,
  set,
  when,
} from './conditional-write'
import { type FixedWindowQuota, fixedWindow } from './fixed-window'
import { isOverSlot, isSlot, overSlot, purgeSlots, removeExpired, slot, slotIndex, slotsBytes } from './slots'

/** Windows that are kept for reading, the newest one included: by the month, the same month of last year. */
const KEPT = 13

/**
 * A fixed window that admits past its limit and counts, to the unit, what was past it: a quota with overage, for
 * billing.
 *
 * Fields: those of the fixed window, with which it shares its stored state, so that a quota begins and ceases to admit
 * past its limit without losing count; and for each window with units past the limit an over-slot with their number. A
 * unit is past the limit by the limit in force when it was charged, and stays so when the limit changes.
 *
 * The write depends on where the count is: inside the limit it only adds to the count, past it to both, each under a
 * range. The one request that crosses it is split, which needs the count exactly as seen; that happens once in a
 * window, while the limit stays.
 *
 * **For:** exact records in the write that is there anyway. **Against:** it protects nothing.
 */
export const meteredWindow: Algorithm<FixedWindowQuota> = {
  name: fixedWindow.name,

  step(known, { limit, grid }, cost, now) {
    const today = grid.indexAt(now)
    const window = Math.max(today, numberOf(known, 'w', today))
    const [counter, overCounter] = [slot(window), overSlot(window)]
    const used = numberOf(known, counter)
    const allowed = used + cost <= MAX_UNITS
    const after = allowed ? used + cost : used
    const past = Math.max(0, after - Math.max(limit, used))
    const nextWindowMs = grid.startOf(window + 1) - now

    const verdict = {
      allowed,
      remaining: Math.max(0, limit - after),
      resetAfterMs: after > 0 ? nextWindowMs : 0,
      retryAfterMs: allowed ? 0 : cost > MAX_UNITS ? Infinity : nextWindowMs,
      overage: numberOf(known, overCounter) + past,
    }
    if (!allowed || cost === 0) return { verdict }

    const noNewerWindow = window > today ? exactly('w', window) : absentOrAtMost('w', window)
    return {
      verdict,
      write: when(
        [noNewerWindow, sameSide(counter, used, limit, cost)],
        set('w', window),
        add(counter, cost),
        ...(past > 0 ? [add(overCounter, past)] : []),
        ...removeExpired(known, window - KEPT + 1),
      ),
    }
  },

  /**
   * Of the units given back, those are past the limit that stand past it in the count: the newest. Where the limit has
   * not changed since the charge this undoes it exactly; where it was raised in between, units that were recorded as
   * past the old one stay so.
   */
  refund(known, { limit, grid }, units, chargedAt) {
    const window = grid.indexAt(chargedAt)
    const used = numberOf(known, slot(window))
    if (used === 0) return undefined
    const back = Math.min(used, units)
    const overage = numberOf(known, overSlot(window))
    const overAfter = Math.min(overage - Math.min(overage, back, Math.max(0, used - limit)), used - back)
    return when(
      asSeenOrGrown(window, { used, back, overage, limit }),
      ...less(slot(window), used, used - back),
      ...less(overSlot(window), overage, overAfter),
    )
  },

  chargeLate(known, quota, units, chargedAt, now) {
    const isOver = quota.grid.indexAt(chargedAt) < quota.grid.indexAt(now)
    return isOver ? undefined : meteredWindow.step(known, quota, units, chargedAt).write
  },

  retentionMs: ({ grid }) => KEPT * grid.longestMs,

  storedBytes: () => numbersBytes(1) + slotsBytes(2 * KEPT),

  reachedAt: fixedWindow.reachedAt,

  purge: (known) => purgeSlots(known, numberOf(known, 'w') - KEPT + 1),
}

/** What one window of a policy was charged. */
export interface Usage {
  /** The window's first instant. */
  readonly startAt: EpochMs
  /** The first instant that is no longer in it. */
  readonly endsAt: EpochMs
  /** Units charged, those past the quota included. */
  readonly used: number
  /** Those that were past the quota. */
  readonly overage: number
}

/**
 * What is on record of a policy that counts by fixed windows, newest first: up to 13 windows where overage is allowed,
 * else the newest one.
 */
export function usageOf(fields: Fields, { grid }: Pick<FixedWindowQuota, 'grid'>): Usage[] {
  return Object.keys(fields)
    .filter((name) => isSlot(name) && !isOverSlot(name))
    .map(slotIndex)
    .filter((index) => index > numberOf(fields, 'w') - KEPT)
    .sort((a, b) => b - a)
    .map((index) => ({
      startAt: grid.startOf(index),
      endsAt: grid.startOf(index + 1),
      used: numberOf(fields, slot(index)),
      overage: numberOf(fields, overSlot(index)),
    }))
}

/**
 * That units can be given back just as from the counts that were seen: all of them from inside the limit, all from past
 * it, or else as seen.
 */
function asSeenOrGrown(
  window: number,
  { used, back, overage, limit }: { used: number; back: number; overage: number; limit: number },
): Clause[] {
  const [counter, overCounter] = [slot(window), overSlot(window)]
  if (overage === 0 && back < used && used <= limit) return [between(counter, back + 1, limit), asSeen(overCounter, 0)]
  if (overage > back && used - limit >= back) return [atLeast(counter, limit + back), atLeast(overCounter, back + 1)]
  return [asSeen(counter, used), asSeen(overCounter, overage)]
}

/** That the count is where it was seen: so far inside the limit that the cost fits, past it, or just there. */
function sameSide(counter: string, used: number, limit: number, cost: number): Clause {
  if (used + cost <= limit) return absentOrAtMost(counter, limit - cost)
  return used >= limit ? between(counter, limit, MAX_UNITS - cost) : asSeen(counter, used)
}

const asSeen = (name: string, value: number): Clause => (value === 0 ? absentOrAtMost(name, 0) : exactly(name, value))

const less = (name: string, before: number, after: number): Assignment[] =>
  after === before ? [] : [after === 0 ? remove(name) : add(name, after - before)]

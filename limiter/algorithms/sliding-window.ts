import type { Algorithm } from './algorithm'
import {
  absentOrAtMost,
  add,
  type Clause,
  type Comparison,
  exactly,
  numberOf,
  numbersBytes,
  set,
  when,
} from './conditional-write'
import { firstMoment } from './first-moment'
import { lateSlot, purgeSlots, refundSlots, removeExpired, slot, slotsBytes } from './slots'
import { edgeAfter, heldInSlidingMs } from './window-grid'

export interface SlidingWindowQuota {
  /** Units per window. */
  readonly limit: number
  readonly windowMs: number
}

/**
 * Sliding window counter: this window's count plus the previous one's, weighted by how much of it the last `windowMs`
 * still cover. Allows when `⌊previous · (windowMs − elapsed) / windowMs⌋ + current + cost ≤ limit`.
 *
 * Fields: `w` the newest window written, and a slot each for that window and the one before. A clock behind `w` counts
 * in `w`.
 *
 * DynamoDB cannot multiply in a condition, so the guard covers the triangle of permitted counts with rectangles
 * "previous ≤ p and current ≤ c": one that is exact when the previous count is known for certain, a staircase of
 * several when it is not.
 *
 * **For:** close to a true rolling window with two numbers. **Against:** assumes that the previous window's requests
 * were spread evenly.
 */
export const slidingWindow: Algorithm<SlidingWindowQuota> = {
  name: 'sliding-window',

  step(known, quota, cost, now) {
    const { limit, windowMs } = quota
    const today = Math.floor(now / windowMs)
    const window = Math.max(today, numberOf(known, 'w', today))
    const previous = numberOf(known, slot(window - 1))
    const current = numberOf(known, slot(window))
    const used = weighted(previous, now - window * windowMs, windowMs) + current
    const allowed = used + cost <= limit
    const after = allowed ? current + cost : current

    const usedAt = (at: number, newest: number): number => {
      const elapsed = at - window * windowMs
      return elapsed < windowMs
        ? weighted(previous, elapsed, windowMs) + newest
        : weighted(newest, elapsed - windowMs, windowMs)
    }
    const wholeAt = (window + 2) * windowMs
    const weightlessAt = after > 0 ? weightless(after, window + 1, windowMs) : weightless(previous, window, windowMs)
    const verdict = {
      allowed,
      remaining: Math.max(0, limit - (allowed ? used + cost : used)),
      resetAfterMs: firstMoment(now, wholeAt, (at) => usedAt(at, after) === 0, weightlessAt) - now,
      retryAfterMs: allowed
        ? 0
        : cost > limit
          ? Infinity
          : firstMoment(now, wholeAt, (at) => usedAt(at, current) + cost <= limit) - now,
    }
    if (!allowed || cost === 0) return { verdict }

    const room = { limit, cost, previous, current, elapsed: now - window * windowMs, windowMs }
    const certain = numberOf(known, 'w', -1) === window
    return {
      verdict,
      write: when(
        [window > today ? exactly('w', window) : absentOrAtMost('w', window), permittedCounts(window, room, certain)],
        set('w', window),
        add(slot(window), cost),
        ...removeExpired(known, window - 1),
      ),
    }
  },

  refund: (known, { windowMs }, units, chargedAt) => refundSlots(known, units, Math.floor(chargedAt / windowMs), 2),

  /** In its own window, also once that is the previous one: its count is weighed as a whole. */
  chargeLate(known, { windowMs }, units, chargedAt, now) {
    const [index, today] = [Math.floor(chargedAt / windowMs), Math.floor(now / windowMs)]
    const charge = lateSlot(known, index, today, 2)
    return charge && when(charge.guard, ...charge.newest, add(slot(charge.index), units))
  },

  retentionMs: ({ windowMs }) => 2 * windowMs,

  storedBytes: () => numbersBytes(1) + slotsBytes(2),

  reachedAt: (known, { windowMs }) => numberOf(known, 'w') * windowMs,

  /** Half a window past its edge, and no longer than a limit without windows would hold them. */
  leaseExpiresAt: (_after, { windowMs }, chargedAt) => edgeAfter(chargedAt, windowMs) + heldInSlidingMs(windowMs),

  purge: (known) => purgeSlots(known, numberOf(known, 'w') - 1),
}

/** What the previous window still weighs, in whole units. A clock behind the window's start finds it at full weight. */
function weighted(previous: number, elapsedMs: number, windowMs: number): number {
  return Math.floor((previous * Math.min(windowMs, windowMs - elapsedMs)) / windowMs)
}

/** When a count from the window before weighs less than a unit. */
function weightless(previous: number, window: number, windowMs: number): number {
  return window * windowMs + Math.floor(windowMs - windowMs / previous) + 1
}

interface Room extends SlidingWindowQuota {
  readonly cost: number
  /** Both counts as last seen; they can only have grown. */
  readonly previous: number
  readonly current: number
  readonly elapsed: number
}

/**
 * Where in the possible weights of an uncertain previous count the steps stand, in eighths, best guess first; measured
 * in docs/adr/0002.
 */
const STEPS = [4, 7, 2, 6, 8, 5, 3, 1, 0]

/**
 * The counts that leave room for this request. A step of weight `v` permits every previous count that weighs no more
 * than `v`, and the current count that then still fits.
 *
 * @param certain nobody adds to a window once a newer one has been written, so a previous count seen from the current
 * window is final.
 */
function permittedCounts(window: number, room: Room, certain: boolean): Clause {
  const lightest = weighted(room.previous, room.elapsed, room.windowMs)
  if (certain) return { anyOf: [atStep(lightest, window, room)] }

  const heaviestFitting = Math.min(
    weighted(room.limit, room.elapsed, room.windowMs),
    room.limit - room.cost - room.current,
  )
  const spread = Math.max(0, heaviestFitting - lightest)
  const weights = new Set(STEPS.map((eighths) => lightest + Math.ceil((spread * eighths) / 8)))
  return { anyOf: [...weights].map((weight) => atStep(weight, window, room)) }
}

const atStep = (weight: number, window: number, room: Room): Comparison[] => [
  absentOrAtMost(slot(window - 1), heaviest(weight, room)),
  absentOrAtMost(slot(window), room.limit - room.cost - weight),
]

/** The largest previous count that weighs at most `weight`. */
function heaviest(weight: number, { elapsed, windowMs }: Room): number {
  const remaining = Math.min(windowMs, windowMs - elapsed)
  let previous = Math.ceil(((weight + 1) * windowMs) / remaining) - 1
  while (weighted(previous, elapsed, windowMs) > weight) previous--
  return previous
}

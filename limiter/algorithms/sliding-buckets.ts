import type { Algorithm } from './algorithm'
import {
  absentOrAtMost,
  add,
  type Clause,
  type Comparison,
  exactly,
  type Fields,
  numberOf,
  numbersBytes,
  set,
  setIfAbsent,
  when,
} from './conditional-write'
import { isSlot, lateSlot, purgeSlots, refundSlots, removeExpired, slot, slotIndex, slotsBytes } from './slots'
import { heldInSlidingMs } from './window-grid'

export interface SlidingBucketsQuota {
  /** Units per window. */
  readonly limit: number
  readonly windowMs: number
  /** Sub-windows that the window is divided into; a divisor of `windowMs`. */
  readonly buckets: number
}

/**
 * Sliding window in sub-windows: `limit` units in the `buckets` newest sub-windows, the current one included.
 *
 * Fields: `w` the newest sub-window written; a slot for each with a count; `n` the sum of the slots from `o` on; `v`
 * how often units were given back, or charged late. The usual write only adds: slots that have expired linger in `n`,
 * which can only make it stricter. When `n` is full, what is known to have expired is subtracted in the same write as
 * the charge.
 *
 * **For:** a rolling window that assumes nothing: no interval one sub-window shorter holds more than the limit.
 * **Against:** a slot per busy sub-window, 11 bytes each, and up to twice the limit in a whole window.
 */
export const slidingBuckets: Algorithm<SlidingBucketsQuota> = {
  name: 'sliding-buckets',

  step(known, quota, cost, now) {
    const { limit, windowMs, buckets } = quota
    const bucketMs = windowMs / buckets
    const today = Math.floor(now / bucketMs)
    const newest = Math.max(today, numberOf(known, 'w', today))
    const expired = newest - buckets
    const live = sumFrom(known, expired + 1)
    const allowed = live.units + cost <= limit
    const last = allowed && cost > 0 ? newest : live.last

    const freeAfterMs = (index: number): number => (index + buckets) * bucketMs - now
    const retryAfterMs = () => freeAfterMs(slotThatFrees(live.units + cost - limit, slotsOf(known, expired + 1)))
    const verdict = {
      allowed,
      remaining: Math.max(0, limit - (allowed ? live.units + cost : live.units)),
      resetAfterMs: last === undefined ? 0 : freeAfterMs(last),
      retryAfterMs: allowed ? 0 : cost > limit ? Infinity : retryAfterMs(),
    }
    if (!allowed || cost === 0) return { verdict }

    const noNewerBucket = newest > today ? exactly('w', newest) : absentOrAtMost('w', newest)
    const charge = [set('w', newest), add(slot(newest), cost)]
    const oldest = newest - 2 * buckets
    // Each slot holds a unit at least, so a limit below 2 × buckets bounds the slots by itself.
    const bounded = limit <= 2 * buckets
    if (numberOf(known, 'n') + cost <= limit && (bounded || numberOf(known, 'o', newest) > oldest)) {
      const guard: Clause[] = [noNewerBucket, absentOrAtMost('n', limit - cost)]
      if (!bounded) guard.push({ field: 'o', atLeast: oldest + 1, orAbsent: true })
      const expired = live.first < numberOf(known, 'o') ? removeExpired(known!, numberOf(known, 'o')) : []
      return { verdict, write: when(guard, ...charge, add('n', cost), setIfAbsent('o', newest), ...expired) }
    }

    // Only the newest known slot can have grown since it was seen, and slots newer than that are not known at all.
    const newestSeen = numberOf(known, 'w')
    const seenUntil = Math.min(expired, newestSeen)
    const freed = sumOf(slotsOf(known, numberOf(known, 'o')).filter(({ index }) => index <= seenUntil))
    const notGrown = newestSeen > expired ? [] : [asSeen(known, slot(newestSeen))]
    return {
      verdict,
      write: when(
        // A guard that requires no charge since the view is stricter, and shorter.
        [
          asSeen(known, 'o'),
          asSeen(known, 'v'),
          {
            anyOf: [
              [asSeen(known, 'w'), asSeen(known, 'n')],
              [noNewerBucket, absentOrAtMost('n', limit - cost + freed), ...notGrown],
            ],
          },
        ],
        ...charge,
        add('n', cost - freed),
        set('o', seenUntil + 1),
        ...removeExpired(known ?? {}, seenUntil + 1),
      ),
    }
  },

  refund(known, { windowMs, buckets }, units, chargedAt) {
    const newest = Math.floor(chargedAt / (windowMs / buckets))
    const kept = newest - numberOf(known, 'o') + 1 // slots before `o` are in `n` no more
    const write = refundSlots(known, units, newest, Math.min(buckets, kept))
    if (!write) return undefined
    const back = write.assignments.reduce(
      (sum, one) => sum + ('add' in one ? -one.add : 'field' in one ? numberOf(known, one.field) : 0),
      0,
    )
    return when(
      [...write.guard, asSeen(known, 'o'), asSeen(known, 'v')],
      ...write.assignments,
      add('n', -back),
      add('v', 1),
    )
  },

  /**
   * In its own sub-window, or the first that the sum includes. What `v` counts keeps others from taking that for as
   * full as they saw it.
   */
  chargeLate(known, { windowMs, buckets }, units, chargedAt, now) {
    const bucketMs = windowMs / buckets
    const charge = lateSlot(known, Math.floor(chargedAt / bucketMs), Math.floor(now / bucketMs), buckets)
    if (!charge) return undefined
    const index = Math.max(charge.index, numberOf(known, 'o'))
    return when(
      [...charge.guard, absentOrAtMost('o', index)],
      ...charge.newest,
      add(slot(index), units),
      add('n', units),
      setIfAbsent('o', index),
      add('v', 1),
    )
  },

  retentionMs: ({ windowMs }) => windowMs,

  storedBytes: ({ buckets }) => numbersBytes(4) + slotsBytes(2 * buckets + 1),

  reachedAt: (known, { windowMs, buckets }) => numberOf(known, 'w') * (windowMs / buckets),

  leaseExpiresAt: (_after, { windowMs }, chargedAt) => chargedAt + heldInSlidingMs(windowMs),

  purge: (known) => purgeSlots(known, numberOf(known, 'o')),
}

interface Slot {
  readonly index: number
  readonly count: number
}

/** The units in the slots from `oldest` on, and the newest of these; the first of all slots. */
function sumFrom(
  known: Fields | undefined,
  oldest: number,
): { units: number; last: number | undefined; first: number } {
  let units = 0
  let last: number | undefined
  let first = Infinity
  for (const name in known) {
    if (!isSlot(name)) continue
    const index = slotIndex(name)
    if (index < first) first = index
    if (index < oldest) continue
    units += numberOf(known, name)
    if (last === undefined || index > last) last = index
  }
  return { units, last, first }
}

/** The slots from `oldest` on, in order. */
function slotsOf(known: Fields | undefined, oldest: number): Slot[] {
  const slots: Slot[] = []
  for (const name in known)
    if (isSlot(name) && slotIndex(name) >= oldest) slots.push({ index: slotIndex(name), count: numberOf(known, name) })
  return slots.sort((a, b) => a.index - b.index)
}

const sumOf = (slots: readonly Slot[]): number => slots.reduce((sum, { count }) => sum + count, 0)

/** The slot with whose expiry at least `units` are free. */
function slotThatFrees(units: number, live: readonly Slot[]): number {
  let freed = 0
  for (const { index, count } of live) {
    freed += count
    if (freed >= units) return index
  }
  return Infinity
}

const asSeen = (known: Fields | undefined, name: string): Comparison =>
  known?.[name] === undefined ? absentOrAtMost(name, 0) : exactly(name, numberOf(known, name))

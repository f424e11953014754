import {
  type Assignment,
  absentOrAtMost,
  add,
  atLeast,
  type Clause,
  type ConditionalWrite,
  exactly,
  type Fields,
  numberOf,
  numbersBytes,
  purge,
  remove,
  set,
  when,
} from './conditional-write'

/**
 * Counts kept in one field per window, named by the window's number. The name is what makes a write blind: in a new
 * window the field does not exist yet and counts from 0, whoever wrote last and however long ago, so no writer has to
 * know whether it is the first.
 *
 * A day that began before 1970, as the first one does west of Greenwich, has an underscore in front, where a minus
 * could not stand in an expression.
 *
 * No decision reads an expired slot. Writers remove those that they know of, and `purgeSlots` the rest.
 */
export function slot(index: number): string {
  const place = index & (REMEMBERED - 1)
  if (indexes[place] !== index) {
    names[place] = index < 0 ? `_${(-index).toString(36)}` : index.toString(36).padStart(2, '0')
    indexes[place] = index
  }
  return names[place]!
}

/** Names of the last few windows: a power of two. */
const REMEMBERED = 64
const indexes: number[] = new Array(REMEMBERED).fill(Number.NaN)
const names: string[] = new Array(REMEMBERED).fill('')

/**
 * A second count of the same window. It is a slot too: what reads its number stops at the underscore, so its number is
 * the window's, and a purge of the window removes this with it, also by a policy that knows nothing of overage.
 */
export const overSlot = (index: number): string => `${slot(index)}_`
export const isOverSlot = (name: string): boolean => name.endsWith('_')

/** Slots have two characters or more, all other fields have one. */
export const isSlot = (name: string): boolean => name.length > 1
export function slotIndex(name: string): number {
  const before1970 = name.charCodeAt(0) === UNDERSCORE
  let index = 0
  for (let at = before1970 ? 1 : 0; at < name.length; at++) {
    const code = name.charCodeAt(at)
    if (code === UNDERSCORE) break
    index = index * 36 + (code < LETTER_A ? code - DIGIT_0 : code - LETTER_A + 10)
  }
  return before1970 ? -index : index
}

const [DIGIT_0, UNDERSCORE, LETTER_A] = [48, 95, 97]

/** Expired slots that one write of a policy names at most; fewer where many policies share an expression. */
const PURGED_AT_ONCE = 24
/** Expired slots that a write which does nothing else names at most. */
const PURGED_BY_MAINTENANCE = 96

/** A kilobyte is one write unit; so many expired slots are well under half of one. */
const TOLERATED_EXPIRED = 32
/** How many more may stand while other policies' are purged first. */
const NOT_PURGED_YET = 16

/** The most that so many slots that still count take, expired ones that are not purged yet included, in bytes. */
export const slotsBytes = (live: number): number => numbersBytes(live + TOLERATED_EXPIRED + NOT_PURGED_YET)

/**
 * Purges the slots before `oldestLive`: those that the view shows, the newest first since others may have removed the
 * older ones already, and, for a view that may have missed some, the two youngest expired ones, which are where an
 * active subject's last requests were.
 */
export function removeExpired(known: Fields | undefined, oldestLive: number): Assignment[] {
  const expired = known === undefined ? [] : expiredSlots(known, oldestLive)
  const names = expired.length > PURGED_AT_ONCE ? expired.slice(0, PURGED_AT_ONCE) : expired
  if (known === undefined || numberOf(known, 'w', -1) < oldestLive) {
    for (const index of [oldestLive - 1, oldestLive - 2])
      if (index >= 0 && !names.includes(slot(index))) names.push(slot(index))
  }
  return names.map(purge)
}

/**
 * A write that only removes expired slots, once there are enough of them to be worth one. It is safe while no newer
 * window has begun.
 */
export function purgeSlots(known: Fields, oldestLive: number): ConditionalWrite | undefined {
  const names = expiredSlots(known, oldestLive)
  if (names.length <= TOLERATED_EXPIRED) return undefined
  return when([exactly('w', numberOf(known, 'w'))], ...names.slice(0, PURGED_BY_MAINTENANCE).map(purge))
}

/** The newest first. */
function expiredSlots(known: Fields, oldestLive: number): string[] {
  const names: string[] = []
  for (const name in known) if (isSlot(name) && slotIndex(name) < oldestLive) names.push(name)
  return names.length < 2 ? names : names.sort((a, b) => slotIndex(b) - slotIndex(a))
}

/**
 * The slot of an earlier charge, where units are charged late; `undefined` where it counts no more. Where others have
 * come further than the clock, it is as many slots further, as it is for a charge that is made now.
 *
 * @param index the slot of the charge, and `today` that of now.
 * @param slots how many slots, from the newest back, count.
 */
export function lateSlot(
  known: Fields | undefined,
  index: number,
  today: number,
  slots: number,
): { readonly index: number; readonly guard: Clause[]; readonly newest: Assignment[] } | undefined {
  const stored = numberOf(known, 'w', index)
  const newest = Math.max(today, index)
  if (index <= newest - slots) return undefined
  const ahead = Math.max(0, stored - newest)
  const target = index + ahead
  const isNewest = stored <= target
  return {
    index: target,
    guard: [isNewest && ahead === 0 ? absentOrAtMost('w', target) : exactly('w', stored)],
    newest: isNewest ? [set('w', target)] : [],
  }
}

/**
 * Gives back units from the slot in which they were charged, and what it lacks from those before it. A slot that keeps
 * some needs only so many more, however it has grown meanwhile; one that is emptied must be as it was seen.
 *
 * @param slots how many slots, from `newest` back, still count.
 */
export function refundSlots(known: Fields, units: number, newest: number, slots: number): ConditionalWrite | undefined {
  const guard: Clause[] = []
  const assignments: Assignment[] = []
  let left = units
  for (let index = newest; index > newest - slots && left > 0; index--) {
    const used = numberOf(known, slot(index))
    if (used === 0) continue
    const back = Math.min(used, left)
    left -= back
    guard.push(back < used ? atLeast(slot(index), back + 1) : exactly(slot(index), used))
    assignments.push(back < used ? add(slot(index), -back) : remove(slot(index)))
  }
  return assignments.length === 0 ? undefined : when(guard, ...assignments)
}

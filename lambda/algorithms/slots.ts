import { type Assignment, add, type Clause, type ConditionalWrite, exactly, type Fields, numberOf, remove, when } from './conditional-write'

/**
 * Counts kept in one field per window, named by the window's number. The name is what makes a write blind: in a new window the field does
 * not exist yet and counts from 0, whoever wrote last and however long ago, so no writer has to know whether it is the first.
 *
 * Expired slots are litter: no decision reads them. Writers remove those that they know of, and `tidySlots` the rest.
 */
export const slot = (index: number): string => index.toString(36).padStart(2, '0')

/**
 * A second count of the same window. It is a slot too: `parseInt` stops at the underscore, so that its number is the window's, and whoever clears
 * the window away clears this with it, also a policy that has never heard of it.
 */
export const overSlot = (index: number): string => `${slot(index)}_`
export const isOverSlot = (name: string): boolean => name.endsWith('_')

/** Slots have two characters or more, all other fields have one. */
export const isSlot = (name: string): boolean => name.length > 1
export const slotIndex = (name: string): number => Number.parseInt(name, 36)

/** One expression takes about this many names beside thirty policies' own writes. */
const REMOVED_AT_ONCE = 24

/** A kilobyte is one write unit; this much litter is well under half of one. */
const TOLERATED_LITTER = 32

/**
 * Removes the slots before `oldestLive`: those that the view shows, and, for a view that may have missed some, the two youngest expired ones,
 * which are where an active subject's last requests were.
 */
export function removeExpired(known: Fields | undefined, oldestLive: number): Assignment[] {
  const names = known === undefined ? [] : expiredSlots(known, oldestLive, REMOVED_AT_ONCE)
  if (known === undefined || numberOf(known, 'w', -1) < oldestLive) {
    for (const index of [oldestLive - 1, oldestLive - 2]) if (index >= 0 && !names.includes(slot(index))) names.push(slot(index))
  }
  return names.map(remove)
}

/** A write that only removes litter, once there is enough of it to be worth one. It is safe while no newer window has begun. */
export function tidySlots(known: Fields, oldestLive: number): ConditionalWrite | undefined {
  const names = expiredSlots(known, oldestLive, Infinity)
  if (names.length <= TOLERATED_LITTER) return undefined
  return when([exactly('w', numberOf(known, 'w'))], ...names.slice(0, 4 * REMOVED_AT_ONCE).map(remove))
}

function expiredSlots(known: Fields, oldestLive: number, most: number): string[] {
  const names: string[] = []
  for (const name in known) {
    if (names.length < most && isSlot(name) && slotIndex(name) < oldestLive) names.push(name)
  }
  return names
}

/**
 * Gives back units from the slot in which they were charged, and what it lacks from those before it. The guard is the counts as seen: refunds
 * are rare, and a second try is cheaper than a wrong one.
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
    guard.push(exactly(slot(index), used))
    assignments.push(back < used ? add(slot(index), -back) : remove(slot(index)))
  }
  return assignments.length === 0 ? undefined : when(guard, ...assignments)
}

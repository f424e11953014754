import { apply, type ConditionalWrite, type Fields, listOf, numberOf } from './conditional-write'
import { isOverSlot, isSlot } from './slots'

/**
 * How many units a refund gave back, from the fields that it found: no more than were there, whatever was asked for.
 *
 * Every algorithm keeps its units in one of these forms: a count for each window, the time of each unit (`l`), one
 * count (`c`, `u`), or a time that each unit has moved on by `e` (`t`). Of the last, time may have given a part of a
 * unit back already, so that number may have a fraction.
 *
 * @param emissionUs what a unit takes where the state does not say so, in microseconds.
 */
export function unitsReturned(before: Fields, write: ConditionalWrite, emissionUs: number): number {
  const after = apply(write, before)
  const less = (unitsIn: (fields: Fields) => number): number => unitsIn(before) - unitsIn(after)
  if (less((fields) => listOf(fields, 'l').length) > 0) return less((fields) => listOf(fields, 'l').length)
  const counted = less((fields) => slotsIn(fields) + numberOf(fields, 'c') + numberOf(fields, 'u'))
  return counted > 0 ? counted : less((fields) => numberOf(fields, 't')) / numberOf(before, 'e', emissionUs)
}

const slotsIn = (fields: Fields): number =>
  Object.keys(fields).reduce((sum, name) => (isSlot(name) && !isOverSlot(name) ? sum + numberOf(fields, name) : sum), 0)

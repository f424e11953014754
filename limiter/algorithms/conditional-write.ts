/**
 * A write to one subject's item that happens only while a guard holds, as data.
 *
 * Algorithms produce it, stores run it: `MemoryStore` interprets it with `holds` and `apply` below, `DynamoDbStore`
 * turns it into one `UpdateItem`. A guard is a range and not a version, so that writers with an outdated view succeed
 * together while there is room for both.
 */
export interface ConditionalWrite {
  /** All must hold on the stored fields, at the instant of the write. */
  readonly guard: readonly Clause[]
  /** Each field stands in at most one assignment, so that their order means nothing. */
  readonly assignments: readonly Assignment[]
}

/**
 * What an algorithm keeps for one subject under one policy. Names are stored with every item, so they are short. All
 * numbers are integers.
 */
export type Fields = Readonly<Record<string, number | readonly number[]>>

/**
 * One comparison, or a choice of several conjunctions.
 *
 * Any single alternative of `anyOf` must be a sound guard by itself. Where an expression has no room for all, the first
 * ones are kept, which only makes the guard stricter; so the alternative that the known state satisfies comes first.
 */
export type Clause = Comparison | { readonly anyOf: readonly (readonly Comparison[])[] }

/** Bounds are inclusive. Every stored number is an integer, so "above n" is "at least n + 1". */
export type Comparison =
  | {
      readonly field: string
      readonly atLeast?: number | undefined
      readonly atMost?: number | undefined
      readonly orAbsent?: true | undefined
    }
  /** A list that is absent has size 0. */
  | { readonly list: string; readonly sizeAtMost: number }

/** One change of a stored field. */
export type Assignment =
  | { readonly field: string; readonly set: number }
  | { readonly field: string; readonly setIfAbsent: number }
  /** An absent field counts as 0. */
  | { readonly field: string; readonly add: number }
  | { readonly field: string; readonly remove: true }
  /**
   * Removes an expired field, which no decision reads, when there is room for it. Those that had better go come first.
   */
  | { readonly field: string; readonly purge: true }
  | { readonly list: string; readonly append: readonly number[] }
  | { readonly list: string; readonly replace: readonly number[] }

/** Reads as a sentence: `when([absentOrAtMost('t', now)], set('t', next))`. */
export const when = (guard: readonly Clause[], ...assignments: readonly Assignment[]): ConditionalWrite => ({
  guard,
  assignments,
})

export const between = (field: string, atLeast: number, atMost: number): Comparison => ({ field, atLeast, atMost })
export const exactly = (field: string, value: number): Comparison => ({ field, atLeast: value, atMost: value })
export const atMost = (field: string, atMost: number): Comparison => ({ field, atMost })
export const atLeast = (field: string, atLeast: number): Comparison => ({ field, atLeast })
export const absentOrAtMost = (field: string, atMost: number): Comparison => ({ field, atMost, orAbsent: true })
/** @param value 0 where there is none. */
export const stillAt = (field: string, value: number): Comparison =>
  value === 0 ? absentOrAtMost(field, 0) : exactly(field, value)
export const sizeAtMost = (list: string, sizeAtMost: number): Comparison => ({ list, sizeAtMost })

export const set = (field: string, value: number): Assignment => ({ field, set: value })
export const setIfAbsent = (field: string, value: number): Assignment => ({ field, setIfAbsent: value })
export const add = (field: string, amount: number): Assignment => ({ field, add: amount })
export const remove = (field: string): Assignment => ({ field, remove: true })
export const purge = (field: string): Assignment => ({ field, purge: true })
export const append = (list: string, values: readonly number[]): Assignment => ({ list, append: values })
export const replace = (list: string, values: readonly number[]): Assignment => ({ list, replace: values })

/**
 * The most that these many stored numbers take, in bytes: with a policy's prefix and the name of a window each, and 17
 * digits.
 */
export const numbersBytes = (count: number): number => count * NUMBER_BYTES
const NUMBER_BYTES = 4 + 10 + 12

/** What a list of so many times takes, in bytes: a byte for two of 13 digits, and two for being a number in a list. */
export const listBytes = (entries: number): number => 16 + 9 * entries

/** Whether a guard holds on these fields. */
export function holds(guard: readonly Clause[], fields: Fields): boolean {
  for (const clause of guard)
    if (!('anyOf' in clause ? holdsAny(clause.anyOf, fields) : compares(clause, fields))) return false
  return true
}

function holdsAny(alternatives: readonly (readonly Comparison[])[], fields: Fields): boolean {
  for (const all of alternatives) if (holds(all, fields)) return true
  return false
}

/**
 * The fields after a write whose guard held. Those that are removed are left out of the copy: an object that a field is
 * deleted from takes several times the room.
 */
export function apply({ assignments }: ConditionalWrite, fields: Fields): Fields {
  const after = assignments.some((one) => isRemoval(one) && one.field in fields)
    ? without(assignments, fields)
    : { ...fields }
  for (const one of assignments)
    if ('append' in one) after[one.list] = [...listOf(fields, one.list), ...one.append]
    else assign(after, one)
  return after
}

function without(assignments: readonly Assignment[], fields: Fields): Record<string, Fields[string]> {
  const gone = assignments.filter(isRemoval)
  const left: Record<string, Fields[string]> = {}
  for (const name in fields) if (!gone.some(({ field }) => field === name)) left[name] = fields[name]!
  return left
}

type Removal = Extract<Assignment, { readonly remove: true } | { readonly purge: true }>
const isRemoval = (one: Assignment): one is Removal => 'remove' in one || 'purge' in one

/** The same in place, for who alone has these fields and their lists. */
export function applyTo(fields: Record<string, number | number[]>, { assignments }: ConditionalWrite): void {
  for (const one of assignments)
    if ('append' in one && Array.isArray(fields[one.list])) (fields[one.list] as number[]).push(...one.append)
    else if ('append' in one) fields[one.list] = [...one.append]
    else if ('replace' in one) fields[one.list] = [...one.replace]
    else assign(fields, one)
}

function assign(fields: Record<string, Fields[string]>, one: Exclude<Assignment, { readonly append: unknown }>): void {
  if ('list' in one) fields[one.list] = one.replace
  else if (isRemoval(one)) {
    if (one.field in fields) delete fields[one.field]
  } else if ('add' in one) fields[one.field] = numberOf(fields, one.field) + one.add
  else if ('set' in one || fields[one.field] === undefined) fields[one.field] = 'set' in one ? one.set : one.setIfAbsent
}

/** A stored number, or what counts when it is absent. */
export function numberOf(fields: Fields | undefined, name: string, otherwise = 0): number {
  const value = fields?.[name]
  return typeof value === 'number' ? value : otherwise
}

/** A stored list, empty when it is absent. */
export function listOf(fields: Fields | undefined, name: string): readonly number[] {
  const value = fields?.[name]
  return Array.isArray(value) ? value : []
}

function compares(comparison: Comparison, fields: Fields): boolean {
  if ('list' in comparison) return listOf(fields, comparison.list).length <= comparison.sizeAtMost
  const value = fields[comparison.field]
  if (typeof value !== 'number') return comparison.orAbsent === true
  return value >= (comparison.atLeast ?? -Infinity) && value <= (comparison.atMost ?? Infinity)
}

import type { Assignment, Clause, Comparison, ConditionalWrite } from '../algorithms/conditional-write'
import type { ItemWrite, PolicyWrite } from './store'

/**
 * The longest expression that DynamoDB takes, in bytes of the text as it is sent, values not put in.
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
 */
export const MAX_BYTES = 4096

/**
 * The most operators and functions in one expression. Measured on DynamoDB Local 3.1: a condition counts each
 * comparison, `AND`, `OR`, `NOT` and function, and no parentheses; an update counts `+` and `-`, and neither `=` nor
 * what `ADD` and `REMOVE` name. Its functions are counted here all the same.
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
 */
export const MAX_OPERATORS = 300

/** What one expression, or a piece of it, takes. */
export interface Size {
  readonly bytes: number
  readonly operators: number
}

/**
 * What a write says for itself, at most: its id, the marks that it is guarded by, the time to live. Policies share the
 * rest.
 */
const OWN: Size = { bytes: 192, operators: 24 }

/** `:` and two digits of base 36: an expression has no room for more than 1,296 values. */
const VALUE_BYTES = 3
const AND: Size = { bytes: 5, operators: 1 }
const OR: Size = { bytes: 4, operators: 1 }

/**
 * The same write, so that both of its expressions fit. Purges that find no room are left for a later write, and so are
 * alternatives but for the first, which only makes a guard stricter. What cannot be left out is bounded where
 * policies are checked.
 *
 * Purges take turns, so that no policy's expired fields pile up while another's are removed.
 */
export function fitted(write: ItemWrite): ItemWrite {
  const parts = withinUpdate(withinCondition(write.parts), write.id.value)
  return parts === write.parts ? write : { ...write, parts }
}

/** Parts that need not happen in one write, in as few as they fit into, in their order. */
export function inWrites(parts: readonly PolicyWrite[]): PolicyWrite[][] {
  const writes: PolicyWrite[][] = []
  let room = { condition: OWN, update: OWN }
  for (const part of parts) {
    const needs = needsOf(part)
    const larger = { condition: plus(room.condition, needs.condition), update: plus(room.update, needs.update) }
    const fits = writes.length > 0 && fitsIn(larger.condition) && fitsIn(larger.update)
    if (fits) writes.at(-1)!.push(part)
    else writes.push([part])
    room = fits ? larger : { condition: plus(OWN, needs.condition), update: plus(OWN, needs.update) }
  }
  return writes
}

/** What a part takes that cannot be left out. */
export function needsOf({ prefix, write }: PolicyWrite): { readonly condition: Size; readonly update: Size } {
  const [condition, update] = [new Sum(), new Sum()]
  for (const clause of write.guard) addClause(condition, clause, prefix.length, 1)
  for (const one of write.assignments) if (!('purge' in one)) addAssignment(update, one, prefix.length)
  return { condition, update }
}

const plus = (one: Size, other: Size): Size => ({
  bytes: one.bytes + other.bytes,
  operators: one.operators + other.operators,
})
const fitsIn = ({ bytes, operators }: Size): boolean => bytes <= MAX_BYTES && operators <= MAX_OPERATORS

/** Leaves out alternatives: each choice keeps as many as the others, as long as it has them. */
function withinCondition(parts: readonly PolicyWrite[]): readonly PolicyWrite[] {
  let most = 1
  for (const { write } of parts)
    for (const clause of write.guard) if ('anyOf' in clause) most = Math.max(most, clause.anyOf.length)
  for (let kept = most; kept > 1; kept--)
    if (fitsIn(conditionSize(parts, kept))) return kept === most ? parts : keeping(parts, kept)
  return most === 1 ? parts : keeping(parts, 1)
}

const keeping = (parts: readonly PolicyWrite[], most: number): PolicyWrite[] =>
  parts.map(({ prefix, write }) => ({
    prefix,
    write: {
      ...write,
      guard: write.guard.map((clause) =>
        'anyOf' in clause && clause.anyOf.length > most ? { anyOf: clause.anyOf.slice(0, most) } : clause,
      ),
    },
  }))

function conditionSize(parts: readonly PolicyWrite[], alternatives: number): Size {
  const size = new Sum(OWN)
  for (const { prefix, write } of parts)
    for (const clause of write.guard) addClause(size, clause, prefix.length, alternatives)
  return size
}

/** Leaves out purges. @param turn whose turn it is to be first. */
function withinUpdate(parts: readonly PolicyWrite[], turn: number): readonly PolicyWrite[] {
  const [needed, purged] = [new Sum(OWN), new Sum()]
  for (const { prefix, write } of parts)
    for (const one of write.assignments) addAssignment('purge' in one ? purged : needed, one, prefix.length)
  if (purged.bytes === 0 || needed.bytes + purged.bytes <= MAX_BYTES) return parts

  const kept = parts.map(() => 0)
  const purges = parts.map(({ write }) => write.assignments.filter(isPurge))
  let room = MAX_BYTES - needed.bytes
  for (let round = 0, found = true; found && room > 0; round++) {
    found = false
    for (let i = 0; i < parts.length && room > 0; i++) {
      const at = (i + turn) % parts.length
      const next = purges[at]![round]
      if (!next) continue
      found = true
      room -= purgeBytes(next.field, parts[at]!.prefix.length)
      if (room >= 0) kept[at]!++
    }
  }
  return parts.map(({ prefix, write }, i) => ({ prefix, write: purging(write, kept[i]!) }))
}

/** Keeps its first so many purges. */
function purging(write: ConditionalWrite, most: number): ConditionalWrite {
  let left = most
  return { ...write, assignments: write.assignments.filter((one) => !('purge' in one) || left-- > 0) }
}

/** What pieces of an expression take together. */
class Sum implements Size {
  bytes: number
  operators: number

  constructor({ bytes, operators }: Size = { bytes: 0, operators: 0 }) {
    this.bytes = bytes
    this.operators = operators
  }

  add(bytes: number, operators = 0): void {
    this.bytes += bytes
    this.operators += operators
  }
}

/** With the `AND` before it. */
function addClause(sum: Sum, clause: Clause, codeLength: number, alternatives: number): void {
  sum.add(AND.bytes, AND.operators)
  if (!('anyOf' in clause)) {
    addComparison(sum, clause, codeLength)
    return
  }
  const count = Math.min(alternatives, clause.anyOf.length)
  if (count > 1) sum.add(2 + (count - 1) * OR.bytes, (count - 1) * OR.operators)
  for (let i = 0; i < count; i++) {
    const all = clause.anyOf[i]!
    sum.add((all.length - 1) * AND.bytes, (all.length - 1) * AND.operators)
    for (const one of all) addComparison(sum, one, codeLength)
  }
}

function addComparison(sum: Sum, comparison: Comparison, codeLength: number): void {
  if ('list' in comparison) {
    const name = codeLength + comparison.list.length
    sum.add('(attribute_not_exists() OR size()<=)'.length + 2 * name + VALUE_BYTES, 4)
    return
  }
  const { field, atLeast, atMost, orAbsent } = comparison
  const name = codeLength + field.length
  const isEqual = atLeast === atMost && !orAbsent
  const bounds = isEqual ? 1 : Number(atLeast !== undefined) + Number(atMost !== undefined)
  const bound = isEqual ? '='.length : orAbsent ? 'NOT <'.length : '<='.length
  sum.add(
    bounds * (bound + name + VALUE_BYTES) + (bounds - 1) * AND.bytes,
    bounds * (orAbsent ? 2 : 1) + (bounds - 1) * AND.operators,
  )
}

/** With the comma before it. */
function addAssignment(sum: Sum, assignment: Assignment, codeLength: number): void {
  if ('append' in assignment) {
    const name = codeLength + assignment.list.length
    sum.add(',=list_append(if_not_exists(,),)'.length + 2 * name + 2 * VALUE_BYTES, 2)
  } else if ('list' in assignment) {
    sum.add(codeLength + assignment.list.length + 2 + VALUE_BYTES)
  } else if ('setIfAbsent' in assignment) {
    const name = codeLength + assignment.field.length
    sum.add(',=if_not_exists(,)'.length + 2 * name + VALUE_BYTES, 1)
  } else {
    const value = 'set' in assignment || 'add' in assignment ? 1 + VALUE_BYTES : 0
    sum.add(purgeBytes(assignment.field, codeLength) + value)
  }
}

const isPurge = (one: Assignment) => 'purge' in one
const purgeBytes = (field: string, codeLength: number): number => 1 + codeLength + field.length

import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Assignment, Clause, Comparison } from '../algorithms/conditional-write'
import { StoreUnavailableError } from '../errors'
import { MAX_BYTES, MAX_OPERATORS } from './expression-budget'
import type { ItemWrite, SeenMarks, WriteId } from './store'

/** One conditional update in DynamoDB's expression language. */
export interface Update {
  readonly UpdateExpression: string
  readonly ConditionExpression: string
  readonly ExpressionAttributeValues: Record<string, AttributeValue>
}

/**
 * Says a write in DynamoDB's words. Attribute names stand as they are (see attribute-prefix.ts), values are numbered.
 *
 * "Absent or at most n" is `NOT x > :n`: a comparison with an absent attribute is false, and its negation true.
 */
export function toUpdate({ parts, id, whileMarks = {}, expiresAtSeconds }: ItemWrite): Update {
  const values = new Values()
  const mark = values.number(id.value)
  let condition = [
    ...(id.mark in whileMarks ? [] : [notApplied(id, mark, values)]),
    ...asSeen(whileMarks, values),
  ].join(' AND ')
  const changes = { set: `${id.mark}=${mark}`, add: '', remove: '' }

  if (expiresAtSeconds !== undefined) {
    const expiry = values.number(expiresAtSeconds)
    condition += ` AND NOT exp>${expiry}`
    changes.set += `,exp=${expiry}`
  }
  for (const { prefix, write } of parts) {
    for (const clause of write.guard) condition += ` AND ${clauseText(clause, prefix, values)}`
    for (const assignment of write.assignments) note(assignment, prefix, changes, values)
  }
  const update = `SET ${changes.set}${changes.add && ` ADD ${changes.add}`}${changes.remove && ` REMOVE ${changes.remove}`}`
  const operators = condition.length < BYTES_OF_OPERATORS ? 0 : (condition.match(OPERATOR)?.length ?? 0)
  if (Buffer.byteLength(condition) > MAX_BYTES || Buffer.byteLength(update) > MAX_BYTES || operators > MAX_OPERATORS) {
    throw new StoreUnavailableError('item', tooLarge(condition, update, operators)) // which DynamoDB would say too
  }
  return { UpdateExpression: update, ConditionExpression: condition, ExpressionAttributeValues: values.all }
}

const OPERATOR = /[<>=]+|\b(?:AND|OR|NOT|attribute_not_exists|size)\b/g
/**
 * A condition of fewer bytes has no room for too many operators: each takes five with what it stands between. An update
 * has none, and room for 180 functions.
 */
const BYTES_OF_OPERATORS = 5 * MAX_OPERATORS

const tooLarge = (condition: string, update: string, operators: number): string =>
  `a write of ${condition.length} bytes and ${operators} operators of condition and ${update.length} bytes of update is too large, ` +
  `DynamoDB takes ${MAX_BYTES} bytes and ${MAX_OPERATORS} operators`

/** The condition under which a subject is deleted. */
export function toDeletion(
  whileMarks: SeenMarks,
): Partial<Pick<Update, 'ConditionExpression' | 'ExpressionAttributeValues'>> {
  const values = new Values()
  const conditions = asSeen(whileMarks, values)
  if (conditions.length === 0) return {}
  // DynamoDB takes no empty map
  const given = Object.keys(values.all).length > 0 && { ExpressionAttributeValues: values.all }
  return { ConditionExpression: conditions.join(' AND '), ...given }
}

/** That neither this write nor a newer one of its writer stands there. */
function notApplied({ mark, value, rangeEnd = value }: WriteId, name: string, values: Values): string {
  return rangeEnd === value ? `${mark} <> ${name}` : `NOT ${mark} BETWEEN ${name} AND ${values.number(rangeEnd)}`
}

const asSeen = (marks: SeenMarks, values: Values): string[] =>
  Object.entries(marks).map(([mark, value]) =>
    value === undefined ? `attribute_not_exists(${mark})` : `${mark}=${values.number(value)}`,
  )

/** The values of one update, each number once. */
class Values {
  readonly all: Record<string, AttributeValue> = {}
  private readonly names = new Map<number, string>()
  private count = 0

  number(value: number): string {
    const known = this.names.get(value)
    if (known !== undefined) return known
    const name = this.next({ N: String(value) })
    this.names.set(value, name)
    return name
  }

  list(values: readonly number[]): string {
    return this.next({ L: values.map((value) => ({ N: String(value) })) })
  }

  private next(value: AttributeValue): string {
    const name = `:${(this.count++).toString(36)}`
    this.all[name] = value
    return name
  }
}

function clauseText(clause: Clause, prefix: string, values: Values): string {
  if (!('anyOf' in clause)) return comparisonText(clause, prefix, values)
  const kept = clause.anyOf.map((all) => all.map((one) => comparisonText(one, prefix, values)).join(' AND '))
  return kept.length === 1 ? kept[0]! : `(${kept.join(' OR ')})` // AND binds tighter than OR
}

function comparisonText(comparison: Comparison, prefix: string, values: Values): string {
  if ('list' in comparison) {
    const list = prefix + comparison.list
    return `(attribute_not_exists(${list}) OR size(${list})<=${values.number(comparison.sizeAtMost)})`
  }
  const { atLeast, atMost, orAbsent } = comparison
  const field = prefix + comparison.field
  if (atLeast === atMost && !orAbsent) return `${field}=${values.number(atLeast!)}`
  const bounds: string[] = []
  if (atLeast !== undefined)
    bounds.push(orAbsent ? `NOT ${field}<${values.number(atLeast)}` : `${field}>=${values.number(atLeast)}`)
  if (atMost !== undefined)
    bounds.push(orAbsent ? `NOT ${field}>${values.number(atMost)}` : `${field}<=${values.number(atMost)}`)
  return bounds.join(' AND ')
}

function note(
  assignment: Assignment,
  prefix: string,
  changes: { set: string; add: string; remove: string },
  values: Values,
): void {
  if ('list' in assignment) {
    const list = prefix + assignment.list
    changes.set +=
      'append' in assignment
        ? `,${list}=list_append(if_not_exists(${list},${values.list([])}),${values.list(assignment.append)})`
        : `,${list}=${values.list(assignment.replace)}`
    return
  }
  const field = prefix + assignment.field
  if ('set' in assignment) changes.set += `,${field}=${values.number(assignment.set)}`
  else if ('setIfAbsent' in assignment)
    changes.set += `,${field}=if_not_exists(${field},${values.number(assignment.setIfAbsent)})`
  else if ('add' in assignment) changes.add += `${changes.add && ','}${field} ${values.number(assignment.add)}`
  else changes.remove += `${changes.remove && ','}${field}`
}

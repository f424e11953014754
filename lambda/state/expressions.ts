import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Assignment, Clause, Comparison } from '../algorithms/conditional-write'
import type { ItemWrite } from './store'

/** One conditional update in DynamoDB's expression language. */
export interface Update {
  readonly UpdateExpression: string
  readonly ConditionExpression: string
  readonly ExpressionAttributeValues: Record<string, AttributeValue>
}

/**
 * Room for alternatives: DynamoDB takes 300 operators in an expression, a policy's plain guard has up to nine, and an alternative six more.
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-expression-parameters
 */
const OPERATORS = 280
const PER_POLICY = 9
const PER_ALTERNATIVE = 6

/**
 * Says a write in DynamoDB's words. Attribute names stand as they are (see codes.ts), values are numbered.
 *
 * "Absent or at most n" is `NOT x > :n`: a comparison with an absent attribute is false, and its negation true.
 */
export function toUpdate({ parts, id, expiresAtSeconds }: ItemWrite): Update {
  const values = new Values()
  const alternatives = Math.max(1, 1 + Math.floor((OPERATORS - PER_POLICY * parts.length) / PER_ALTERNATIVE / Math.max(1, parts.length)))
  const mark = values.number(id.value)
  let condition = `${id.mark} <> ${mark}`
  const changes = { set: `${id.mark}=${mark}`, add: '', remove: '' }

  if (expiresAtSeconds !== undefined) {
    const expiry = values.number(expiresAtSeconds)
    condition += ` AND NOT exp>${expiry}`
    changes.set += `,exp=${expiry}`
  }
  for (const { code, write } of parts) {
    for (const clause of write.guard) condition += ` AND ${clauseText(clause, code, alternatives, values)}`
    for (const assignment of write.assignments) note(assignment, code, changes, values)
  }
  return {
    UpdateExpression: `SET ${changes.set}${changes.add && ` ADD ${changes.add}`}${changes.remove && ` REMOVE ${changes.remove}`}`,
    ConditionExpression: condition,
    ExpressionAttributeValues: values.all,
  }
}

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
    const name = `:${this.count++}`
    this.all[name] = value
    return name
  }
}

function clauseText(clause: Clause, code: string, alternatives: number, values: Values): string {
  if (!('anyOf' in clause)) return comparisonText(clause, code, values)
  const kept = clause.anyOf.slice(0, alternatives).map((all) => all.map((one) => comparisonText(one, code, values)).join(' AND '))
  return kept.length === 1 ? kept[0]! : `(${kept.join(' OR ')})` // AND binds tighter than OR
}

function comparisonText(comparison: Comparison, code: string, values: Values): string {
  if ('list' in comparison) {
    const list = code + comparison.list
    return `(attribute_not_exists(${list}) OR size(${list})<=${values.number(comparison.sizeAtMost)})`
  }
  const { atLeast, atMost, orAbsent } = comparison
  const field = code + comparison.field
  if (atLeast === atMost && !orAbsent) return `${field}=${values.number(atLeast!)}`
  const bounds: string[] = []
  if (atLeast !== undefined) bounds.push(orAbsent ? `NOT ${field}<${values.number(atLeast)}` : `${field}>=${values.number(atLeast)}`)
  if (atMost !== undefined) bounds.push(orAbsent ? `NOT ${field}>${values.number(atMost)}` : `${field}<=${values.number(atMost)}`)
  return bounds.join(' AND ')
}

function note(assignment: Assignment, code: string, changes: { set: string; add: string; remove: string }, values: Values): void {
  if ('list' in assignment) {
    const list = code + assignment.list
    changes.set +=
      'append' in assignment
        ? `,${list}=list_append(if_not_exists(${list},${values.list([])}),${values.list(assignment.append)})`
        : `,${list}=${values.list(assignment.replace)}`
    return
  }
  const field = code + assignment.field
  if ('set' in assignment) changes.set += `,${field}=${values.number(assignment.set)}`
  else if ('setIfAbsent' in assignment) changes.set += `,${field}=if_not_exists(${field},${values.number(assignment.setIfAbsent)})`
  else if ('add' in assignment) changes.add += `${changes.add && ','}${field} ${values.number(assignment.add)}`
  else changes.remove += `${changes.remove && ','}${field}`
}

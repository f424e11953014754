import * as v from 'valibot'
import { printed } from '../errors'

/** Where a mistake stands, outermost first: `['tiers.yaml', 'tier "free"', 'policy "per-minute"']`. */
export type Place = readonly string[]

/** Fields of a configured object: how each is checked, and in words what is wanted. */
export type FieldRules = Readonly<Record<string, { readonly schema: v.GenericSchema; readonly wanted: string; readonly optional?: true }>>

/** One sentence about one mistake: what, got, wanted, and where. */
export const mistake = (sentence: string, place: Place): string => (place.length === 0 ? sentence : `${sentence} (${place.join(', ')})`)

/**
 * Checks every field of a configured object and reports all mistakes at once, unknown fields with the known one that looks like them.
 *
 * @returns the object's own fields as they are when there is nothing to report.
 */
export function checkFields(
  input: unknown,
  rules: FieldRules,
  what: string,
  place: Place,
  issues: string[],
): Record<string, unknown> | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    issues.push(mistake(`${what} must be an object, got ${printed(input)}`, place))
    return undefined
  }
  const before = issues.length
  const given = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  for (const [field, value] of given) {
    const rule = Object.hasOwn(rules, field) ? rules[field] : undefined
    if (!rule) issues.push(mistake(`unknown field ${printed(field)}${suggestion(field, Object.keys(rules))}`, place))
    else if (!v.is(rule.schema, value)) issues.push(mistake(`${field} must be ${rule.wanted}, got ${printed(value)}`, place))
  }
  for (const [field, { optional, wanted }] of Object.entries(rules)) {
    if (!optional && !given.has(field)) issues.push(mistake(`${field} is missing, it must be ${wanted}`, place))
  }
  return issues.length === before ? Object.fromEntries(given) : undefined
}

/** `, did you mean "limit"?` when one known word is at most two edits away. */
function suggestion(word: string, known: readonly string[]): string {
  const near = known.find((candidate) => distance(word.slice(0, 40).toLowerCase(), candidate.toLowerCase()) <= 2)
  return near ? `, did you mean "${near}"?` : `, known are ${known.join(', ')}`
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}

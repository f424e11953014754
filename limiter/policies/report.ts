import * as v from 'valibot'
import { ConfigError, Mistake, type MistakeCode, printed } from '../errors'

/** Where a mistake stands, outermost first: `['tiers.yaml', 'tier "free"', 'policy "per-minute"']`. */
export type Place = readonly string[]

/** Fields of a configured object: how each is checked, and in words what is wanted. */
export type FieldRules = Readonly<
  Record<
    string,
    {
      readonly schema: v.GenericSchema
      readonly wanted: string
      readonly optional?: true
      /** Whether mistakes are reported without any part of the value. */
      readonly isSecret?: true
    }
  >
>

/** How many unknown fields of one object are reported one by one. */
const MAX_UNKNOWN = 20

/** Adds a mistake to those that were found. @param sentence what, got and wanted. */
export function report(issues: Mistake[], code: MistakeCode, sentence: string, place: Place): void {
  issues.push(new Mistake(code, place.length === 0 ? sentence : `${sentence} (${place.join(', ')})`, place))
}

/**
 * Checks every field of a configured object and reports all mistakes at once, unknown fields with the known one that
 * looks like them.
 *
 * @returns the fields that are right by themselves, so that the caller can go on and find what else is wrong;
 * `undefined` for no object.
 */
export function checkFields(
  input: unknown,
  rules: FieldRules,
  what: string,
  place: Place,
  issues: Mistake[],
): Record<string, unknown> | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    report(issues, 'invalid_value', `${what} must be an object, got ${printed(input)}`, place)
    return undefined
  }
  const given = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const unknown = [...given.keys()].filter((field) => !Object.hasOwn(rules, field))
  for (const field of unknown.slice(0, MAX_UNKNOWN)) {
    report(issues, 'unknown_field', `unknown field ${printed(field)}${suggestion(field, Object.keys(rules))}`, place)
  }
  if (unknown.length > MAX_UNKNOWN)
    report(issues, 'unknown_field', `${unknown.length - MAX_UNKNOWN} more unknown fields`, place)

  const right: Record<string, unknown> = {}
  for (const [field, { schema, optional, wanted, isSecret }] of Object.entries(rules)) {
    const value = given.get(field)
    if (value === undefined) {
      if (!optional) report(issues, 'missing_field', `${field} is missing, it must be ${wanted}`, place)
    } else if (v.is(schema, value)) right[field] = value
    else {
      const got = isSecret ? 'something else' : `${printed(value)}${meant(value, schema)}`
      report(issues, 'invalid_value', `${field} must be ${wanted}, got ${got}`, place)
    }
  }
  return right
}

/** @throws ConfigError with every mistake in the options of a call. */
export function checkOptions(options: unknown, rules: FieldRules): void {
  const issues: Mistake[] = []
  checkFields(options, rules, 'options', [], issues)
  if (issues.length > 0) throw new ConfigError(issues)
}

/** A field for people: a note, a name. */
export const TEXT = {
  schema: v.pipe(v.string(), v.maxLength(1024)),
  wanted: 'a text of at most 1024 characters',
  optional: true,
} as const

/** `, did you mean "limit"?`, or all that are known where none looks like the word. */
export function suggestion(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? `, known are ${known.join(', ')}` : `, did you mean "${near}"?`
}

/** `, did you mean "fixed-window"?` for a value that must be one of several words, and looks like one. */
function meant(value: unknown, schema: v.GenericSchema): string {
  const words = schema.type === 'picklist' ? (schema as unknown as { readonly options: string[] }).options : []
  const near = typeof value === 'string' ? nearest(value, words) : undefined
  return near === undefined ? '' : `, did you mean "${near}"?`
}

/** The known word that is the fewest edits away, at most two, and not all of it. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const edits = known.map((candidate) => distance(word.slice(0, 40).toLowerCase(), candidate.toLowerCase()))
  const fewest = Math.min(...edits)
  const near = known[edits.indexOf(fewest)]
  return near !== undefined && fewest <= Math.min(2, near.length - 1) ? near : undefined
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

import { type Mistake, printed } from '../errors'
import type { Policy } from './policy'
import { type Place, report } from './report'

/**
 * The most that one item holds, in bytes, names included, but for four kilobytes that are kept for its key, its marks
 * and what preflights are counted by.
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items
 */
const MAX_STORED_BYTES = 396 * 1024

/** Policies that a message names. */
const MAX_NAMED = 5

/** One policy's place in an item. */
export interface Stored {
  readonly policy: Policy
  /** What it counts apart, a route or the word of some APIs; empty where the subject is counted whole. */
  readonly scope: string
}

/** Reports policies of one subject that could store more than an item holds. */
export function checkItemSize(policies: readonly Policy[], place: Place, issues: Mistake[]): void {
  const wrong = tooLarge(policies.map((policy) => ({ policy, scope: '' })))
  if (wrong) report(issues, 'state_too_large', `one subject ${wrong}`, place)
}

/** Why policies that one item stores do not fit it, as the end of a sentence; `undefined` where they do. */
export function tooLarge(all: readonly Stored[]): string | undefined {
  if (sumOf(all) <= MAX_STORED_BYTES) return undefined
  const places = new Map<string, Stored>() // tiers and routes may have the same policy, which has one place
  for (const one of all) {
    const id = idAt(one)
    const other = places.get(id)
    if (!other || bytesOf(other) < bytesOf(one)) places.set(id, one)
  }
  const stored = [...places.values()]
  const bytes = sumOf(stored)
  if (bytes <= MAX_STORED_BYTES) return undefined
  const named = new Map<string, number>()
  for (const one of stored) named.set(one.policy.name, (named.get(one.policy.name) ?? 0) + bytesOf(one))
  const largest = [...named].sort(([, one], [, other]) => other - one)
  const sizes = largest.slice(0, MAX_NAMED).map(([name, size]) => `${printed(name)} ${kilobytes(size)}`)
  const others = largest.length > MAX_NAMED ? ` and ${largest.length - MAX_NAMED} more` : ''
  return `could store ${kilobytes(bytes)}, and an item of DynamoDB holds 400 KB: the largest of its policies are ${sizes.join(', ')}${others}`
}

const bytesOf = ({ policy }: Stored): number => policy.counter.storedBytes
const sumOf = (stored: readonly Stored[]): number => stored.reduce((sum, one) => sum + bytesOf(one), 0)
const kilobytes = (bytes: number): string => `${Math.ceil(bytes / 1024)} KB`

/** What tells policies of one item apart: those of the same name that count in the same state are one. */
export const idAt = ({ policy: { name, stateSchema }, scope }: Stored): string =>
  JSON.stringify([name, stateSchema, scope])

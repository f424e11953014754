import { createHash } from 'node:crypto'

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
const DIGITS = '0123456789'

/** Bump this when the meaning of stored fields changes, so that no release misreads another's. */
const FORMAT = 1

/** Length of a policy's prefix. */
export const PREFIX_LENGTH = 4

/**
 * The prefix of a policy's attributes: a letter, a digit and two of either, two million in all.
 *
 * It depends on the policy's name, state schema and scope and nothing else. So every instance and every set of policies
 * finds the same state, and a policy whose state schema changed starts fresh. With a digit in second place it is never
 * a reserved word of DynamoDB, and needs no alias.
 *
 * @param scope what the policy counts apart, such as a route; empty when the subject is counted whole.
 */
export function prefixOf(name: string, stateSchema: string, scope = ''): string {
  const bytes = createHash('sha256')
    .update(JSON.stringify([FORMAT, name, stateSchema, scope]))
    .digest()
  const pick = (alphabet: string, at: number) => alphabet[bytes.readUInt32BE(at) % alphabet.length]
  return `${pick(LETTERS, 0)}${pick(DIGITS, 4)}${pick(LETTERS + DIGITS, 8)}${pick(LETTERS + DIGITS, 12)}`
}

/** Prefix of the fields of pools, in pools and in the item of their subject; no policy can have it. */
export const POOL_PREFIX = 'p0__'

/** Whether this is the prefix of some policy. */
export const isPrefix = (text: unknown): boolean => typeof text === 'string' && /^[A-Za-z]\d[A-Za-z\d]{2}$/.test(text)

/** The scope of a policy whose own prefix belongs to another, so many times over. */
export const elsewhere = (scope: string, times = 1): string => scope + ' elsewhere'.repeat(times)

import { createHmac, hash } from 'node:crypto'
import * as v from 'valibot'
import { Mistake, SubjectError } from './errors'

/** What may be a namespace. */
export const NAMESPACE = {
  schema: v.pipe(v.string(), v.regex(/^[\w.:-]{1,64}$/)),
  wanted: '1 to 64 letters, digits, ":", ".", "_" or "-"',
  optional: true,
} as const

const SCOPED = /^[a-z][a-z0-9-]{0,15}:/

/** A subject's key without a secret, as it is stored: its scope, `#` and 43 characters of SHA-256. */
const PLAIN = /^([a-z][a-z0-9-]{0,15})#([\w-]{43})$/

/**
 * The partition key of a subject: its scope (`client`, `ip`, what stands before the first colon) and a hash of the
 * whole, 60 characters at most, whatever the identity's length. Subjects that differ in a character, or in their
 * namespace, have different keys.
 *
 * Without a secret the hash is SHA-256, `ip#…`: whoever has the table can hash all IPv4 addresses, and knows whose item
 * is whose. With one it is HMAC-SHA256 of the key without it, `ip~…`, which cannot be computed without the secret. The
 * one follows from the other, so that items can be moved whose subjects nobody knows; and the two are told apart at
 * sight.
 */
export function subjectKey(subject: string, secret?: Uint8Array, namespace = ''): string {
  if (typeof subject !== 'string' || subject === '') throw new SubjectError(subject)
  const scope = SCOPED.test(subject) ? subject.slice(0, subject.indexOf(':')) : 'subject'
  const plain = `${scope}#${hash('sha256', hashed(subject, namespace), 'base64url')}`
  return secret ? hmacOf(plain, scope, secret) : plain
}

/** Where the subject of a key without a secret has its state with one; `undefined` for what is no such key. */
export function withSecret(key: string, secret: Uint8Array): string | undefined {
  const [, scope] = PLAIN.exec(key) ?? []
  return scope && hmacOf(key, scope, secret)
}

/**
 * The subject itself; with a namespace, or where half of a surrogate pair stands alone, which UTF-8 writes like any
 * other half, what begins with a byte that no UTF-8 has. A namespace is ASCII, so the next such byte is its end.
 */
function hashed(subject: string, namespace: string): string | Uint8Array {
  if (namespace === '' && subject.isWellFormed()) return subject
  return Buffer.concat([Buffer.from(`\xff${namespace}\xff`, 'latin1'), Buffer.from(subject, 'utf16le')])
}

const hmacOf = (plain: string, scope: string, secret: Uint8Array): string =>
  `${scope}~${createHmac('sha256', secret).update(plain).digest('base64url')}`

const MIN_SECRET_BYTES = 16

/** A copy, so that nobody changes it meanwhile. No message says anything of it but its length. */
export function secretOf(given: unknown, issues: Mistake[]): Uint8Array | undefined {
  const bytes =
    typeof given === 'string' ? Buffer.from(given) : given instanceof Uint8Array ? Buffer.from(given) : undefined
  if (bytes && bytes.length >= MIN_SECRET_BYTES) return bytes
  const got = bytes ? `${bytes.length} bytes` : `a value of type ${typeof given}`
  issues.push(
    new Mistake(
      'invalid_hmac_key',
      `hmacKey must be a string or a Uint8Array of at least ${MIN_SECRET_BYTES} bytes, got ${got}`,
    ),
  )
  return undefined
}

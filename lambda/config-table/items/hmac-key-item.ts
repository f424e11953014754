import { type Mistake, printed } from '../../../limiter/errors'
import { type Place, report } from '../../../limiter/policies/report'
import { type HmacKey, SubjectKeys } from '../subject-keys'

/** The only item of its partition; versions that know nothing of it never read it. */
export const HMAC_KEY_ITEM = { pk: 'hmac-key', sk: 'hmac-key' } as const

/** Old secrets are kept for `sluice forget`, which searches under each of them. */
export const MOST_HMAC_KEYS = 8
export const SECRET_BYTES = 32

/**
 * The shortest time between writing a secret and its becoming active, in milliseconds. What an instance reads stays
 * true for that long, whatever is written afterwards; so instances that have read within this time change over at the
 * same moment.
 */
export const HMAC_KEY_LEAD_MS = 600_000

/** Only the exact base64 form of 32 bytes, so that no secret is cut short by an invalid character. */
const SECRET = /^[A-Za-z0-9+/]{43}=$/

/**
 * The secrets of the item, none where there is no item. Mistakes are reported without any part of a secret.
 *
 * @param item as an object, `undefined` where there is none.
 */
export function parseHmacKeys(item: Readonly<Record<string, unknown>> | undefined, issues: Mistake[]): SubjectKeys {
  if (!item) return new SubjectKeys()
  const place: Place = ['item "hmac-key"']
  const { pk: _, sk: __, keys, ...others } = item
  const before = issues.length
  for (const field of Object.keys(others)) wrong(issues, `unknown field ${printed(field)}, known are keys`, place)
  if (!Array.isArray(keys) || keys.length < 1 || keys.length > MOST_HMAC_KEYS) {
    wrong(
      issues,
      `keys must be a list of 1 to ${MOST_HMAC_KEYS} keys, got ${Array.isArray(keys) ? keys.length : printedOrSecret(keys)}`,
      place,
    )
    return new SubjectKeys()
  }
  const parsed = keys.map((one, i) => parseKey(one, [...place, `key ${i + 1}`], issues))
  for (let i = 1; i < parsed.length; i++) {
    const [earlier, later] = [parsed[i - 1], parsed[i]]
    if (earlier && later && earlier.activeFrom >= later.activeFrom)
      wrong(issues, `activeFrom must be later than that of the key before, got ${later.activeFrom}`, [
        ...place,
        `key ${i + 1}`,
      ])
  }
  return new SubjectKeys(issues.length > before ? [] : (parsed as HmacKey[]))
}

function parseKey(input: unknown, place: Place, issues: Mistake[]): HmacKey | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    wrong(issues, `it must be an object of key and activeFrom, got ${printedOrSecret(input)}`, place)
    return undefined
  }
  const { key, activeFrom, carriedFrom, ...others } = input as Readonly<Record<string, unknown>>
  const before = issues.length
  for (const field of Object.keys(others))
    wrong(issues, `unknown field ${printed(field)}, known are key, activeFrom, carriedFrom`, place)
  if (typeof key !== 'string' || !SECRET.test(key))
    wrong(issues, `key must be ${SECRET_BYTES} bytes in base64, got something else`, place)
  if (!isTime(activeFrom)) wrong(issues, `activeFrom must be epoch milliseconds, got ${printed(activeFrom)}`, place)
  if (carriedFrom !== undefined && !isTime(carriedFrom))
    wrong(issues, `carriedFrom must be epoch milliseconds, got ${printed(carriedFrom)}`, place)
  if (issues.length > before) return undefined
  return {
    secret: Buffer.from(key as string, 'base64'),
    activeFrom: activeFrom as number,
    carriedFrom: carriedFrom as number | undefined,
  }
}

/** A text may be a secret in the wrong place, and is not shown. */
const printedOrSecret = (value: unknown): string => (typeof value === 'string' ? 'a text' : printed(value))

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const wrong = (issues: Mistake[], sentence: string, place: Place) => report(issues, 'invalid_hmac_key', sentence, place)

/** The secrets as an item. */
export const hmacKeyItem = (keys: readonly HmacKey[]) => ({
  ...HMAC_KEY_ITEM,
  keys: keys.map(({ secret, activeFrom, carriedFrom }) => ({
    key: Buffer.from(secret).toString('base64'),
    activeFrom,
    ...(carriedFrom !== undefined && { carriedFrom }),
  })),
})

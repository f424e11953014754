import type { EpochMs } from '../../../limiter/clock'
import { type Mistake, printed } from '../../../limiter/errors'
import { type Place, report } from '../../../limiter/policies/report'
import { type RingName, ringKey } from './config-keys'

/** A secret of the deployment, and from when on it is the one in use. */
export interface RingKey {
  readonly secret: Uint8Array
  readonly activeFrom: EpochMs
  /** What was charged before this moment was copied to the key under this secret. Absent where nothing was copied. */
  readonly carriedFrom?: EpochMs
}

/** The secrets that a deployment has for one purpose: the active one, former ones, and one that becomes active. */
export class KeyRing {
  /** @param keys by `activeFrom`, the earliest first. */
  constructor(readonly keys: readonly RingKey[] = []) {}

  activeAt(at: EpochMs): RingKey | undefined {
    return this.keys.findLast(({ activeFrom }) => at >= activeFrom)
  }

  /** The next secret that becomes active. */
  nextAfter(at: EpochMs): RingKey | undefined {
    return this.keys.find(({ activeFrom }) => activeFrom > at)
  }
}

/** What a deployment has secrets for. Each ring is an item of the config table, in a partition of its own. */
export interface RingKind<Ring extends KeyRing = KeyRing> {
  /** The item's partition key and sort key. */
  readonly name: RingName
  /** The code of mistakes in the item. */
  readonly invalid: 'invalid_hmac_key' | 'invalid_signing_key'
  /** The event when the item was deleted. */
  readonly missing: 'hmac_key_missing' | 'signing_key_missing'
  readonly toRing: (keys: readonly RingKey[]) => Ring
}

export const MAX_RING_KEYS = 8
export const SECRET_BYTES = 32

/**
 * The shortest time between writing a secret and its becoming active, in milliseconds. What an instance reads stays
 * true for that long, whatever is written afterwards; so instances that have read within this time change over at the
 * same moment.
 */
export const RING_KEY_LEAD_MS = 600_000

/** Only the exact base64 form of 32 bytes, so that no secret is cut short by an invalid character. */
const SECRET = /^[A-Za-z0-9+/]{43}=$/

/**
 * The secrets of the item, none where there is no item. Mistakes are reported without any part of a secret.
 *
 * @param item as an object, `undefined` where there is none.
 */
export function parseKeyRing<Ring extends KeyRing>(
  kind: RingKind<Ring>,
  item: Readonly<Record<string, unknown>> | undefined,
  issues: Mistake[],
): Ring {
  return kind.toRing(item ? parseKeys(kind, item, issues) : [])
}

function parseKeys(
  { name, invalid }: RingKind,
  item: Readonly<Record<string, unknown>>,
  issues: Mistake[],
): readonly RingKey[] {
  const place: Place = [`item "${name}"`]
  const wrong: Wrong = (sentence, at) => report(issues, invalid, sentence, at)
  const { pk: _, sk: __, keys, ...others } = item
  const before = issues.length
  for (const field of Object.keys(others)) wrong(`unknown field ${printed(field)}, known are keys`, place)
  if (!Array.isArray(keys) || keys.length < 1 || keys.length > MAX_RING_KEYS) {
    const got = Array.isArray(keys) ? keys.length : printedOrSecret(keys)
    wrong(`keys must be a list of 1 to ${MAX_RING_KEYS} keys, got ${got}`, place)
    return []
  }
  const parsed = keys.map((one, i) => parseKey(one, [...place, `key ${i + 1}`], wrong))
  for (let i = 1; i < parsed.length; i++) {
    const [earlier, later] = [parsed[i - 1], parsed[i]]
    if (earlier && later && earlier.activeFrom >= later.activeFrom)
      wrong(`activeFrom must be later than that of the key before, got ${later.activeFrom}`, [...place, `key ${i + 1}`])
  }
  return issues.length > before ? [] : (parsed as RingKey[])
}

type Wrong = (sentence: string, place: Place) => void

function parseKey(input: unknown, place: Place, wrong: Wrong): RingKey | undefined {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    wrong(`it must be an object of key and activeFrom, got ${printedOrSecret(input)}`, place)
    return undefined
  }
  const { key, activeFrom, carriedFrom, ...others } = input as Readonly<Record<string, unknown>>
  const unknown = Object.keys(others)
  const isKey = typeof key === 'string' && SECRET.test(key)
  const [isActive, isCarried] = [isTime(activeFrom), carriedFrom === undefined || isTime(carriedFrom)]
  for (const field of unknown) wrong(`unknown field ${printed(field)}, known are key, activeFrom, carriedFrom`, place)
  if (!isKey) wrong(`key must be ${SECRET_BYTES} bytes in base64, got something else`, place)
  if (!isActive) wrong(`activeFrom must be epoch milliseconds, got ${printed(activeFrom)}`, place)
  if (!isCarried) wrong(`carriedFrom must be epoch milliseconds, got ${printed(carriedFrom)}`, place)
  if (unknown.length > 0 || !isKey || !isActive || !isCarried) return undefined
  return {
    secret: Buffer.from(key as string, 'base64'),
    activeFrom: activeFrom as number,
    carriedFrom: carriedFrom as number | undefined,
  }
}

/** A text may be a secret in the wrong place, and is not shown. */
const printedOrSecret = (value: unknown): string => (typeof value === 'string' ? 'a text' : printed(value))

const isTime = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** The secrets as an item. */
export const keyRingItem = (kind: RingKind, keys: readonly RingKey[]) => ({
  ...ringKey(kind),
  keys: keys.map(({ secret, activeFrom, carriedFrom }) => ({
    key: Buffer.from(secret).toString('base64'),
    activeFrom,
    ...(carriedFrom !== undefined && { carriedFrom }),
  })),
})

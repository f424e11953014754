import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { keyRingItem, parseKeyRing } from '../../lambda/config-table/items/key-ring'
import { SIGNING_RING } from '../../lambda/config-table/items/signing-keys'
import { HMAC_RING, SubjectKeys } from '../../lambda/config-table/subject-keys'
import { Mistake } from '../../limiter/errors'
import { subjectKey, withSecret } from '../../limiter/subject-key'
import { codePoint } from '../code-point'

const SECRET = Buffer.alloc(32, 7)
const OTHER = Buffer.alloc(32, 9)

const parse = (item: Readonly<Record<string, unknown>> | undefined) => {
  const issues: Mistake[] = []
  return { keys: parseKeyRing(HMAC_RING, item, issues), issues: issues.map(String) }
}

describe('the item of the secrets', () => {
  it('may be missing: then there is no secret', () =>
    expect(parse(undefined)).toEqual({ keys: new SubjectKeys(), issues: [] }))

  it('is parsed as it was written', () => {
    const keys = [
      { secret: SECRET, activeFrom: 0, carriedFrom: undefined },
      { secret: OTHER, activeFrom: 1_700_000_000_000, carriedFrom: 1_600_000_000_000 },
    ]
    expect(parse(keyRingItem(HMAC_RING, keys))).toEqual({ keys: new SubjectKeys(keys), issues: [] })
    expect(keyRingItem(HMAC_RING, keys).keys).toEqual([
      { key: SECRET.toString('base64'), activeFrom: 0 },
      { key: OTHER.toString('base64'), activeFrom: 1_700_000_000_000, carriedFrom: 1_600_000_000_000 },
    ])
  })

  it('of the signing keys has the same form, and names itself in its mistakes', () => {
    const issues: Mistake[] = []
    const keys = [{ secret: SECRET, activeFrom: 0, carriedFrom: undefined }]
    expect(parseKeyRing(SIGNING_RING, keyRingItem(SIGNING_RING, keys), issues).keys).toEqual(keys)
    expect(keyRingItem(SIGNING_RING, keys)).toMatchObject({ pk: 'signing-key', sk: 'signing-key' })
    expect(parseKeyRing(SIGNING_RING, { keys: [] }, issues).keys).toEqual([])
    expect(issues.map(String)).toEqual(['keys must be a list of 1 to 8 keys, got 0 (item "signing-key")'])
  })

  it('may have eight, and is parsed although another item had a mistake', () => {
    const keys = Array.from({ length: 8 }, (_, i) => ({ secret: SECRET, activeFrom: i, carriedFrom: undefined }))
    const issues = [new Mistake('invalid_value', 'one from before')]
    expect(parseKeyRing(HMAC_RING, keyRingItem(HMAC_RING, keys), issues)).toEqual(new SubjectKeys(keys))
    expect(issues).toHaveLength(1)
  })

  const key = SECRET.toString('base64')
  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['no keys', {}, 'keys must be a list of 1 to 8 keys, got undefined (item "hmac-key")'],
    ['an empty list', { keys: [] }, 'keys must be a list of 1 to 8 keys, got 0 (item "hmac-key")'],
    [
      'nine keys',
      { keys: Array(9).fill({ key, activeFrom: 0 }) },
      'keys must be a list of 1 to 8 keys, got 9 (item "hmac-key")',
    ],
    [
      'another field',
      { keys: [{ key, activeFrom: 0 }], algorithm: 'none' },
      'unknown field "algorithm", known are keys (item "hmac-key")',
    ],
    [
      'a secret too short',
      { keys: [{ key: key.slice(4), activeFrom: 0 }] },
      'key must be 32 bytes in base64, got something else (item "hmac-key", key 1)',
    ],
    [
      'a time that is none',
      { keys: [{ key, activeFrom: '0' }] },
      'activeFrom must be epoch milliseconds, got "0" (item "hmac-key", key 1)',
    ],
    ['keys that are a text', { keys: key }, 'keys must be a list of 1 to 8 keys, got a text (item "hmac-key")'],
    [
      'a key that is a text',
      { keys: [key] },
      'it must be an object of key and activeFrom, got a text (item "hmac-key", key 1)',
    ],
    [
      'a key that is null',
      { keys: [null] },
      'it must be an object of key and activeFrom, got null (item "hmac-key", key 1)',
    ],
    [
      'a key that is a list',
      { keys: [{ key, activeFrom: 0 }, [key]] },
      'it must be an object of key and activeFrom, got a list (item "hmac-key", key 2)',
    ],
    [
      'another field of a key',
      { keys: [{ key, activeFrom: 0, note: 'x' }] },
      'unknown field "note", known are key, activeFrom, carriedFrom (item "hmac-key", key 1)',
    ],
    [
      'a secret that is no text',
      { keys: [{ key: 7, activeFrom: 0 }] },
      'key must be 32 bytes in base64, got something else (item "hmac-key", key 1)',
    ],
    [
      'text behind a secret',
      { keys: [{ key: `${key}=`, activeFrom: 0 }] },
      'key must be 32 bytes in base64, got something else (item "hmac-key", key 1)',
    ],
    [
      'a time before 1970',
      { keys: [{ key, activeFrom: -1 }] },
      'activeFrom must be epoch milliseconds, got -1 (item "hmac-key", key 1)',
    ],
    [
      'a fraction of a millisecond',
      { keys: [{ key, activeFrom: 5, carriedFrom: 0.5 }] },
      'carriedFrom must be epoch milliseconds, got 0.5 (item "hmac-key", key 1)',
    ],
    [
      'times out of order',
      {
        keys: [
          { key, activeFrom: 5 },
          { key, activeFrom: 5 },
        ],
      },
      'activeFrom must be later than that of the key before, got 5 (item "hmac-key", key 2)',
    ],
  ])('with %s is wrong, and is not taken for none', (_, item, sentence) =>
    expect(parse(item)).toEqual({ keys: new SubjectKeys(), issues: [sentence] }),
  )

  it('never has any part of a secret in the message of a mistake', () => {
    const secret = randomBytes(32).toString('base64')
    const mangled = fc.oneof(
      fc.constant(secret),
      fc.integer({ min: 1, max: 43 }).map((length) => secret.slice(0, length)),
      fc.constant([secret]),
      fc.constant({ [secret]: 1 }),
    )
    fc.assert(
      fc.property(mangled, mangled, (one, two) => {
        const items = [
          { keys: typeof one === 'string' ? one : [one] },
          { keys: [one] },
          { keys: [{ key: one, activeFrom: 'never' }] },
          { keys: [{ key: [two], activeFrom: 0 }] },
        ]
        for (const item of items) {
          const text = parse(item).issues.join()
          expect(text).not.toBe('')
          if (typeof one === 'string' && one.length > 6) expect(text).not.toContain(one.slice(0, 6))
        }
      }),
    )
  })
})

describe('the key of a subject’s state', () => {
  const keys = new SubjectKeys([
    { secret: SECRET, activeFrom: 1000, carriedFrom: 900 },
    { secret: OTHER, activeFrom: 2000 },
  ])

  it('changes with each secret, to the millisecond', () => {
    const at = (ms: number) => keys.keyOf('client:acme', ms)
    expect([at(0), at(999)]).toEqual(Array(2).fill(subjectKey('client:acme')))
    expect([at(1000), at(1999)]).toEqual(Array(2).fill(subjectKey('client:acme', SECRET)))
    expect([at(2000), at(1e15)]).toEqual(Array(2).fill(subjectKey('client:acme', OTHER)))
  })

  it('is one of all keys that an erasure has to search', () => {
    expect(keys.allOf('client:acme')).toEqual([
      subjectKey('client:acme'),
      subjectKey('client:acme', SECRET),
      subjectKey('client:acme', OTHER),
    ])
  })

  it('is, for a refund, the one that was charged or the one that the charge was copied to, so that no unit is refunded twice', () => {
    const at = (chargedAt: number, now: number) => keys.keyOfCharge('client:acme', chargedAt, now)
    expect(at(899, 1500)).toBe(subjectKey('client:acme', SECRET)) // was copied
    expect(at(900, 1500)).toBe(subjectKey('client:acme')) // came after the copy
    expect(at(1000, 1500)).toBe(subjectKey('client:acme', SECRET))
    expect(at(1500, 2500)).toBe(subjectKey('client:acme', SECRET)) // was not taken along
    expect(at(500, 700)).toBe(subjectKey('client:acme'))
  })
})

describe('the key of a subject with a secret', () => {
  it('follows from the key without it, so that items of unknown subjects can be moved', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 300, unit: codePoint }),
        fc.uint8Array({ minLength: 16 }),
        (subject, secret) => {
          const key = subjectKey(subject, secret)
          expect(key).toMatch(/^[a-z0-9-]{1,16}~[\w-]{43}$/)
          expect(withSecret(subjectKey(subject), secret)).toBe(key)
          expect(withSecret(key, secret)).toBeUndefined() // never twice
        },
      ),
    )
  })

  it('never changes between releases, because tables hold such keys', () => {
    expect(subjectKey('client:acme')).toBe(PLAIN_ACME)
    expect(subjectKey('client:acme', SECRET)).toBe(KEYED_ACME)
  })

  it('differs with every secret', () =>
    expect(subjectKey('ip:1.2.3.4', SECRET)).not.toBe(subjectKey('ip:1.2.3.4', OTHER)))
})

/** By OpenSSL. */
const PLAIN_ACME = 'client#-y70ueHsUqSBh3EYAMecGQsnA6hnq3lBISZJLb20cIQ'
const KEYED_ACME = 'client~27PGJ4xVn3O1I8wWCtz1FG5dR5m9DRfUt3jJmENMJrQ'

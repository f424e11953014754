import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import type { RingKey } from '../../lambda/config-table/items/key-ring'
import { RANDOM_BYTES, SigningKeys, signedKey, signingKeyId } from '../../lambda/config-table/items/signing-keys'
import { codePoint } from '../code-point'

const key = (fill: number, activeFrom = 0): RingKey => ({ secret: Buffer.alloc(32, fill), activeFrom })
const [FIRST, SECOND, OTHER] = [key(7), key(9, 1_700_000_000_000), key(11)]
const RING = new SigningKeys([FIRST, SECOND])

const made = (by = FIRST) => signedKey(by, randomBytes(RANDOM_BYTES))

/** By Python’s hmac. */
const VECTOR = 'slcs_1a7a5421ba_yMnKy8zNzs_Q0dLT1NXW19jZKYt_IVMOAJpkorLGR9Cc'

describe('an API key that Sluice makes', () => {
  it('never changes its form between releases, because customers have such keys', () => {
    expect(
      signedKey(
        FIRST,
        Uint8Array.from({ length: RANDOM_BYTES }, (_, i) => 200 + i),
      ),
    ).toBe(VECTOR)
    expect(RING.provenanceOf(VECTOR)).toBe('signed')
  })

  it('has at least 128 random bits and a MAC of at least 80, and fits into a header that API Gateway takes', () => {
    const [, id, rest] = /^slcs_([0-9a-f]{10})_([\w-]+)$/.exec(made())!
    expect(id).toBe(signingKeyId(FIRST))
    expect(RANDOM_BYTES * 8).toBeGreaterThanOrEqual(128)
    expect((rest!.length - (RANDOM_BYTES * 8) / 6) * 6).toBeGreaterThanOrEqual(80)
    expect(made().length).toBeLessThanOrEqual(128)
    expect(new Set(Array.from({ length: 1000 }, () => made())).size).toBe(1000)
  })

  it('is signed by every key of the ring, whenever that is active, and by no other', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: RANDOM_BYTES, maxLength: RANDOM_BYTES }), (random) => {
        expect([FIRST, SECOND].map((by) => RING.provenanceOf(signedKey(by, random)))).toEqual(['signed', 'signed'])
        expect(RING.provenanceOf(signedKey(OTHER, random))).toBe('unproven')
        expect(new SigningKeys([OTHER]).provenanceOf(signedKey(OTHER, random))).toBe('signed')
        expect(new SigningKeys().provenanceOf(signedKey(FIRST, random))).toBe('unproven')
      }),
    )
  })

  it('of which any one character is another is not signed', () => {
    const anyKey = fc.uint8Array({ minLength: RANDOM_BYTES, maxLength: RANDOM_BYTES }).map((r) => signedKey(FIRST, r))
    const character = fc.oneof(codePoint, fc.constantFrom(...'slc_-aAzZ09 \n\t\0ſKé'))
    fc.assert(
      fc.property(anyKey, fc.nat(), character, (apiKey, at, other) => {
        const i = at % apiKey.length
        const changed = apiKey.slice(0, i) + other + apiKey.slice(i + 1)
        fc.pre(changed !== apiKey)
        expect(RING.provenanceOf(changed)).not.toBe('signed')
      }),
      { numRuns: 2000 },
    )
  })

  it('that is cut, repeated, continued, or in other letters is not signed', () => {
    const apiKey = made()
    const others = [
      ...Array.from(apiKey, (_, i) => apiKey.slice(0, i)),
      ...[' ', '\n', '=', 'A', '_', '\u0000'].flatMap((one) => [apiKey + one, one + apiKey]),
      apiKey + apiKey,
      `${apiKey}, ${apiKey}`,
      apiKey.toUpperCase(),
      apiKey.replace('slcs_', 'slc_'),
    ]
    for (const other of others) expect(RING.provenanceOf(other)).toBe('unproven')
  })

  it('is forged where the name of a signing key is right and the MAC is not', () => {
    const [first, second] = [made(FIRST), made(SECOND)]
    const tail = 20
    expect(RING.provenanceOf(first.slice(0, -tail) + second.slice(-tail))).toBe('forged')
    expect(RING.provenanceOf(first.slice(0, -tail) + 'A'.repeat(tail))).toBe('forged')
    expect(RING.provenanceOf(first.replace(signingKeyId(FIRST), signingKeyId(SECOND)))).toBe('forged')
    expect(RING.provenanceOf(first.replace(signingKeyId(FIRST), signingKeyId(OTHER)))).toBe('unproven')
  })

  it('cannot be told from any text without an error, whatever the text is', () => {
    const prefix = `slcs_${signingKeyId(FIRST)}_`
    fc.assert(
      fc.property(fc.string({ unit: codePoint, maxLength: 700 }), fc.boolean(), (text, isPrefixed) => {
        expect(['forged', 'unproven']).toContain(RING.provenanceOf(isPrefixed ? prefix + text : text))
      }),
      { numRuns: 2000 },
    )
  })

  it('says nothing of the secret but what an HMAC says: the id is no part of it', () => {
    const secret = FIRST.secret
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      expect(made()).not.toContain(Buffer.from(secret).toString(encoding).slice(0, 8))
  })
})

import { createHmac, timingSafeEqual } from 'node:crypto'
import { KeyRing, type RingKey, type RingKind } from './key-ring'

/**
 * An API key that Sluice has made: a prefix that secret scanners recognise, the id of the signing key, 144 random bits,
 * and 120 bits of an HMAC-SHA256 of all that stands before them.
 */
const SIGNED_KEY = /^(slcs_([0-9a-f]{10})_[\w-]{24})([\w-]{20})$/

/** The bytes of the random part: as base64url it leaves no bits over, so each key is written in one way only. */
export const RANDOM_BYTES = 18

/**
 * - `signed`: only a holder of the signing key could have made it. The config table says whose it still is.
 * - `forged`: it names a signing key that is known, and was not made with it.
 * - `unproven`: not of that form, or its signing key is not known here. Anybody could have made it.
 */
export type Provenance = 'signed' | 'forged' | 'unproven'

/** The secrets with which API keys are signed. A former one verifies, and so does one that is not active yet. */
export class SigningKeys extends KeyRing {
  private readonly byId: ReadonlyMap<string, Uint8Array>

  constructor(keys: readonly RingKey[] = []) {
    super(keys)
    this.byId = new Map(keys.map((key) => [signingKeyId(key), key.secret]))
  }

  /** Takes the same time for every MAC. */
  provenanceOf(apiKey: string): Provenance {
    const [, body = '', id = '', mac = ''] = SIGNED_KEY.exec(apiKey) ?? []
    const secret = this.byId.get(id)
    if (!secret) return 'unproven'
    return timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(body, secret))) ? 'signed' : 'forged'
  }
}

/** The secrets with which API keys are signed, apart from those of the hashes: turning those over ends no API key. */
export const SIGNING_RING: RingKind<SigningKeys> = {
  name: 'signing-key',
  invalid: 'invalid_signing_key',
  missing: 'signing_key_missing',
  toRing: (keys) => new SigningKeys(keys),
}

/** A name that follows from the secret, so that no edit puts a secret under another's name. It is not secret itself. */
export const signingKeyId = ({ secret }: RingKey): string => digestOf('signing key id', secret, 'hex').slice(0, 10)

/** An API key. @param random `RANDOM_BYTES` that nobody can foresee. */
export function signedKey(key: RingKey, random: Uint8Array): string {
  const body = `slcs_${signingKeyId(key)}_${Buffer.from(random).toString('base64url')}`
  return body + macOf(body, key.secret)
}

const macOf = (body: string, secret: Uint8Array): string => digestOf(body, secret, 'base64url').slice(0, 20)

const digestOf = (text: string, secret: Uint8Array, encoding: 'hex' | 'base64url'): string =>
  createHmac('sha256', secret).update(text).digest(encoding)

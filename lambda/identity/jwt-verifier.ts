import { JwtInvalidSignatureAlgorithmError } from 'aws-jwt-verify/error'
import { type DecomposedJwt, decomposeUnverifiedJwt } from 'aws-jwt-verify/jwt'
import { type SupportedSignatureAlgorithm, verifyJwtSync } from 'aws-jwt-verify/jwt-verifier'
import type { Clock, EpochMs } from '../../limiter/clock'
import { isCognito, type JwtSettings } from '../config-table/items/jwt-settings'
import { type IssuerKey, IssuerKeys } from './issuer-keys'
import { type FetchJwks, fetchJwks } from './jwks-fetch'
import type { InvalidReason, Verified } from './token-verifier'

/**
 * API Gateway takes 10,240 bytes of headers: https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 */
const MAX_TOKEN_LENGTH = 8192

/** How far the issuer's clock and ours may be apart, in seconds; RFC 7519 §4.1.4 allows for a few minutes at most. */
const TOLERANCE_SECONDS = 30

/** Far more issuers than are configured. The bound removes issuers that the settings no longer name. */
const MAX_ISSUERS = 20

/**
 * The kind of key for each algorithm: the library would accept an RSA signature declared as ES256. RFC 7518 §3.1, RFC
 * 8037 §3.1.
 */
const KEY_KINDS: Readonly<Record<SupportedSignatureAlgorithm, string>> = {
  RS256: 'RSA',
  RS384: 'RSA',
  RS512: 'RSA',
  ES256: 'P-256',
  ES384: 'P-384',
  ES512: 'P-521',
  EdDSA: 'OKP',
}

/**
 * Verifies tokens of any issuer, and keeps the keys of each.
 *
 * Checks that need the token alone come first, so that the issuer's keys are fetched only for a token that would pass
 * them. The library decodes the token and verifies the signature with the one key that the token names. Time, audience
 * and kind are checked here: the library reads the clock itself, and it accepts tokens that never expire.
 */
export class JwtVerifier {
  private readonly issuers = new Map<string, IssuerKeys>()
  private readonly clock: Clock
  private readonly fetch: FetchJwks

  constructor({ clock, fetch = fetchJwks }: { readonly clock: Clock; readonly fetch?: FetchJwks }) {
    this.clock = clock
    this.fetch = fetch
  }

  /**
   * Never throws.
   *
   * @param deadlineMs time for this answer, in milliseconds.
   */
  async verify(token: string, settings: JwtSettings, deadlineMs: number): Promise<Verified> {
    const parts = partsOf(token)
    if (!parts) return { kind: 'invalid', why: 'malformed' }
    const why = faultOf(parts, settings, this.clock())
    if (why) return { kind: 'invalid', why }

    const search = await this.keysAt(settings.jwksUri).find(parts.header.kid ?? '', deadlineMs)
    if ('unavailable' in search) return { kind: 'unavailable', cause: search.unavailable }
    if (!search.key) return { kind: 'invalid', why: 'unknown-key' }
    if (!isFor(search.key, parts)) return { kind: 'invalid', why: 'algorithm' }
    return verifiedWith(search.key, token, settings)
  }

  private keysAt(uri: string): IssuerKeys {
    const known = this.issuers.get(uri)
    if (known) return known
    const keys = new IssuerKeys(uri, { clock: this.clock, fetch: this.fetch })
    this.issuers.set(uri, keys)
    for (const first of this.issuers.keys()) if (this.issuers.size > MAX_ISSUERS) this.issuers.delete(first)
    return keys
  }
}

function partsOf(token: string): DecomposedJwt | undefined {
  if (token.length > MAX_TOKEN_LENGTH) return undefined
  try {
    return decomposeUnverifiedJwt(token)
  } catch {
    return undefined
  }
}

/** Why a token is refused before its signature is verified. */
function faultOf({ header, payload }: DecomposedJwt, settings: JwtSettings, now: EpochMs): InvalidReason | undefined {
  if (header.crit !== undefined) return 'malformed' // extensions that must be understood, and none is: RFC 7515 §4.1.11
  if (!Object.hasOwn(KEY_KINDS, header.alg ?? '')) return 'algorithm'
  if (payload.iss !== settings.issuer) return 'issuer'
  if (payload.exp === undefined) return 'malformed'
  if (now >= (payload.exp + TOLERANCE_SECONDS) * 1000) return 'expired'
  if (payload.nbf !== undefined && now < (payload.nbf - TOLERANCE_SECONDS) * 1000) return 'not-yet-valid'
  if (settings.tokenUse !== undefined && payload.token_use !== settings.tokenUse) return 'token-use'
  if (!isForUs(payload, settings)) return 'audience'
  return header.kid === undefined ? 'unknown-key' : undefined
}

/**
 * Whether the token is issued for this API. Cognito's access tokens name the app client in `client_id`; their `aud`, if
 * any, names an API.
 */
function isForUs({ aud, client_id, token_use }: DecomposedJwt['payload'], { issuer, audience }: JwtSettings): boolean {
  if (audience === 'any') return true
  const parties: readonly unknown[] = [aud, token_use === 'access' && isCognito(issuer) ? client_id : undefined].flat()
  return audience.some((party) => parties.includes(party))
}

function isFor({ jwk }: IssuerKey, { header }: DecomposedJwt): boolean {
  return KEY_KINDS[header.alg as SupportedSignatureAlgorithm] === (jwk.kty === 'EC' ? jwk.crv : jwk.kty)
}

function verifiedWith({ jwk, key }: IssuerKey, token: string, { issuer }: JwtSettings): Verified {
  const rules = { issuer, audience: null, graceSeconds: Number.POSITIVE_INFINITY } // the rest is checked above
  try {
    return { kind: 'valid', claims: verifyJwtSync(token, jwk, rules, () => key) }
  } catch (error) {
    return { kind: 'invalid', why: error instanceof JwtInvalidSignatureAlgorithmError ? 'algorithm' : 'signature' }
  }
}

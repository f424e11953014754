/** Verifies tokens. Never throws, whatever the token is. */
export interface TokenVerifier {
  /** @param deadlineMs time for this one answer, in milliseconds, in case the issuer's keys have to be fetched. */
  verify(token: string, deadlineMs: number): Promise<Verified>
}

/** The payload of a token: anything that JSON can say, under any name. */
export type Claims = Readonly<Record<string, unknown>>

/**
 * - `valid`: the issuer has signed these claims, for this API and for the present time.
 * - `invalid`: it has not, or they have expired; a later attempt gets the same result.
 * - `unavailable`: unknown, since the issuer's keys cannot be fetched. Such a token is neither valid nor invalid.
 */
export type Verified =
  | { readonly kind: 'valid'; readonly claims: Claims }
  | { readonly kind: 'invalid'; readonly why: InvalidReason }
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/**
 * - `malformed`: not a JWT, too long, without an expiry, or with extensions that must be understood.
 * - `algorithm`: `none`, a shared secret, or another algorithm than the key is for.
 * - `expired`, `not-yet-valid`: by `exp` and `nbf`, beyond the tolerance.
 * - `issuer`, `audience`, `token-use`: issued by or for somebody else.
 * - `unknown-key`: signed with a key that the issuer does not publish, or that the token does not name.
 * - `signature`: does not match that key.
 */
export type InvalidReason =
  | 'malformed'
  | 'algorithm'
  | 'expired'
  | 'not-yet-valid'
  | 'issuer'
  | 'audience'
  | 'token-use'
  | 'unknown-key'
  | 'signature'

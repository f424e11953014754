/** Tells whether a token is what it claims to be. Never throws, whatever the token is. */
export interface TokenVerifier {
  /** @param deadlineMs time for this one answer, in milliseconds, should the issuer have to be asked for its keys. */
  verify(token: string, deadlineMs: number): Promise<Verified>
}

/** The payload of a token: anything that JSON can say, under any name. */
export type Claims = Readonly<Record<string, unknown>>

/**
 * - `valid`: the issuer has signed these claims, for us and for now.
 * - `invalid`: it has not, or not any more; no later attempt will do better.
 * - `unavailable`: nobody can tell, for the issuer's keys cannot be had. Such a token is neither good nor bad.
 */
export type Verified =
  | { readonly kind: 'valid'; readonly claims: Claims }
  | { readonly kind: 'invalid'; readonly why: InvalidReason }
  | { readonly kind: 'unavailable'; readonly cause: unknown }

/**
 * - `malformed`: no JWT, too long a one, one without an expiry, or one with extensions that must be understood.
 * - `algorithm`: `none`, a shared secret, or another than the key is for.
 * - `expired`, `not-yet-valid`: by `exp` and `nbf`, beyond the tolerance.
 * - `issuer`, `audience`, `token-use`: someone else's token.
 * - `unknown-key`: signed with a key that the issuer does not publish, or that the token does not name.
 * - `signature`: not by that key.
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

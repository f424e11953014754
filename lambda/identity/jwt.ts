import type { JwtSettings } from '../config-table/items/jwt-settings'
import { callerFrom, tokenFrom } from './jwt-claims'
import { NO_CREDENTIAL, type Source } from './source'
import type { TokenVerifier } from './token-verifier'

/**
 * A JSON Web Token of an OpenID Connect issuer. Without a token the next source is tried; an invalid token, or one that
 * names no user, is rejected; and while the issuer's keys cannot be fetched, the result is `unavailable`.
 *
 * @param deadlineMs time for the issuer's keys, in milliseconds.
 */
export const jwtSource = (settings: JwtSettings, verifier: TokenVerifier, deadlineMs: number): Source => ({
  async resolve({ headers }) {
    const token = tokenFrom(headers, settings)
    if (token === undefined) return NO_CREDENTIAL
    const verified = await verifier.verify(token, deadlineMs)
    if (verified.kind === 'unavailable') return verified
    if (verified.kind === 'invalid')
      return { kind: 'rejected', ...(verified.why === 'issuer' && { tryNextSource: true }) }
    const caller = callerFrom(verified.claims, settings)
    if (!caller) return { kind: 'rejected' }
    const { user, client, tier } = caller
    const { namespace, issuer, lookup } = settings
    const at = namespace && `@${namespace}`
    const name = `user${at}:${user}`
    const credential = client === undefined ? name : `client${at}:${client}`
    return {
      kind: 'claim',
      // Never `client:` alone: that is for the config table's own clients.
      caller: client === undefined ? name : `client@${namespace || encodeURIComponent(issuer)}:${client}`,
      user: name,
      tier,
      claims: verified.claims,
      namespace,
      credential: lookup ? credential : undefined,
    }
  },
})

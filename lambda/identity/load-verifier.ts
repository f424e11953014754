import type { Clock } from '../../limiter/clock'
import type { JwtSettings } from '../config-table/items/jwt-settings'
import type { JwtVerifier } from './jwt-verifier'
import type { TokenVerifier } from './token-verifier'

/**
 * Makes verifiers that share the keys that were read; call it once. The code behind them is a file of its own, loaded
 * with the first token, so that deployments without JWTs do not pay for it in every cold start.
 */
export function lazyVerifiers(clock: Clock): (settings: JwtSettings) => TokenVerifier {
  let shared: JwtVerifier | undefined
  return (settings) => ({
    async verify(token, deadlineMs) {
      try {
        shared ??= new (load().JwtVerifier)({ clock })
        return await shared.verify(token, settings, deadlineMs)
      } catch (cause) {
        return { kind: 'unavailable', cause }
      }
    },
  })
}

/**
 * The file beside this one, by a path that bundlers do not follow: `lib/authorizer-bundle.ts` puts a file of this name
 * beside the bundle.
 */
function load(): typeof import('./jwt-verifier') {
  return require(`${__dirname}/jwt-verifier`)
}

import type { Clock } from '../../limiter/clock'
import type { JwtSettings } from '../config-table/items/jwt-settings'
import type { JwtVerifier } from './jwt-verifier'
import type { TokenVerifier } from './token-verifier'

/**
 * Makes verifiers that share the keys that were read; call it once. The code behind them is loaded with the first
 * token, so that deployments without JWTs do not pay for it in every cold start.
 */
export function lazyVerifiers(clock: Clock): (settings: JwtSettings) => TokenVerifier {
  let shared: Promise<JwtVerifier> | undefined
  return (settings) => ({
    async verify(token, deadlineMs) {
      try {
        shared ??= import('./jwt-verifier.ts').then(({ JwtVerifier }) => new JwtVerifier({ clock }))
        return await (await shared).verify(token, settings, deadlineMs)
      } catch (cause) {
        return { kind: 'unavailable', cause }
      }
    },
  })
}

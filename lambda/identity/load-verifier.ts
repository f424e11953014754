import type { Clock } from '../../limiter/clock'
import { Lazy } from '../../limiter/lazy'
import type { JwtSettings } from '../config-table/items/jwt-settings'
import type { TokenVerifier } from './token-verifier'

/**
 * Makes verifiers that share the keys that were read; call it once. The code behind them is loaded with the first
 * token, so that deployments without JWTs do not pay for it in every cold start.
 */
export function lazyVerifiers(clock: Clock): (settings: JwtSettings) => TokenVerifier {
  const shared = new Lazy(async () => new (await import('./jwt-verifier.ts')).JwtVerifier({ clock }))
  return (settings) => ({
    async verify(token, deadlineMs) {
      try {
        return await (await shared.get()).verify(token, settings, deadlineMs)
      } catch (cause) {
        return { kind: 'unavailable', cause }
      }
    },
  })
}

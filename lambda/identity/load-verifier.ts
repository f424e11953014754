import type { Clock } from '../../limiter/clock'
import type { JwtSettings } from '../config-table/items/jwt-settings'
import type { JwtVerifier } from './jwt-verifier'
import type { TokenVerifier } from './token-verifier'

/**
 * Makes verifiers that share the keys that were read; call it once. The code behind them is loaded with the first
 * token, so that deployments without JWTs do not pay for it in every cold start.
 */
export function lazyVerifiers(clock: Clock): (settings: JwtSettings) => TokenVerifier {
  let shared: JwtVerifier | undefined
  const load = async () => {
    const { JwtVerifier } = await import('./jwt-verifier.ts')
    shared ??= new JwtVerifier({ clock })
    return shared
  }
  return (settings) => ({
    async verify(token, deadlineMs) {
      try {
        return await (shared ?? (await load())).verify(token, settings, deadlineMs)
      } catch (cause) {
        return { kind: 'unavailable', cause }
      }
    },
  })
}

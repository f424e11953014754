import type { AuthorizerParts } from './authorizer-parts'
import type { Tier } from './config-table/items/tiers'
import type { Outcome } from './responses/context'

/** The outcome of a request that cannot be counted: the failure mode decides. */
export function undecided({ failOpen }: AuthorizerParts, failureMode?: Tier['failureMode']): Outcome {
  const allowed = failureMode === undefined ? failOpen : failureMode !== 'deny'
  return { reason: allowed ? 'uncounted' : 'unavailable', degraded: true }
}

/** The outcome of a request whose caller cannot be verified: denied, except where the deployment verifies nobody. */
export function unverified(parts: AuthorizerParts): Outcome {
  if (parts.authentication === 'none') return undecided(parts)
  parts.log('error', 'identity_unverifiable', {})
  return { reason: 'unverified', degraded: true }
}

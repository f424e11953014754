import type { Clock } from './clock'
import { apiKeyFrom, hashApiKey } from './identity/api-key'
import { clientIpKey } from './identity/client-ip'
import type { RateLimiter } from './limiter/rate-limiter'
import { subjectKey } from './limiter/subject-key'
import { ANONYMOUS, routeOf } from './policies/tiers'
import { type AuthorizerAnswer, toAnswer } from './responses/answers'
import { type Outcome, toContext } from './responses/context'
import { fromEvent, type GatewayRequest } from './responses/request'
import { errorDetails, type Log } from './telemetry'
import type { Client } from './tiers/config-items'
import type { Plans } from './tiers/plans'

export interface AuthorizerParts {
  readonly limiter: Pick<RateLimiter, 'decide'>
  readonly plans: Plans
  readonly clients: { find(apiKeyHash: string): Promise<Client | undefined> }
  readonly clock: Clock
  readonly log: Log
  /** Bits of an IPv6 address that tell callers apart. */
  readonly ipv6Prefix: number
  /** Whether requests pass when nothing can be decided, not even by the failure mode: without tiers, or without a table that was ever there. */
  readonly allowUndecided: boolean
  /** Whether requests over the limit pass on HTTP APIs, for the backend to answer 429. @default false */
  readonly backendAnswers?: boolean
}

type Authorizer = (event: unknown) => Promise<AuthorizerAnswer>

/**
 * Makes the authorizer: any event in, an answer out, never an error.
 *
 * Who asks is told by an API key that the config table knows, else by the address; unknown keys are anonymous by address, so that made-up keys
 * mint no fresh quota.
 */
export function makeAuthorizer(parts: AuthorizerParts): Authorizer {
  return async (event) => {
    const now = parts.clock()
    const request = fromEvent(event)
    if (!request) return answer(parts, undefined, { reason: 'malformed', now })
    if (request.preflight) return answer(parts, request, { reason: 'uncounted', now })
    try {
      return answer(parts, request, await outcomeOf(request, parts, now))
    } catch (error) {
      parts.log('error', 'a request could not be decided', errorDetails(error))
      return answer(parts, request, undecided(parts, now))
    }
  }
}

async function outcomeOf(request: GatewayRequest, parts: AuthorizerParts, now: number): Promise<Outcome> {
  const [set, client] = await Promise.all([parts.plans.current(), identify(request, parts)])
  if (!set) return undecided(parts, now)
  const address = `ip:${clientIpKey(request.sourceIp ?? '', parts.ipv6Prefix) ?? 'unknown'}`
  const caller = client ? `client:${client.id}` : address
  const tier = set.tiers.get(client?.tier ?? ANONYMOUS) ?? set.tiers.get(ANONYMOUS)
  if (!tier) return undecided(parts, now)
  const route = routeOf(set, request.method, request.path)
  const plan = parts.plans.planFor(set, tier, route, client !== undefined)
  const about = { tier: tier.name, subject: subjectKey(caller), now }
  const charges = [
    { key: subjectKey(caller), policies: plan.caller, cost: plan.cost },
    { key: subjectKey(address), policies: plan.address, cost: plan.cost },
  ].filter(({ policies, cost }) => policies.length > 0 && cost > 0)
  if (charges.length === 0) return { ...about, reason: 'uncounted' }

  const decision = await parts.limiter.decide(charges)
  if (decision.degraded) parts.log('warn', 'a decision was made without the store', { tier: tier.name, policy: decision.policy })
  const turnedAway = decision.degraded && !decision.allowed && !parts.allowUndecided // by the failure mode, whatever was counted
  return { ...about, decision, reason: turnedAway ? 'unavailable' : undefined, shapes: charges.flatMap(({ policies }) => policies) }
}

async function identify({ headers }: GatewayRequest, { clients }: AuthorizerParts): Promise<Client | undefined> {
  const key = apiKeyFrom(headers)
  return key === undefined ? undefined : clients.find(hashApiKey(key))
}

function undecided({ allowUndecided }: AuthorizerParts, now: number): Outcome {
  return { reason: allowUndecided ? 'uncounted' : 'unavailable', now }
}

function answer({ backendAnswers }: AuthorizerParts, request: GatewayRequest | undefined, outcome: Outcome): AuthorizerAnswer {
  const context = toContext(outcome)
  return toAnswer(request, { allowed: context.allowed, context, principalId: outcome.subject ?? '', backendAnswers })
}

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { makeAuthorizer } from '../lambda/authorize'
import type { Clock } from '../lambda/clock'
import { apiKeyFrom } from '../lambda/identity/api-key'
import type { RateLimiter } from '../lambda/limiter/rate-limiter'
import type { PolicySet, Route, Tier } from '../lambda/policies/tiers'
import type { AuthorizerContext } from '../lambda/responses/context'
import { fromEvent } from '../lambda/responses/request'
import { Clients } from '../lambda/tiers/clients'
import type { Client } from '../lambda/tiers/config-items'
import { Plans } from '../lambda/tiers/plans'
import { PolicySets } from '../lambda/tiers/policy-sets'

/** What the authorizer would answer to an event, and why. */
export interface EventDecision {
  /** `GET /search`; `undefined` for what is no event. */
  readonly request: string | undefined
  readonly identity: string
  readonly tier: string
  /** The configured route that is for it. */
  readonly route: string | undefined
  /** Names of what it is held to, the caller's and then the address's. */
  readonly policies: readonly string[]
  readonly context: AuthorizerContext
  /** What the authorizer would log meanwhile. */
  readonly logged: readonly string[]
}

export interface Deciding {
  readonly client: Pick<DynamoDBClient, 'send'>
  readonly configTable: string
  readonly limiter: Pick<RateLimiter, 'peek'>
  readonly clock: Clock
  readonly ipv6Prefix: number
}

/** Asks the real authorizer about an event, with a limiter that looks and does not charge. */
export async function decideEvent(event: unknown, { client, configTable, limiter, clock, ipv6Prefix }: Deciding): Promise<EventDecision> {
  const logged: string[] = []
  const log = (_level: string, message: string, details: object = {}) => void logged.push(`${message} ${JSON.stringify(details)}`)
  const reading = { client, tableName: configTable, clock, log, ttlMs: 60_000, deadlineMs: 10_000 }
  const plans = new ObservedPlans(new PolicySets(reading))
  const clients = new Clients(reading)
  let found: Client | undefined
  const authorize = makeAuthorizer({
    limiter: { decide: (charges) => limiter.peek(charges) },
    plans,
    clients: {
      find: async (hash) => {
        found = await clients.find(hash)
        return found
      },
    },
    clock,
    log,
    ipv6Prefix,
    allowUndecided: false,
  })
  const { context } = await authorize(event)
  const request = fromEvent(event)
  const hasKey = request !== undefined && apiKeyFrom(request.headers) !== undefined
  return {
    request: request && `${request.method} ${request.path}`,
    identity: found
      ? `client ${found.id}, by its API key`
      : `address ${request?.sourceIp ?? 'unknown'}${hasKey ? ', for its API key is not known' : ''}`,
    tier: context.tier,
    route: plans.route?.pattern.text,
    policies: plans.policies,
    context,
    logged,
  }
}

/** Remembers which plan was asked for. */
class ObservedPlans extends Plans {
  route: Route | undefined
  policies: readonly string[] = []

  override planFor(set: PolicySet, tier: Tier | undefined, route: Route | undefined, known: boolean) {
    const plan = super.planFor(set, tier, route, known)
    this.route = route
    this.policies = [...plan.caller, ...plan.address].map(({ name }) => name)
    return plan
  }
}

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { makeAuthorizer } from '../../lambda/authorize'
import { type Plan, Plans } from '../../lambda/charge-plans'
import { Clients } from '../../lambda/config-table/clients'
import { type Configuration, PolicySets } from '../../lambda/config-table/configuration'
import { HmacKeys } from '../../lambda/config-table/hmac-keys'
import type { Client } from '../../lambda/config-table/items/client-item'
import { scopedName } from '../../lambda/config-table/items/scopes'
import type { Tier } from '../../lambda/config-table/items/tiers'
import { LastValid } from '../../lambda/config-table/last-valid'
import { lazyVerifiers } from '../../lambda/identity/load-verifier'
import { Sources } from '../../lambda/identity/sources'
import { UNVERIFIED } from '../../lambda/responses/answers'
import type { AuthorizerContext } from '../../lambda/responses/context'
import { fromEvent } from '../../lambda/responses/request'
import type { Rules } from '../../lambda/rules'
import type { Clock } from '../../limiter/clock'
import type { RateLimiter } from '../../limiter/rate-limiter'

/** What the authorizer would answer to an event, and why. */
export interface EventDecision {
  /** `GET /search`; `undefined` for what is no event. */
  readonly request: string | undefined
  /** The API, by its label or id, and the stage. */
  readonly api: string | undefined
  readonly identity: string
  readonly tier: string
  /** The configured routes for which it can be taken. */
  readonly route: string | undefined
  /** Names of what it is held to, in the order of evaluation. */
  readonly policies: readonly string[]
  /** What the backend would be told; `undefined` where the answer is a bare 401 or 500. */
  readonly context: AuthorizerContext | undefined
  /** That it would be a 500, since callers cannot be verified. */
  readonly unverified: boolean
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

const DEADLINE_MS = 10_000

/** Runs the real authorizer on an event, with a limiter that peeks and charges nothing. */
export async function decideEvent(
  event: unknown,
  { client, configTable, limiter, clock, ipv6Prefix }: Deciding,
): Promise<EventDecision> {
  const logged: string[] = []
  const log = (_level: string, message: string, details: object = {}) =>
    void logged.push(`${message} ${JSON.stringify(details)}`)
  const reading = {
    client,
    tableName: configTable,
    clock,
    log,
    ttlMs: 60_000,
    negativeTtlMs: 60_000,
    deadlineMs: DEADLINE_MS,
  }
  const plans = new ObservedPlans(log)
  const clients = new Clients(reading)
  const lastValid = new LastValid(reading)
  let unverified = false
  let api: string | undefined
  let found: Client | undefined
  let shown: string | undefined
  const authorize = makeAuthorizer({
    limiter: { decide: (charges) => limiter.peek(charges) },
    // one looks, and writes nothing
    configuration: new PolicySets({ ...reading, lastValid: { read: () => lastValid.read(), keep: async () => {} } }),
    subjectKeys: new HmacKeys(reading),
    plans,
    clients: {
      find: async (credential) => {
        shown = credential.includes(':') ? credential.split(':', 1)[0] : 'API key'
        const one = await clients.find(credential)
        if (typeof one === 'object') found = one
        return one
      },
    },
    sources: new Sources(lazyVerifiers(clock), DEADLINE_MS),
    clock,
    wait: async () => {}, // an event is explained, not delayed
    log,
    ipv6Prefix,
    allowUndecided: false,
    telemetry: {
      answered: (_told, _decision, origin) => {
        api = origin.api
      },
    },
  })
  const context = await authorize(event).then(
    (answer) => answer.context,
    (error: Error) => {
      unverified = error.message === UNVERIFIED
      if (!unverified && error.message !== 'Unauthorized') throw error
    },
  )
  const request = fromEvent(event)
  return {
    request: request && `${request.method} ${request.path}`,
    api: request && api && `${api}/${request.stageName ?? ''}`,
    identity: found
      ? `client ${found.id}, by its ${shown}`
      : `address ${request?.sourceIp ?? 'unknown'}${shown ? `, because its ${shown} is unknown` : ''}`,
    tier: plans.tier ? scopedName(plans.tier.name, plans.tier.scope) : (context?.tier ?? ''),
    route: plans.routes || undefined,
    policies: plans.policies,
    context: context ?? undefined,
    unverified,
    logged,
  }
}

/** Remembers which plan was asked for. */
class ObservedPlans extends Plans {
  tier: Tier | undefined
  routes = ''
  policies: readonly string[] = []

  override planFor(configuration: Configuration, tier: Tier | undefined, rules: Rules, client?: Client) {
    const plan = super.planFor(configuration, tier, rules, client)
    this.tier = tier
    this.routes = rules.routes.map(({ pattern, scope }) => scopedName(pattern.text, scope)).join(', ')
    this.observe(plan)
    return plan
  }

  override preflightPlan(configuration: Configuration) {
    const plan = super.preflightPlan(configuration)
    this.observe(plan)
    return plan
  }

  private observe({ groups }: Plan): void {
    this.policies = groups.flatMap(({ policies }) => policies.map(({ name }) => name))
  }
}

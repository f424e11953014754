import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { apiOf, makeDecider } from '../../lambda/authorize'
import { Plans } from '../../lambda/charge-plans'
import { Clients } from '../../lambda/config-table/clients'
import { PolicySets } from '../../lambda/config-table/configuration'
import { HmacKeys } from '../../lambda/config-table/hmac-keys'
import type { Client } from '../../lambda/config-table/items/client-item'
import { scopedName } from '../../lambda/config-table/items/scopes'
import { LastValid } from '../../lambda/config-table/last-valid'
import { lazyVerifiers } from '../../lambda/identity/load-verifier'
import { Sources } from '../../lambda/identity/sources'
import type { RequestTrace } from '../../lambda/request-trace'
import { type AuthorizerContext, toContext } from '../../lambda/responses/context'
import { EVENTS } from '../../lambda/telemetry/events'
import type { Log } from '../../lambda/telemetry/log'
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

/** Has the authorizer's own steps decide about an event, with a limiter that charges nothing. */
export async function decideEvent(
  event: unknown,
  { client, configTable, limiter, clock, ipv6Prefix }: Deciding,
): Promise<EventDecision> {
  const logged: string[] = []
  const log: Log = (_level, event, details = {}) =>
    void logged.push(`${event}: ${EVENTS[event]} ${JSON.stringify(details)}`)
  const reading = {
    client,
    tableName: configTable,
    clock,
    log,
    ttlMs: 60_000,
    negativeTtlMs: 60_000,
    deadlineMs: DEADLINE_MS,
  }
  const lastValid = new LastValid(reading)
  const decide = makeDecider({
    limiter: { decide: (charges) => limiter.peek(charges) },
    // read only: nothing is written
    configuration: new PolicySets({ ...reading, lastValid: { read: () => lastValid.read(), keep: async () => {} } }),
    subjectKeys: new HmacKeys(reading),
    plans: new Plans(log),
    clients: new Clients(reading),
    sources: new Sources(lazyVerifiers(clock), DEADLINE_MS),
    clock,
    wait: async () => {}, // an event is explained, not delayed
    log,
    ipv6Prefix,
    failOpen: false,
  })
  const trace = await decide(event)
  const { request, tier, rules, plan, outcome } = trace
  const context = toContext({ ...outcome, now: trace.now })
  const isBare = request && request.api !== 'http' && ['unauthorized', 'unverified'].includes(context.reason)
  const api = apiOf(trace)
  const routes = rules?.routes.map(({ pattern, scope }) => scopedName(pattern.text, scope)).join(', ')
  return {
    request: request && `${request.method} ${request.path}`,
    api: api && `${api}/${request?.stageName ?? ''}`,
    identity: identityText(trace),
    tier: tier ? scopedName(tier.name, tier.scope) : context.tier,
    route: routes || undefined,
    policies: plan?.groups.flatMap(({ policies }) => policies.map(({ name }) => name)) ?? [],
    context: isBare ? undefined : context,
    unverified: isBare === true && context.reason === 'unverified',
    logged,
  }
}

/** `client acme, by its API key`, or the address of an anonymous caller. */
function identityText({ request, identity }: RequestTrace): string {
  const { credential, client } = (identity ?? {}) as { readonly credential?: string; readonly client?: Client }
  const shown = credential?.includes(':') ? credential.split(':', 1)[0] : credential && 'API key'
  if (client) return `client ${client.id}, by its ${shown}`
  return `address ${request?.sourceIp ?? 'unknown'}${shown ? `, because its ${shown} is unknown` : ''}`
}

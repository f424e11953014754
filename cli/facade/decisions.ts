/** How the authorizer decides about a request, what it found on the way, and what the limits said. */

import type { AuthorizerParts } from '../../lambda/authorizer-parts'
import { Plans } from '../../lambda/charge-plans'
import { Clients } from '../../lambda/config-table/clients'
import { PolicySets } from '../../lambda/config-table/configuration'
import { KeyRings } from '../../lambda/config-table/key-rings'
import { LastValid } from '../../lambda/config-table/last-valid'
import { parseConfig } from '../../lambda/environment'
import { lazyVerifiers } from '../../lambda/identity/load-verifier'
import { Sources } from '../../lambda/identity/sources'
import { EVENTS } from '../../lambda/telemetry/events'
import type { Log } from '../../lambda/telemetry/log'
import type { Clock } from '../../limiter/clock'
import { RateLimiter } from '../../limiter/rate-limiter'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import type { StateStore } from '../../limiter/stores/store'

export { apiOf, contextOf, makeDecider } from '../../lambda/authorize'
export type { AuthorizerParts } from '../../lambda/authorizer-parts'
export { type Holding, Plan, type PlanGroup, Plans } from '../../lambda/charge-plans'
export { NO_FACTS, unitsFor } from '../../lambda/cost'
export type { SourceList } from '../../lambda/identity/sources'
export { knownIn, type RequestTrace, type TraceWith } from '../../lambda/request-trace'
export type { AuthorizerContext, Outcome } from '../../lambda/responses/context'
export { fromEvent, type GatewayRequest } from '../../lambda/responses/request'
export { type Rules, rulesOf, rulesOfRoute } from '../../lambda/rules'
export {
  type Assembled,
  checkAddress,
  matchRoutes,
  type OwnSteps,
  planCharges,
  planPreflight,
  selectTier,
} from '../../lambda/steps'
export { type CompiledPolicy, distinct, idOf, isFair } from '../../limiter/compiled-policy'
export type { Decision } from '../../limiter/decision'
export type { Charge, RateLimiter } from '../../limiter/rate-limiter'
export { type Counting, costNames, takenFrom, type Units } from '../../limiter/request'

/** What the authorizer works on, and how it is asked. */
export interface Deciding {
  readonly client: Parameters<typeof sdkCalls>[0]
  readonly configTable: string
  readonly limiter: Pick<RateLimiter, 'peek'>
  readonly clock: Clock
  readonly ipv6Prefix: number
}

/** The parts of an authorizer, and what it logs. */
export interface ReadOnlyParts extends AuthorizerParts {
  readonly logged: readonly string[]
}

/** Time for one look at a table that may be far away, in milliseconds. */
const DEADLINE_MS = 10_000

/** A limiter for single questions: it fails where it cannot ask the store, and remembers no denial. */
export const limiterOver = (store: StateStore, clock: Clock): RateLimiter =>
  new RateLimiter({ store, clock, deadlineMs: DEADLINE_MS, denialTtlMs: 0, onStoreError: 'throw' })

/** The bits of an IPv6 address that tell callers apart, as the function would read them from this environment. */
export const ipv6PrefixOf = ({ SLUICE_IPV6_PREFIX }: Readonly<Record<string, string | undefined>>): number =>
  parseConfig({ SLUICE_STATE_TABLE: 'any', SLUICE_CONFIG_TABLE: 'any', SLUICE_IPV6_PREFIX }).ipv6Prefix

/** The parts of a new instance of the authorizer that charges and writes nothing. */
export function readOnlyParts({ client, configTable, limiter, clock, ipv6Prefix }: Deciding): ReadOnlyParts {
  const logged: string[] = []
  const log: Log = (_level, event, details = {}) =>
    void logged.push(`${event}: ${EVENTS[event]} ${JSON.stringify(details)}`)
  const reading = {
    calls: sdkCalls(client),
    tableName: configTable,
    clock,
    log,
    ttlMs: 60_000,
    negativeTtlMs: 60_000,
    deadlineMs: DEADLINE_MS,
  }
  const lastValid = new LastValid(reading)
  return {
    limiter: { decide: (charges) => limiter.peek(charges) },
    configuration: new PolicySets({ ...reading, lastValid: { read: () => lastValid.read(), keep: async () => {} } }),
    subjectKeys: new KeyRings(reading).subjectKeys,
    plans: new Plans(log),
    clients: new Clients(reading),
    sources: new Sources(lazyVerifiers(clock), DEADLINE_MS),
    clock,
    wait: async () => {}, // a request is explained, not delayed
    log,
    logged,
    ipv6Prefix,
    failOpen: false,
  }
}

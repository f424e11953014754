/** How the authorizer decides about a request, and what it found on the way. */

export { apiOf, contextOf, makeDecider } from '../../lambda/authorize'
export type { AuthorizerParts } from '../../lambda/authorizer-parts'
export { type Holding, Plan, type PlanGroup, Plans } from '../../lambda/charge-plans'
export { Clients } from '../../lambda/config-table/clients'
export { KeyRings } from '../../lambda/config-table/key-rings'
export { LastValid } from '../../lambda/config-table/last-valid'
export { NO_FACTS, unitsFor } from '../../lambda/cost'
export { parseConfig } from '../../lambda/environment'
export { lazyVerifiers } from '../../lambda/identity/load-verifier'
export { type SourceList, Sources } from '../../lambda/identity/sources'
export { knownIn, type RequestTrace, type TraceWith } from '../../lambda/request-trace'
export type { AuthorizerContext, Outcome } from '../../lambda/responses/context'
export { fromEvent, type GatewayRequest } from '../../lambda/responses/request'
export { type Rules, rulesOf, rulesOfRoute } from '../../lambda/rules'
export {
  type Assembled,
  checkAddress,
  inputsOf,
  matchRoutes,
  type OwnSteps,
  planCharges,
  planPreflight,
  selectTier,
} from '../../lambda/steps'
export { EVENTS } from '../../lambda/telemetry/events'
export type { Log } from '../../lambda/telemetry/log'
export type { ItemCalls } from '../../limiter/stores/item-calls'

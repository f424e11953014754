/**
 * The authorizer's tiers, routes and identities for programs that have no API Gateway in front.
 *
 * @module sluice/tiered
 */
import '../limiter/stores/both-builds'

export type { AuthorizerContext, DecisionContext, NamedCosts, Reason } from '../lambda/responses/context'
export { createConfigTable } from './create-config-table'
export { createTieredLimiter, type TieredLimiterOptions } from './create-tiered-limiter'
export type { MessageDenial } from './message-denial'
export type { MessageOptions, TieredDecision, TieredLimiter } from './tiered-decision'
export type { Caller, NamedValues, TieredRequest } from './tiered-request'
export type { TieredSettings, TiersInProgram } from './tiered-settings'
export {
  type Connections,
  type DeniedMessage,
  type MessageLimitOptions,
  withMessageLimit,
} from './with-message-limit'

/**
 * Constructs for the AWS CDK.
 *
 * @module sluice
 */

export type { Dimension } from '../lambda/config-table/items/dimension'
export type { JwtSettingsInput, RoleTier } from '../lambda/config-table/items/jwt-settings-input'
export { ConfigError, Mistake, type MistakeCode } from '../limiter/errors'
export type { RegionShares } from '../provisioning/shares-by-region'
export { accessLogFormat } from './access-log-format'
export type { AuthorizerFunctionOptions } from './authorizer-options'
export type { ConcurrencyAlarms, ConcurrencyAlarmsOptions } from './concurrency'
export { type AddressSource, type IdentitySource, jwt, type TrustedValueSource } from './identity'
export type { DecisionMetricOptions, LimiterMetrics } from './limiter-metrics'
export type { LimiterTablesOptions } from './limiter-tables'
export type { HttpApiProtection, ProtectHttpApiOptions } from './protect/http-api'
export type { AttachToOptions, ImportedRestApiProtection } from './protect/imported-rest-api'
export type { ProtectRestApiOptions, RestApiProtection } from './protect/rest-api'
export type { SelectionOptions } from './protect/selection'
export type { ProtectSpecRestApiOptions, SpecRestApiProtection } from './protect/spec-rest-api'
export type { UnprotectOptions } from './protect/unprotect'
export type { ProtectWebSocketApiOptions, WebSocketApiProtection } from './protect/websocket-api'
export { RateLimiter } from './rate-limiter'
export type { RateLimiterProps } from './rate-limiter-props'
export type { ReleaseOptions } from './release'
export type { DeletionGuardOptions } from './seed/deletion-guard'
export type { LabelOptions } from './seed/label-resource'
export type { SharedRateLimiter, SharedRateLimiterOptions } from './shared-limiter'
export type { OtherAccounts } from './sharing'
export type {
  CostProp,
  CountedByProp,
  RouteProps,
  RunningPolicyProps,
  SharedPolicyProps,
  TierPolicyProps,
  TierProps,
  TiersInCode,
  WindowPolicyProps,
} from './tiers-props'
export type { AlarmName } from './watch/alarm-set'
export type { DeniedCallersRule } from './watch/denied-callers-rule'
export type { LimiterAlarms, LimiterAlarmsOptions } from './watch/limiter-alarms'
export type { LimiterDashboard, LimiterDashboardOptions } from './watch/limiter-dashboard'
export type { LimiterQueries } from './watch/limiter-queries'
export type { NearingRule, NearingRuleOptions } from './watch/nearing-rule'
export type { WatchedLimiter } from './watched-limiter'

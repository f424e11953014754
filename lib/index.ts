/** `sluice`: constructs for the AWS CDK. */
export { ConfigError } from '../lambda/errors'
export type { AuthorizerFunctionOptions } from './authorizer-function'
export type { LimiterTablesOptions } from './limiter-tables'
export type { HttpApiProtection, ProtectHttpApiOptions } from './protect/http-api'
export type { ProtectRestApiOptions, RestApiProtection } from './protect/rest-api'
export type { WebSocketApiProtection } from './protect/websocket-api'
export { RateLimiter, type RateLimiterProps } from './rate-limiter'

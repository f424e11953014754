/**
 * For the functions behind an API that Sluice protects. It has no dependencies, and needs no AWS SDK.
 *
 * @module sluice/backend
 */
export { headersFromContext } from '../lambda/responses/backend-headers'
export type { UsedUnits } from '../limiter/options'
export { type RateLimitMiddleware, type RateLimitOptions, rateLimit } from './middleware'
export type { TooManyRequests } from './responses'
export { type CostNow, handOn, reportCost, type SettleOptions } from './settling'
export { type BackendOptions, type Handler, type WithRateLimitOptions, withRateLimit } from './with-rate-limit'

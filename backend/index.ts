/**
 * For the functions behind an API that Sluice protects. It has no dependencies.
 *
 * @module sluice/backend
 */
export { headersFromContext } from '../lambda/responses/backend-headers'
export { type RateLimitMiddleware, rateLimit } from './middleware'
export type { TooManyRequests } from './responses'
export { type BackendOptions, type Handler, type WithRateLimitOptions, withRateLimit } from './with-rate-limit'

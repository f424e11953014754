/**
 * Rate limiting in Express, Fastify, Hono and Koa. It depends on none of them.
 *
 * @module sluice/middleware
 */
import '../limiter/stores/both-builds'

export { decisionOf } from './decisions'
export { expressRateLimit } from './express'
export { fastifyRateLimit } from './fastify'
export { honoRateLimit } from './hono'
export { koaRateLimit } from './koa'
export type { Limits, RequestLimits, TieredLimits } from './limits'
export type { ByRequest, RateLimitOptions } from './options'
export type { RequestReservation } from './reservation'
export { reservationOf } from './reservation-of'

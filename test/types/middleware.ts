/**
 * Each framework hands its own request to what is asked of it, and takes its own middleware only; the store is one of
 * express-rate-limit. Checked by `npm run typecheck`, with the compiler's messages, and never run.
 */
import express from 'express'
import type { Store } from 'express-rate-limit'
import fastify, { type FastifyRequest } from 'fastify'
import { type Context, Hono } from 'hono'
import Koa from 'koa'
import { ExpressRateLimitStore } from 'sluice/express-rate-limit'
import { createLimiter, MemoryStore } from 'sluice/limiter'
import { expressRateLimit, fastifyRateLimit, honoRateLimit, koaRateLimit } from 'sluice/middleware'

const limiter = createLimiter({ store: new MemoryStore(), policies: [{ name: 'a', limit: 1, window: '1m' }] })

express().use(expressRateLimit({ limiter, keyBy: (req) => req.get('x-user') }))
fastify().addHook('onRequest', fastifyRateLimit({ limiter, keyBy: (request: FastifyRequest) => request.hostname }))
new Hono().use(honoRateLimit({ limiter, keyBy: (c: Context) => c.req.header('x-user') }))
new Koa().use(koaRateLimit({ limiter, keyBy: (ctx: Koa.Context) => ctx.get('x-user') }))
// @ts-expect-error: Property 'user' does not exist on type 'Request<
express().use(expressRateLimit({ limiter, keyBy: (req) => req.user }))
// @ts-expect-error: '(ctx: KoaContext, next: () => Promise<unknown>) => Promise<void>' is not assignable
express().use(koaRateLimit({ limiter }))

/** What `rateLimit` of the package takes. */
export const store: Store = new ExpressRateLimitStore({ store: new MemoryStore() })

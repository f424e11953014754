import { once } from 'node:events'
import { Agent, createServer, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parse } from 'node:querystring'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'

/** What a backend reads as the parameters `rows` and `page[size]`; `undefined` where it refuses the request. */
export type Reading = { readonly rows?: unknown; readonly size?: unknown } | undefined

/** What a backend reads in requests, each the target of a `GET`: a path and a query, as a client sends them. */
export type QueryParser = (targets: readonly string[]) => Promise<readonly Reading[]>

/** Their types are those of the present versions. */
const express4 = require('express4') as typeof express
const fastify4 = require('fastify4') as () => FastifyInstance

type Values = Readonly<Record<string, unknown>>

const flat = (query: Values): Reading => ({ rows: query.rows, size: query['page[size]'] })
const nested = (query: Values): Reading => ({ rows: query.rows, size: (query.page as Values | undefined)?.size })

/** Parsers of backends in Node, as they come and with the options that change what a name is. */
export const PARSERS: Readonly<Record<string, QueryParser>> = {
  'Express 4 (qs)': served(() => withExpress(express4(), nested)),
  'Express 4, simple': served(() => withExpress(express4().set('query parser', 'simple'), flat)),
  'Express 5': served(() => withExpress(express(), flat)),
  'Express 5, extended (qs)': served(() => withExpress(express().set('query parser', 'extended'), nested)),
  'Fastify 4': served(() => withFastify(fastify4())),
  'Fastify 5': served(() => withFastify(fastify())),
  'Fastify 5 with semicolons': served(() =>
    withFastify(fastify({ routerOptions: { useSemicolonDelimiter: true } as object })),
  ),
  Koa: served(() =>
    new Koa()
      .use((context) => {
        if (context.path === '/reports') context.body = flat(context.query)
      })
      .callback(),
  ),
  Hono: served(withHono),
  'WHATWG URL': served(() => (incoming, response) => {
    const { pathname, searchParams } = new URL(incoming.url!, 'http://backend.example')
    if (pathname !== '/reports') return void response.writeHead(404).end()
    const all = (name: string) => (searchParams.has(name) ? searchParams.getAll(name) : undefined)
    response.end(JSON.stringify({ rows: all('rows'), size: all('page[size]') }))
  }),
  'node:querystring': pure((query) => flat(parse(query))),
  'node:querystring with semicolons': pure((query) => flat(parse(query.replaceAll(';', '&')))),
  'URLSearchParams, the last one': pure((query) => flat(Object.fromEntries(new URLSearchParams(query)))),
}

const withExpress = (app: express.Express, read: (query: Values) => Reading): RequestListener => {
  app.get('/reports', (asked, response) => void response.json(read(asked.query)))
  return app
}

async function withFastify(app: FastifyInstance): Promise<RequestListener> {
  app.get('/reports', async (asked) => flat(asked.query as Values))
  await app.ready()
  return (incoming, response) => app.routing(incoming, response)
}

function withHono(): RequestListener {
  const app = new Hono()
  app.get('/reports', (context) => {
    const all = (name: string) =>
      context.req.query(name) === undefined ? undefined : [context.req.query(name), context.req.queries(name)]
    return context.json({ rows: all('rows'), size: all('page[size]') })
  })
  return getRequestListener(app.fetch)
}

/** What reads the text behind the first question mark. */
function pure(read: (query: string) => Reading): QueryParser {
  return async (targets) =>
    targets.map((target) => {
      const [path, ...query] = target.split('?')
      return path === '/reports' ? read(query.join('?')) : undefined
    })
}

/** What reads requests that arrive by HTTP. */
function served(listener: () => RequestListener | Promise<RequestListener>): QueryParser {
  return async (targets) => {
    const server = createServer(await listener()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const agent = new Agent({ keepAlive: true, maxSockets: 4 })
    const { port } = server.address() as AddressInfo
    try {
      return await Promise.all(targets.map((path) => readBy({ host: '127.0.0.1', port, path, agent })))
    } finally {
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** What the server answers at this address; `undefined` where it refuses the request. */
export async function readBy(options: object): Promise<Reading> {
  const [response] = await once(request(options).end(), 'response')
  let body = ''
  for await (const chunk of response) body += chunk
  return response.statusCode === 200 ? JSON.parse(body) : undefined
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Api, type GatewayResponse, isUnauthorized, jsonResponse } from './api'
import { type Authorize, AuthorizerError } from './authorizer'
import type { Backend } from './backend'
import { type IncomingRequest, toIncomingRequest } from './incoming-request'
import { type LoopbackServer, listenOnLoopback } from './loopback-server'

export interface GatewayOptions {
  readonly api: Api
  readonly authorize: Authorize
  readonly backend: Backend
  /** 0 picks a free one. */
  readonly port: number
  /** Gets the reason for each 5xx response. */
  readonly log: (text: string) => void
}

/** @see https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html */
const MAX_BODY_BYTES = 10 * 1024 * 1024

/**
 * API Gateway in front of a sample backend: calls the authorizer for every request, and the backend only for allowed
 * ones. A REST API has `OPTIONS` methods of its own, which have no authorizer; on an HTTP API the `$default` route
 * handles them like all other methods.
 *
 * `GET /_local/backend-calls` is the gateway's own: neither authorized nor counted.
 */
export function startGateway(options: GatewayOptions): Promise<LoopbackServer> {
  return listenOnLoopback(options.port, (incoming, response) => {
    serve(incoming, response, options).catch((error: unknown) => {
      if (incoming.destroyed && !incoming.complete) return // the client went away
      options.log(`gateway: ${error instanceof Error ? error.stack : error}\n`)
      if (!response.headersSent) send(response, jsonResponse(500, { message: 'Internal server error' }))
    })
  })
}

async function serve(incoming: IncomingMessage, response: ServerResponse, options: GatewayOptions): Promise<void> {
  const request = toIncomingRequest(incoming)
  const fits = await readAway(incoming)
  const answer = fits ? await respond(request, options) : jsonResponse(413, { message: 'Request Too Long' })
  send(response, { ...answer, headers: { ...answer.headers, ...options.api.identify(request) } })
}

async function respond(
  request: IncomingRequest,
  { api, authorize, backend, log }: GatewayOptions,
): Promise<GatewayResponse> {
  if (request.method === 'OPTIONS' && api.name === 'rest') return PREFLIGHT
  if (request.method === 'GET' && request.path === '/_local/backend-calls') return jsonResponse(200, backend.calls())
  try {
    const outcome = api.outcome(await authorize(api.authorizerEvent(request)), request)
    return outcome.allowed ? backend.handle(request.route, outcome.event) : outcome.response
  } catch (error) {
    if (!isUnauthorized(error)) log(`authorizer: ${error instanceof AuthorizerError ? error.trace : error}\n`)
    return api.failure(error)
  }
}

/** The answer of the mock integration of a CORS `OPTIONS` method, which has no authorizer. */
const PREFLIGHT: GatewayResponse = {
  statusCode: 204,
  headers: {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': 'GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS',
    'Access-Control-Allow-Headers': 'Content-Type,Authorization,X-Api-Key',
  },
  body: '',
}

/**
 * Reads and drops the body. Neither the authorizer nor the sample backend needs it, but the connection cannot be used
 * again before it is read.
 */
async function readAway(incoming: IncomingMessage): Promise<boolean> {
  let bytes = 0
  for await (const chunk of incoming) bytes += (chunk as Buffer).length
  return bytes <= MAX_BODY_BYTES
}

function send(response: ServerResponse, { statusCode, headers, body }: GatewayResponse): void {
  response.writeHead(statusCode, {
    ...headers,
    ...(statusCode !== 204 && { 'Content-Length': Buffer.byteLength(body) }),
  })
  response.end(body)
}

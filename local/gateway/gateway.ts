import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../limiter/clock'
import type { LocalPages } from '../console/pages'
import { AccessLog } from './access-log'
import { type Api, failureType, type GatewayError, type GatewayResponse, isUnauthorized, jsonResponse } from './api'
import { type Authorize, AuthorizerError } from './authorizer'
import type { Backend } from './backend'
import { BackendCalls } from './backend-calls'
import type { Decided } from './decided'
import { foreignHost } from './guard'
import { type IncomingRequest, toUnroutedRequest, type UnroutedRequest } from './incoming-request'
import { type LoopbackServer, listenOnLoopback } from './loopback-server'
import { ownAnswer } from './own-answers'
import { RecentDenials } from './recent-denials'
import { matchSample, type RouteMatch, type Router, routeKey } from './routes'
import { dropBody, MAX_BODY_BYTES, send, TOO_LONG } from './send'

export interface GatewayOptions {
  readonly api: Api
  readonly authorize: Authorize
  readonly backend: Backend
  /** @default the routes of the sample API, whose `OPTIONS` methods are mocks */
  readonly router?: Router
  /** 0 picks a free one. */
  readonly port: number
  /** Gets the reason for each 5xx response. */
  readonly log: (text: string) => void
  /** Gets each decision when the head of its response is sent. */
  readonly decided?: (decided: Decided) => void
  /** What `GET /_local/gateway` answers: where the command line finds the tables. @default nothing */
  readonly about?: object
  /** Counts what reaches the backend. @default one that only `GET /_local/backend-calls` shows */
  readonly calls?: BackendCalls
  /** Gets each line of the access log. @default the last ones are only kept for `/_local/access-log` */
  readonly accessLog?: (line: string) => void
  /** The clock for requests. @default the system's time */
  readonly clock?: Clock
  /** Pages beside the API. @default none */
  readonly pages?: LocalPages
  /** Host names other than this machine's under which it may be called. @default none */
  readonly allowHosts?: readonly string[]
}

/**
 * API Gateway in front of a backend: calls the authorizer for every request, and the backend only for allowed ones.
 *
 * Every request must name this machine, or a name of `allowHosts`: the backend gets another `Host`, and could not check
 * the client's. `GET` of `/_local/backend-calls`, `/_local/denials`, `/_local/access-log` and `/_local/gateway` is its
 * own: neither authorized nor counted nor logged, and, like its pages, refused to pages of another origin. An `OPTIONS`
 * method that the API names has no authorizer, as constructs and `sluice attach` leave it; on a REST API with the
 * sample routes it is a mock.
 */
export function startGateway(options: GatewayOptions): Promise<LoopbackServer> {
  const records = {
    calls: options.calls ?? new BackendCalls(),
    denials: new RecentDenials(),
    accessLog: new AccessLog(options.accessLog),
  }
  return listenOnLoopback(options.port, (incoming, response) => {
    serve(incoming, response, options, records).catch((error: unknown) => {
      if (isClientGone(incoming, response)) return
      options.log(`gateway: ${error instanceof Error ? error.stack : error}\n`)
      if (response.headersSent) response.destroy()
      else send(response, jsonResponse(500, { message: 'Internal server error' }))
    })
  })
}

/** A gateway's records of its requests. */
interface Records {
  readonly calls: BackendCalls
  readonly denials: RecentDenials
  readonly accessLog: AccessLog
}

const isClientGone = (incoming: IncomingMessage, response: ServerResponse): boolean =>
  response.destroyed || (incoming.destroyed && !incoming.complete)

async function serve(
  incoming: IncomingMessage,
  response: ServerResponse,
  options: GatewayOptions,
  records: Records,
): Promise<void> {
  const { api, pages, clock = Date.now, allowHosts = [] } = options
  const unrouted = toUnroutedRequest(incoming, clock)
  const { path, receivedAt } = unrouted
  const headers = api.identify(unrouted)
  const answer = async (made: GatewayResponse) => {
    await dropBody(incoming, response)
    send(response, { ...made, headers: { ...made.headers, ...headers } })
  }

  const foreign = foreignHost(incoming, allowHosts)
  if (foreign) return answer(jsonResponse(foreign.statusCode, { message: foreign.message }))
  const own = answerOf(incoming, unrouted, options, records)
  if (own !== undefined) return answer(own)
  if (pages?.serve(incoming, response, path)) return

  const exchange: Exchange = { incoming, response, unrouted, headers, answer }
  let waiting = 2 // for the authorizer's answer, even if the client has left, and for the end of the response
  const ended = () => {
    if (--waiting > 0) return
    const { match, error, context } = exchange
    const status = response.headersSent ? response.statusCode : undefined
    const variables = api.logVariables({ ...unrouted, ...match })
    records.accessLog.add({ receivedAt, status, durationMs: clock() - receivedAt, error, context, variables })
  }
  response.once('close', ended)
  await serveApi(exchange, options, records).finally(ended)
}

/** A request to the API, and its result. */
interface Exchange {
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly unrouted: UnroutedRequest
  /** The headers that every response has. */
  readonly headers: Readonly<Record<string, string>>
  answer(made: GatewayResponse): Promise<void>
  match?: RouteMatch
  error?: GatewayError
  context?: Decided['context']
}

async function serveApi(exchange: Exchange, options: GatewayOptions, records: Records): Promise<void> {
  const { api, backend, router = matchSample, decided = () => {} } = options
  const { incoming, response, unrouted, headers, answer } = exchange
  const { method, path } = unrouted
  if (method === 'OPTIONS' && api.name === 'rest' && options.router === undefined) return answer(PREFLIGHT)
  const match = router(method, path)
  if (match === undefined) {
    exchange.error = api.noRoute.error
    return answer(api.noRoute)
  }
  exchange.match = match
  const request: IncomingRequest = { ...unrouted, ...match }
  const pass = async (event: object, context: Readonly<Record<string, unknown>>) => {
    records.calls.add(routeKey(request.route))
    await backend.serve({ incoming, response, request, event: event as never, context, headers })
  }
  if (request.route.method === 'OPTIONS') return pass(api.authorizerEvent(request), {})

  const outcome = await decide(request, options)
  const { context } = outcome
  exchange.context = context
  if (!outcome.allowed) exchange.error = outcome.error
  const about = { id: request.id, method, path, route: request.route.resource, ...(context && { context }) }
  // whether the client waits for the answer or not
  records.denials.add({ ...about, status: outcome.allowed ? 200 : outcome.response.statusCode })
  if (outcome.allowed) await pass(outcome.event, outcome.context)
  else await answer(outcome.response)
  decided({ ...about, status: response.statusCode })
}

/** The meaning of the authorizer's answer; a denial without a context if it is missing or invalid. */
async function decide(request: IncomingRequest, { api, authorize, log }: GatewayOptions) {
  try {
    const outcome = api.outcome(await authorize(api.authorizerEvent(request)), request)
    return outcome.allowed ? outcome : ({ ...outcome, error: 'ACCESS_DENIED' } as const)
  } catch (error) {
    if (!isUnauthorized(error)) log(`authorizer: ${error instanceof AuthorizerError ? error.trace : error}\n`)
    return { allowed: false, context: undefined, response: api.failure(error), error: failureType(error) } as const
  }
}

/** The gateway's own answer, without a route or an authorizer; `undefined` for all other requests. */
function answerOf(
  incoming: IncomingMessage,
  { path, rawQuery }: UnroutedRequest,
  { about = {}, allowHosts = [] }: GatewayOptions,
  records: Records,
): GatewayResponse | undefined {
  const { headers } = incoming
  if (Number(headers['content-length']) > MAX_BODY_BYTES) return TOO_LONG
  if (headers.upgrade?.toLowerCase() === 'websocket') return NO_WEBSOCKETS
  return ownAnswer(incoming, path, rawQuery, { ...records, about, allowHosts })
}

const NO_WEBSOCKETS = jsonResponse(501, {
  message: 'this is not a WebSocket API: start another gateway with --api websocket, or connect to the backend itself',
})

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

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../limiter/clock'
import { AccessLog, type Answered } from '../gateway/access-log'
import { jsonResponse } from '../gateway/api'
import type { Authorize } from '../gateway/authorizer'
import { BackendCalls } from '../gateway/backend-calls'
import type { Decided } from '../gateway/decided'
import { foreignHost } from '../gateway/guard'
import { toUnroutedRequest } from '../gateway/incoming-request'
import { type LoopbackServer, listenOnLoopback } from '../gateway/loopback-server'
import { RecentDenials } from '../gateway/recent-denials'
import { send } from '../gateway/send'
import { StartError } from '../start-error'
import type { RouteResponse, WebSocketBackend } from './backends'
import { decideConnect } from './connect-decision'
import { answerConnections } from './connections'
import {
  authorizerEvent,
  type Connection,
  connectEvent,
  type LoggedEvent,
  type Occasion,
  routeEvent,
  STAGE,
} from './events'
import { connectionOf, isHandshake, refuseUpgrade } from './handshake'
import { ABNORMAL, GOING_AWAY, MAX_MESSAGE_BYTES, type OpenConnection, UNSUPPORTED_DATA } from './open-connection'
import type { SelectRoute } from './route-selection'

export interface WebSocketGatewayOptions {
  readonly authorize: Authorize
  readonly backend: WebSocketBackend
  readonly selectRoute: SelectRoute
  /** 0 picks a free one. */
  readonly port: number
  /** Gets the reason for each failure of the authorizer or the backend. */
  readonly log: (text: string) => void
  /** Gets each decision about a connection, and each message with the status that its route returned. */
  readonly decided?: (decided: Decided) => void
  /** Gets each line of the access log. @default the last ones are only kept for `GET /_local/access-log` */
  readonly accessLog?: (line: string) => void
  /** The clock for connections and messages. @default the system's time */
  readonly clock?: Clock
  /** What `GET /_local/gateway` answers. @default nothing */
  readonly about?: object
  /** Host names other than this machine's under which it may be called. @default none */
  readonly allowHosts?: readonly string[]
}

/** @throws StartError if the WebSocket package is not installed. */
export function assertWs(): void {
  try {
    require.resolve('ws')
  } catch {
    throw new StartError('the package ws is not installed: npm install --save-dev ws')
  }
}

/**
 * A WebSocket API of API Gateway in front of a function: the authorizer is called for each connection, and the function
 * gets all of its events. What a route returns as `body` goes to the client, as with a route response.
 */
export async function startWebSocketGateway(options: WebSocketGatewayOptions): Promise<LoopbackServer> {
  const { about = {}, allowHosts = [], clock = Date.now } = options
  const { WebSocketServer } = await import('ws')
  const open = new Map<string, OpenConnection>()
  const calls = new BackendCalls()
  const denials = new RecentDenials()
  const accessLog = new AccessLog(options.accessLog)
  const protocols = new WeakMap<IncomingMessage, string>()
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: (_, request) => protocols.get(request) ?? false,
  })

  async function connect(incoming: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const request = toUnroutedRequest(incoming, clock)
    const connection = connectionOf(request, incoming)
    const refuse = (status: number, message: string) => {
      const body = JSON.stringify({ message, connectionId: connection.id, requestId: request.id })
      refuseUpgrade(socket, status, body)
    }
    const foreign = foreignHost(incoming, allowHosts)
    if (foreign) return refuse(foreign.statusCode, foreign.message)
    if (!isHandshake(incoming)) return refuse(400, 'Bad Request')
    if (request.path !== '/' && request.path !== `/${STAGE}`) return refuse(403, 'Forbidden')
    const decision = await decideConnect(request, connection, options)
    const report = (status: number) => {
      const { context } = decision
      const one = { method: 'GET', path: '$connect', route: '$connect', status, ...(context && { context }) }
      denials.add(one)
      logged(authorizerEvent(request, connection), { status, error: decision.error, context })
      options.decided?.(one)
    }
    if (decision.refused) {
      refuse(...decision.refused)
      return report(decision.refused[0])
    }
    const { authorizer } = decision
    const { statusCode = 200, headers = {} } = await call(connectEvent(request, { ...connection, authorizer }), {
      statusCode: 500,
    })
    if (!(statusCode >= 200 && statusCode <= 299)) {
      const status = statusCode >= 400 && statusCode <= 599 ? statusCode : 502
      refuse(status, status < 500 ? 'Forbidden' : 'Internal server error')
      return report(status)
    }
    const protocol = Object.entries(headers).find(([name]) => /^sec-websocket-protocol$/i.test(name))?.[1]
    if (protocol !== undefined) protocols.set(incoming, String(protocol))
    if (socket.destroyed) {
      logged(authorizerEvent(request, connection), { context: decision.context })
      return ended({ ...connection, authorizer }, { code: ABNORMAL, reason: '' })
    }
    sockets.handleUpgrade(incoming, socket, head, (opened) => {
      report(101)
      accept({ ...connection, authorizer, socket: opened, lastActiveAt: Date.now() })
    })
  }

  function accept(connection: OpenConnection): void {
    const { id, socket } = connection
    open.set(id, connection)
    const handle = (work: Promise<void>) => work.catch((error: unknown) => options.log(`gateway: ${error}\n`))
    socket.on('error', () => {}) // 'close' follows
    socket.on('message', (data, isBinary) => {
      connection.lastActiveAt = Date.now()
      if (isBinary) socket.close(UNSUPPORTED_DATA)
      else handle(receive(connection, String(data)))
    })
    socket.on('close', (code, reason) => {
      open.delete(id)
      handle(ended(connection, { code, reason: String(reason) }))
    })
  }

  async function ended(connection: Connection, closed: { readonly code: number; readonly reason: string }) {
    const event = eventOf(connection, 'DISCONNECT', '$disconnect', { at: clock(), closed })
    const { statusCode: status = 200 } = await call(event, { statusCode: 500 })
    logged(event, { status, context: connection.authorizer })
  }

  async function receive(connection: OpenConnection, body: string): Promise<void> {
    const routeKey = options.selectRoute(body)
    const event = eventOf(connection, 'MESSAGE', routeKey, { at: clock(), body })
    const { requestId } = event.requestContext
    const failed = { message: 'Internal server error', connectionId: connection.id, requestId }
    const answer = await call(event, { statusCode: 500, body: JSON.stringify(failed) })
    const { statusCode: status = 200 } = answer
    logged(event, { status, context: connection.authorizer })
    options.decided?.({ method: 'MESSAGE', path: routeKey, status })
    if (typeof answer.body === 'string' && answer.body !== '') connection.socket.send(answer.body)
  }

  function logged({ requestContext }: LoggedEvent, answered: Pick<Answered, 'status' | 'error' | 'context'>) {
    const { requestTimeEpoch: receivedAt } = requestContext
    const variables = { ...requestContext, 'identity.sourceIp': requestContext.identity.sourceIp }
    accessLog.add({ ...answered, receivedAt, durationMs: clock() - receivedAt, variables })
  }

  /** The response of a route, or `failed` if it fails. */
  async function call(event: Parameters<WebSocketBackend>[0], failed: RouteResponse = {}): Promise<RouteResponse> {
    const { routeKey } = event.requestContext
    calls.add(routeKey)
    try {
      return (await options.backend(event)) ?? {}
    } catch (error) {
      options.log(`backend: ${routeKey}: ${error instanceof Error ? error.stack : error}\n`)
      return failed
    }
  }

  const listener = (incoming: IncomingMessage, response: ServerResponse) => {
    const foreign = foreignHost(incoming, allowHosts)
    if (foreign) return send(response, jsonResponse(foreign.statusCode, { message: foreign.message }))
    const work = answerConnections(incoming, response, open, { calls, denials, accessLog, about, allowHosts })
    work.catch((error: unknown) => {
      options.log(`gateway: ${error}\n`)
      if (!response.headersSent) send(response, jsonResponse(500, { message: 'Internal server error' }))
    })
  }
  const server = await listenOnLoopback(options.port, listener, (incoming, socket, head) => {
    socket.on('error', () => socket.destroy())
    connect(incoming, socket, head).catch((error: unknown) => {
      options.log(`gateway: ${error}\n`)
      socket.destroy()
    })
  })
  return {
    port: server.port,
    async close(graceMs) {
      const closed = [...open.values()].map(
        ({ socket }) =>
          new Promise<void>((resolve) => {
            const impatience = setTimeout(() => socket.terminate(), Math.min(graceMs, 500))
            socket.once('close', () => {
              clearTimeout(impatience)
              resolve()
            })
            socket.close(GOING_AWAY)
          }),
      )
      await Promise.all([...closed, server.close(graceMs)])
    },
  }
}

function eventOf(
  connection: Connection,
  eventType: 'MESSAGE' | 'DISCONNECT',
  routeKey: string,
  { at, body, closed }: Pick<Occasion, 'at' | 'closed'> & { readonly body?: string },
) {
  const occasion = { eventType, routeKey, requestId: randomUUID(), at, ...(closed && { closed }) }
  return routeEvent(connection, occasion, body)
}

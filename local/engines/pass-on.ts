import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { engineRefusalOf } from '../gateway/guard'
import { askForBody, dropBody } from '../gateway/send'

/** Longer than any engine keeps an idle connection. With it Node heeds an engine that says how long it does. */
const IDLE_MS = 60_000

/** Connections to an engine that calls share; one that the engine is about to close is not used again. */
export const sharedConnections = (): Agent => new Agent({ keepAlive: true, timeout: IDLE_MS })

/** The target of calls. */
export interface Onward {
  readonly target: URL
  readonly agent: Agent
  /** The body to send if the call's own was read already. @default the body, as it comes */
  readonly body?: Buffer
  /** Sees the head of the answer. @returns whether to pass it on. @default it is passed on */
  readonly answered?: (answer: IncomingMessage) => boolean
}

/**
 * Passes a DynamoDB call on, and its response back, as they come. If the engine cannot be reached or breaks off, it
 * cuts the caller's connection, as the engine would.
 */
export function passOn(incoming: IncomingMessage, response: ServerResponse, onward: Onward): void {
  const { target, agent, body, answered = () => true } = onward
  const { connection: _, upgrade: __, expect: ___, ...headers } = incoming.headers
  const { hostname: host, port } = target
  const { method, url: path } = incoming
  const call = request({ host, port, method, path, headers, agent }, (answer) => {
    if (!answered(answer)) return
    response.writeHead(answer.statusCode ?? 500, own(answer.headers))
    answer.once('error', () => response.destroy())
    answer.pipe(response)
  })
  call.once('error', () => response.headersSent || incoming.socket.destroy())
  response.once('close', () => response.writableFinished || call.destroy()) // the caller has left
  if (body) return void call.end(body)
  askForBody(incoming, response)
  incoming.pipe(call)
}

/** Without those of the engine's connection, and those that let pages of other origins read the response. */
function own(headers: IncomingMessage['headers']): Record<string, string | string[] | undefined> {
  const passed = Object.entries(headers).filter(([name]) => !/^(connection|keep-alive|access-control-.*)$/.test(name))
  return Object.fromEntries(passed)
}

const DENIED = 'com.amazon.coral.service#AccessDeniedException'

/**
 * Answers a call that a web page may have sent, as DynamoDB denies one.
 *
 * @param allowHosts host names other than this machine's under which DynamoDB may be called.
 * @returns whether it was refused; otherwise it is untouched.
 */
export function refuseBrowsers(
  incoming: IncomingMessage,
  response: ServerResponse,
  allowHosts: readonly string[] = [],
): boolean {
  const message = engineRefusalOf(incoming, allowHosts)
  if (message === undefined) return false
  const answer = () => {
    const body = JSON.stringify({ __type: DENIED, message })
    response.writeHead(403, { 'Content-Type': 'application/x-amz-json-1.0', 'Content-Length': Buffer.byteLength(body) })
    response.end(body)
  }
  dropBody(incoming, response).then(answer, () => response.destroy())
  return true
}

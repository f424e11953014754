import { Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { engineRefusalOf } from '../gateway/guard'
import { askForBody, dropBody } from '../gateway/send'

/** Longer than any engine keeps an idle connection. With it Node heeds an engine that says how long it does. */
const IDLE_MS = 60_000

/** Connections to an engine that calls share; one that the engine is about to close is not used again. */
export const sharedConnections = (): Agent => new Agent({ keepAlive: true, timeout: IDLE_MS })

/** Where calls go on to. */
export interface Onward {
  readonly target: URL
  readonly agent: Agent
  /** What is sent in place of the call's own body, which is read already. @default the body, as it comes */
  readonly body?: Buffer
  /** Sees the head of the answer. @returns whether to pass it on. @default it is passed on */
  readonly answered?: (answer: IncomingMessage) => boolean
}

/**
 * Passes a call of DynamoDB on, and its answer back, as they come. Where the engine cannot be reached or breaks off,
 * the caller's connection is cut, as the engine would.
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
  response.once('close', () => response.writableFinished || call.destroy()) // the caller waits no longer
  if (body) return void call.end(body)
  askForBody(incoming, response)
  incoming.pipe(call)
}

/** Not those of the engine's connection, nor what permits pages of other origins to read the answer. */
function own(headers: IncomingMessage['headers']): Record<string, string | string[] | undefined> {
  const passed = Object.entries(headers).filter(([name]) => !/^(connection|keep-alive|access-control-.*)$/.test(name))
  return Object.fromEntries(passed)
}

const DENIED = 'com.amazon.coral.service#AccessDeniedException'

/**
 * Answers a call that a web page may have sent, as DynamoDB denies one.
 *
 * @param allowHosts names other than this machine's by which DynamoDB may be addressed.
 * @returns whether it was refused; else nothing was done to it.
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

import { randomBytes, randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../limiter/clock'
import type { RouteMatch } from './routes'

/** A request as API Gateway has it after parsing. It is the same for both kinds of API, whose events differ in form. */
export interface IncomingRequest extends RouteMatch {
  readonly id: string
  readonly method: string
  /** Starts with `/`, percent-encoding as sent. */
  readonly path: string
  /** Without the `?`; empty when there is none. */
  readonly rawQuery: string
  /**
   * Names as the client wrote them, in the order sent, repeated ones repeated, with the headers that API Gateway adds.
   */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** The peer of the TCP connection. */
  readonly sourceIp: string
  readonly protocol: string
  readonly receivedAt: number
}

/** A request before its route is known. */
export type UnroutedRequest = Omit<IncomingRequest, keyof RouteMatch>

export function toUnroutedRequest(incoming: IncomingMessage, clock: Clock = Date.now): UnroutedRequest {
  const method = incoming.method ?? 'GET'
  const [path, rawQuery] = splitTarget(incoming.url ?? '/')
  const sourceIp = (incoming.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
  const receivedAt = clock()
  return {
    id: randomUUID(),
    method,
    path,
    rawQuery,
    headers: forwardedHeaders(incoming, sourceIp, receivedAt),
    sourceIp,
    protocol: `HTTP/${incoming.httpVersion}`,
    receivedAt,
  }
}

/** All values of each name, the name spelled as it first came, or in lower case. */
export function groupHeaders(
  headers: IncomingRequest['headers'],
  spelling: 'as-sent' | 'lower-case',
): Map<string, string[]> {
  const spelt = new Map<string, string>()
  const values = new Map<string, string[]>()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    const key = spelling === 'lower-case' ? lower : (spelt.get(lower) ?? name)
    spelt.set(lower, key)
    values.set(key, [...(values.get(key) ?? []), value])
  }
  return values
}

/** All values of each parameter, decoded. A second `?` belongs to a name, which `URLSearchParams` would drop. */
export function groupQuery(rawQuery: string): Map<string, string[]> {
  const values = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(`&${rawQuery}`))
    values.set(name, [...(values.get(name) ?? []), value])
  return values
}

/** Does not use `new URL`, which reads `//host` as a host and resolves dot segments that API Gateway keeps. */
function splitTarget(target: string): [path: string, rawQuery: string] {
  const local = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?]*/i, '')
  const [path = '', ...query] = local.split('?')
  return [path.startsWith('/') ? path : `/${path}`, query.join('?')]
}

/** The headers of the request, without those of the connection, with those that API Gateway appends. */
function forwardedHeaders(incoming: IncomingMessage, sourceIp: string, receivedAt: number): [string, string][] {
  const headers: [string, string][] = []
  const hops: string[] = []
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    const [name, value] = [incoming.rawHeaders[i] as string, incoming.rawHeaders[i + 1] as string]
    if (/^x-forwarded-for$/i.test(name)) hops.push(value)
    else if (!/^(connection|keep-alive|x-forwarded-(port|proto))$/i.test(name)) headers.push([name, value])
  }
  return [
    ...headers,
    ['X-Amzn-Trace-Id', `Root=1-${Math.floor(receivedAt / 1000).toString(16)}-${randomBytes(12).toString('hex')}`],
    ['X-Forwarded-For', [...hops, sourceIp].join(', ')],
    ['X-Forwarded-Port', String(incoming.socket.localPort)],
    ['X-Forwarded-Proto', 'http'],
  ]
}

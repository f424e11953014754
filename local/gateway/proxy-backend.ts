import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { pipeline } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { headersFromContext } from '../../lambda/responses/backend-headers'
import { reasonOf, StartError } from '../start-error'
import { jsonResponse } from './api'
import type { Backend, Exchange } from './backend'
import { clientHeaders, contextHeaders, withoutHopByHop } from './proxy-headers'
import { askForBody, MAX_BODY_BYTES, send, TOO_LONG } from './send'

/** As long as the wrapper of `sluice/backend` waits at most. */
const MAX_DELAY_MS = 10_000

/**
 * The user's own server: it gets each allowed request as the client sent it, with a header `X-Sluice-…` for each value
 * of the decision, and its response is passed on as it comes, with the headers that `sluice/backend` adds. Bodies are
 * streamed both ways. Where the decision delays the request, it is sent after the delay.
 *
 * @param url of the server; a path in it is prepended to each request's.
 * @param log gets a line where the server cannot be reached.
 */
export function createProxy(url: URL, log: (text: string) => void): Backend {
  return {
    async serve(exchange) {
      const { incoming, response, context } = exchange
      const delayMs = Math.min(Number(context.delayMs) || 0, MAX_DELAY_MS)
      if (delayMs > 0) await sleep(delayMs)
      if (response.destroyed) return
      const upstream = open(url, exchange)
      upstream.setNoDelay(true)
      response.once('close', () => upstream.destroy()) // also when the client went away
      const answered = answerOf(upstream)
      const fits = sendBody(incoming, response, upstream)
      try {
        const answer = await Promise.race([answered, fits])
        if (answer === undefined) await refuse(exchange, TOO_LONG)
        else passOn(answer, exchange)
      } catch (error) {
        if (response.destroyed) return
        const message = `the backend ${url.origin} ${failureOf(error)}`
        log(`backend: ${exchange.request.method} ${exchange.request.path}: ${message}\n`)
        await refuse(exchange, jsonResponse(502, { message: `Bad Gateway: ${message}` }))
      } finally {
        answered.catch(() => {})
      }
    },
  }
}

/** @throws StartError for anything but a server's URL. */
export function backendUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new StartError(`--backend must be a URL such as http://localhost:4000, got "${text}"`)
  return url
}

function open(url: URL, { incoming, request, context }: Exchange): ClientRequest {
  const { method, path, rawQuery } = request
  // A server that may keep the connection does not close it while the body still comes.
  const headers = [
    ['Host', url.host],
    ['Connection', 'keep-alive'],
    ...clientHeaders(request.headers, incoming.headers.connection),
    ...contextHeaders(context),
    ...framing(incoming),
  ]
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest
  return send({
    protocol: url.protocol,
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port,
    method,
    path: `${url.pathname.replace(/\/$/, '')}${path}${(incoming.url ?? '').includes('?') ? `?${rawQuery}` : ''}`,
    headers: headers.flat() as never,
    setHost: false,
    agent: false, // a connection for each request: a server may close idle ones at any time
  })
}

/** How the end of the body is marked (RFC 9112 §6): as the client did. */
function framing({ headers, method = '' }: IncomingMessage): [string, string][] {
  if (headers['transfer-encoding'] !== undefined) return [['Transfer-Encoding', 'chunked']]
  const length = headers['content-length'] ?? (/^(POST|PUT|PATCH)$/.test(method) ? '0' : undefined)
  return length === undefined ? [] : [['Content-Length', length]]
}

function answerOf(upstream: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    upstream.once('response', resolve).on('error', reject)
    upstream.once('upgrade', (_, socket) => {
      socket.destroy()
      reject(new Error('switched protocols without being asked to'))
    })
  })
}

/**
 * Passes the body on. Never settles, except for a body that is longer than API Gateway accepts: then it cuts the
 * backend's connection.
 */
function sendBody(incoming: IncomingMessage, response: ServerResponse, upstream: ClientRequest): Promise<undefined> {
  return new Promise((resolve) => {
    let bytes = 0
    askForBody(incoming, response)
    incoming.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= MAX_BODY_BYTES) return
      incoming.unpipe(upstream)
      resolve(undefined)
      upstream.destroy()
    })
    incoming.once('aborted', () => upstream.destroy())
    incoming.pipe(upstream)
  })
}

/** Sends the head of the backend's response, and then the body as it comes. */
function passOn(answer: IncomingMessage, { incoming, response, context, headers }: Exchange): void {
  const theirs = withoutHopByHop(pairs(answer.rawHeaders), answer.headers.connection)
  const present = new Set(theirs.map(([name]) => name.toLowerCase()))
  const added = Object.entries({ ...headersFromContext(context), ...headers }).filter(
    ([name]) => !present.has(name.toLowerCase()),
  )
  response.sendDate = false
  response.writeHead(answer.statusCode!, answer.statusMessage, [...theirs, ...added].flat() as never)
  response.flushHeaders()
  pipeline(answer, response, () => incoming.resume()) // destroys the response if the backend's breaks off
}

/** How long the unneeded rest of a body is read before the connection is closed. */
const DRAIN_WITHIN_MS = 2000

/** A response in place of the backend's, after the body: a client that still sends may not read it. */
async function refuse({ incoming, response, headers }: Exchange, made: ReturnType<typeof jsonResponse>): Promise<void> {
  incoming.unpipe()
  incoming.resume()
  const wait = new AbortController()
  const impatience = sleep(DRAIN_WITHIN_MS, undefined, { signal: wait.signal }).catch(() => {})
  if (!incoming.complete) await Promise.race([new Promise((resolve) => incoming.once('close', resolve)), impatience])
  wait.abort()
  if (!incoming.complete) response.shouldKeepAlive = false
  send(response, { ...made, headers: { ...made.headers, ...headers } })
}

function failureOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED') return 'does not listen: is it running?'
  if (code === 'ENOTFOUND') return 'has an unknown host name'
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'closed the connection before it answered'
  return `failed before it answered: ${reasonOf(error)}`
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, i) => (i % 2 === 0 ? [[name, raw[i + 1]!] as [string, string]] : []))
}

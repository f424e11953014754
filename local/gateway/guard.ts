import type { IncomingMessage } from 'node:http'

/** Why a request is refused. */
export interface Refusal {
  readonly statusCode: 403 | 415
  readonly message: string
}

/** The parts of a request that show its target's name and its origin. */
type GuardedRequest = Pick<IncomingMessage, 'method' | 'headers' | 'socket' | 'url'>

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/** Values of `Sec-Fetch-Site` for requests that no other site sent: `same-site` is another port of this machine. */
const OWN = ['same-origin', 'none']

/**
 * Refuses every host name that is neither this machine's nor allowed, and so DNS rebinding: for a page whose own name
 * resolves to this machine the browser sends that name.
 *
 * @param allowed further names, for a port that is forwarded: `host` or `host:port`.
 * @returns `undefined` where the request may be answered.
 */
export function foreignHost(incoming: GuardedRequest, allowed: readonly string[]): Refusal | undefined {
  const host = hostOf(incoming)
  const { localPort } = incoming.socket
  if (isAmong(allowed, host) || isOwnName(host, localPort)) return undefined
  return forbidden(
    `the host ${JSON.stringify(host)} is not this gateway's: use localhost:${localPort}, or start with --allow-host for a forwarded port`,
  )
}

/**
 * Refuses what a page on the web could make a browser send: a foreign host or origin, and a change that is not JSON. No
 * form can send JSON, and another origin needs a preflight for it.
 *
 * @param allowed as for `foreignHost`.
 * @param isPage whether it is a page, which a link on any site may open.
 * @returns `undefined` where the request may be answered.
 * @see https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site
 */
export function refusalOf(incoming: GuardedRequest, allowed: readonly string[], isPage: boolean): Refusal | undefined {
  const foreign = foreignHost(incoming, allowed)
  if (foreign) return foreign
  const { method, headers } = incoming
  const host = hostOf(incoming)
  const { origin } = headers
  if (origin !== undefined && !originsOf(host, isAmong(allowed, host)).includes(origin.toLowerCase()))
    return forbidden(
      `the origin ${JSON.stringify(origin)} is not allowed: only this gateway's own page may send requests`,
    )
  if (isPage && isPageVisit(method, headers)) return undefined
  const site = headers['sec-fetch-site']
  if (site !== undefined && !OWN.includes(String(site)))
    return forbidden(`Sec-Fetch-Site is ${JSON.stringify(site)}: only this gateway's own page may send requests`)
  if (method === 'GET' || method === 'HEAD') return undefined
  const type = headers['content-type'] ?? ''
  if (/^application\/json\s*(;|$)/i.test(type)) return undefined
  return {
    statusCode: 415,
    message: `the content type must be application/json, got ${type === '' ? 'none' : JSON.stringify(type)}`,
  }
}

/**
 * Refuses what any page could make a browser send to DynamoDB, which only programs call: browsers send `Origin` or
 * `Sec-Fetch-Site` with each such request, and programs send neither.
 *
 * @param allowed as for `foreignHost`.
 * @returns why it is refused; `undefined` if it may be answered.
 */
export function engineRefusalOf(incoming: GuardedRequest, allowed: readonly string[]): string | undefined {
  const foreign = foreignHost(incoming, allowed)
  if (foreign) return foreign.message
  const { origin, 'sec-fetch-site': site } = incoming.headers
  const sent = origin !== undefined ? ['Origin', origin] : site !== undefined ? ['Sec-Fetch-Site', site] : undefined
  return sent && `a browser sent this (${sent[0]}: ${JSON.stringify(sent[1])}): only programs may call this DynamoDB`
}

/** A followed link to a page: from any site it opens the page, and shows that site nothing of it. */
const isPageVisit = (method: string | undefined, headers: IncomingMessage['headers']): boolean =>
  method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'

/** The name in an absolute target counts, otherwise `Host` (RFC 9112 §3.2.2). */
const hostOf = ({ url = '', headers: { host = '' } }: GuardedRequest): string =>
  (/^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? host).toLowerCase()

const isAmong = (allowed: readonly string[], host: string): boolean =>
  allowed.some((one) => host === one.toLowerCase() || withoutPort(host) === one.toLowerCase())

const isOwnName = (host: string, port: number | undefined): boolean =>
  LOOPBACK.some((name) => host === `${name}:${port}` || (port === 80 && host === name))

/** A forwarded port may have TLS added. */
const originsOf = (host: string, isForwarded: boolean): string[] =>
  isForwarded ? [`http://${host}`, `https://${host}`] : [`http://${host}`]

const withoutPort = (host: string): string => host.replace(/:\d+$/, '')

const forbidden = (message: string): Refusal => ({ statusCode: 403, message })

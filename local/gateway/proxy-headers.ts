type Header = readonly [name: string, value: string]

/** Hop-by-hop headers, which a proxy does not pass on, beside those that `Connection` names (RFC 9110 §7.6.1). */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers that API Gateway adds: a client can neither remove them nor send them in another spelling. */
const ADDED = /^x-(forwarded|amzn)-/

/** Headers that the proxy sets itself: the decision, the server's name, and the end of the body. */
const REPLACED = /^(x-sluice-.*|host|expect|content-length)$/

/**
 * A name as servers read it that pass headers on as variables, such as CGI and WSGI: `X-Sluice-Tier` and
 * `x_sluice_tier` are both `HTTP_X_SLUICE_TIER`, and some fold every character that is neither a letter nor a digit.
 */
const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-')

/**
 * The end-to-end headers.
 *
 * @param connection the value of `Connection`, which names further hop-by-hop headers.
 */
export function withoutHopByHop(headers: readonly Header[], connection = ''): Header[] {
  const named = connection.split(',').map((option) => folded(option.trim()))
  const dropped = new Set([...HOP_BY_HOP, ...named.filter((name) => !ADDED.test(name))])
  return headers.filter(([name]) => !dropped.has(folded(name)))
}

/** The client's headers that a server gets: none that it could mistake for one of the gateway's. */
export const clientHeaders = (headers: readonly Header[], connection?: string): Header[] =>
  withoutHopByHop(headers, connection).filter(([name]) => {
    const read = folded(name)
    return !REPLACED.test(read) && !(ADDED.test(read) && read !== name.toLowerCase())
  })

/** The authorizer's context as headers of the request to the backend: `retryAfter` is `X-Sluice-Retry-After`. */
export function contextHeaders(context: Readonly<Record<string, unknown>>): Header[] {
  return Object.entries(context).flatMap(([key, value]): Header[] => {
    const name = key.replace(/[A-Z]/g, (letter) => `-${letter}`).replace(/^./, (letter) => letter.toUpperCase())
    const text = String(value)
    return /^[\w-]+$/.test(name) && /^[ -~]+$/.test(text) ? [[`X-Sluice-${name}`, text]] : []
  })
}

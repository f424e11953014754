type Header = readonly [name: string, value: string]

/** Headers of one connection, which a proxy keeps, beside those that `Connection` names (RFC 9110 §7.6.1). */
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

/** What API Gateway has added, which a client cannot have dropped. */
const ADDED = /^x-(forwarded|amzn)-/

/**
 * The headers that are meant for whoever is at the other end.
 *
 * @param connection the value of `Connection`, which names more headers of the connection alone.
 */
export function withoutHopByHop(headers: readonly Header[], connection = ''): Header[] {
  const named = connection.split(',').map((option) => option.trim().toLowerCase())
  const dropped = new Set([...HOP_BY_HOP, ...named.filter((name) => !ADDED.test(name))])
  return headers.filter(([name]) => !dropped.has(name.toLowerCase()))
}

/** A name that only the gateway may send to the backend. */
export const CONTEXT_HEADER = /^x-sluice-/i

/** The authorizer's context as headers of the request to the backend: `retryAfter` is `X-Sluice-Retry-After`. */
export function contextHeaders(context: Readonly<Record<string, unknown>>): Header[] {
  return Object.entries(context).flatMap(([key, value]): Header[] => {
    const name = key.replace(/[A-Z]/g, (letter) => `-${letter}`).replace(/^./, (letter) => letter.toUpperCase())
    const text = String(value)
    return /^[\w-]+$/.test(name) && /^[ -~]+$/.test(text) ? [[`X-Sluice-${name}`, text]] : []
  })
}

import type { Parse, ToRequest } from './to-request'

/**
 * `ip ident user [time] "request" status bytes`, and what the Combined Log Format and others have behind it. API
 * Gateway's own format for REST APIs has no space before the request.
 */
const LINE = /^(\S+) (\S+) (.+?) \[([^\]]{1,64})\] ?"((?:[^"\\]|\\.)*)"(?: (\S+))?(?: (\S+))?(?: |$)/

/** `GET /pets HTTP/1.1`, as servers and REST APIs have it. */
const OF_SERVER = /^([A-Za-z]+) (\/\S*|https?:\/\/\S+|\*)(?: \S+)?$/
/** `GET GET /pets HTTP/1.1`: the method, the route key and the protocol of an HTTP API. */
const OF_HTTP_API = /^([A-Z]+) ([A-Z]+ \/\S*|\$default) \S+$/
/** `CONNECT $connect ZmXh3c=`: the event, the route key and the connection of a WebSocket API. */
const OF_WEB_SOCKET = /^(CONNECT|MESSAGE|DISCONNECT) (\S+) \S+$/

/** Whether a line looks like the Common Log Format. */
export const isClf = (text: string): boolean => LINE.test(text)

/**
 * Reads a line of the Common or Combined Log Format, or of what API Gateway calls CLF. Its fields have the names `ip`,
 * `ident`, `user`, `time`, `request`, `status`, `bytes`, and those of API Gateway within the request.
 */
export function clfLine(toRequest: ToRequest): Parse {
  return (text) => {
    const found = LINE.exec(text)
    if (!found) return 'it is not in the Common Log Format'
    const [, ip, ident, user, time, request = '', status, bytes] = found
    const asked = askedIn(request)
    if (!asked) return `its request ${JSON.stringify(request.slice(0, 60))} is not a method and a path or a route`
    const fields: Readonly<Record<string, string | undefined>> = { ip, ident, user, time, status, bytes, ...asked }
    return toRequest((name) => fields[name])
  }
}

function askedIn(request: string): Readonly<Record<string, string>> | undefined {
  const [, httpMethod, routeKey] = OF_HTTP_API.exec(request) ?? []
  if (routeKey !== undefined) return { httpMethod: httpMethod!, routeKey }
  const [, eventType, route] = OF_WEB_SOCKET.exec(request) ?? []
  if (route !== undefined) return { eventType: eventType!, routeKey: route }
  // a request without one, as of a connection that said nothing, is not the log's fault
  return OF_SERVER.test(request) || request === '-' || request === '' ? { request } : undefined
}

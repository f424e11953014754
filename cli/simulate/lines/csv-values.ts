import type { Parse, ToRequest } from './to-request'

/** The values of a line, `undefined` where its quotes are wrong (RFC 4180). */
export function csvValues(text: string, comma: string): string[] | undefined {
  if (!text.includes('"')) return text.split(comma)
  const values: string[] = []
  let at = 0
  for (;;) {
    if (text[at] === '"') {
      let value = ''
      for (at++; ; at++) {
        const end = text.indexOf('"', at)
        if (end < 0) return undefined
        value += text.slice(at, end)
        at = end + 1
        if (text[at] !== '"') break
        value += '"'
      }
      values.push(value)
      if (at === text.length) return values
      if (text[at] !== comma) return undefined
      at++
    } else {
      const end = text.indexOf(comma, at)
      const value = end < 0 ? text.slice(at) : text.slice(at, end)
      if (value.includes('"')) return undefined
      values.push(value)
      if (end < 0) return values
      at = end + 1
    }
  }
}

/** A time as `$context.requestTime` has it. */
const REQUEST_TIME = /^\[?\d{2}\/[A-Z][a-z]{2}\/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4}\]?$/
/** The columns of what API Gateway calls CSV, which has no headings: of REST, HTTP and WebSocket APIs. */
const OF_REST = ['ip', '', '', 'requestTime', 'httpMethod', 'resourcePath', 'protocol', 'status']
const OF_HTTP = ['ip', 'requestTime', 'httpMethod', 'routeKey', 'protocol', 'status']
const OF_WEB_SOCKET = ['ip', '', '', 'requestTime', 'eventType', 'routeKey', 'connectionId', 'status']

/** The headings of a line that is a request of API Gateway's CSV; `undefined` where it is none. */
export function headingsOfGateway(values: readonly string[]): string[] | undefined {
  const known = [OF_HTTP, OF_WEB_SOCKET, OF_REST].find(
    (names) =>
      REQUEST_TIME.test(values[names.indexOf('requestTime')]?.trim() ?? '') &&
      (!names.includes('eventType') || /^\s*(CONNECT|MESSAGE|DISCONNECT)\s*$/.test(values[4] ?? '')),
  )
  return known && values.map((_, i) => known[i] || `column ${i + 1}`)
}

/** Reads lines of API Gateway's CSV, whatever stands before them. */
export function gatewayCsvLine(toRequest: ToRequest): Parse {
  return (text) => {
    const values = csvValues(text, ',') ?? []
    const headings = headingsOfGateway(values)
    if (!headings) return 'it is in none of the formats of API Gateway'
    return toRequest((name) => values[headings.indexOf(name)])
  }
}

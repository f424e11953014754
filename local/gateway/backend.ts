import { headersFromContext } from '../../lambda/responses/backend-headers'
import { type BackendEvent, type GatewayResponse, jsonResponse } from './api'
import { type Route, routeKey } from './routes'

/** How often the backend ran; denied requests do not count. */
interface BackendCalls {
  readonly total: number
  /** By `GET /hello` and so on. */
  readonly routes: Readonly<Record<string, number>>
}

/** The function behind the sample API, and how often it was called. */
export interface Backend {
  handle(route: Route, event: BackendEvent): GatewayResponse
  calls(): BackendCalls
}

export function createBackend(): Backend {
  const counts = new Map<string, number>()
  return {
    handle(route, event) {
      const key = routeKey(route)
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return jsonResponse(200, answer(key, event), { 'Access-Control-Allow-Origin': '*', ...rateLimitHeaders(event) })
    },
    calls: () => ({
      total: [...counts.values()].reduce((sum, count) => sum + count, 0),
      routes: Object.fromEntries(counts),
    }),
  }
}

function answer(key: string, event: BackendEvent): unknown {
  switch (key) {
    case 'GET /hello':
      return { message: 'hello' }
    case 'GET /search':
      return { query: event.queryStringParameters?.q ?? '', results: [] }
    case 'POST /batch':
      return { accepted: true }
    default:
      return { message: `served by ${key}` }
  }
}

/** A REST API passes the context on as it is, an HTTP API under `lambda`. */
function rateLimitHeaders({ requestContext: { authorizer } }: BackendEvent): Record<string, string> {
  return headersFromContext('lambda' in authorizer ? authorizer.lambda : authorizer)
}

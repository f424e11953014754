import type { IncomingMessage, ServerResponse } from 'node:http'
import { withRateLimit } from '../../backend'
import { type BackendEvent, type GatewayResponse, jsonResponse } from './api'
import type { IncomingRequest } from './incoming-request'
import { routeKey } from './routes'
import { readBody, send, TOO_LONG } from './send'

/** An allowed request, and its response. */
export interface Exchange {
  readonly incoming: IncomingMessage
  readonly response: ServerResponse
  readonly request: IncomingRequest
  readonly event: BackendEvent
  /** The context of the authorizer's decision; empty for a method without the authorizer. */
  readonly context: Readonly<Record<string, unknown>>
  /** The headers that every response of the API carries. */
  readonly headers: Readonly<Record<string, string>>
}

/** What is behind the API. Only allowed requests reach it. */
export interface Backend {
  /** Returns when the head of the response is sent, or the client is gone. */
  serve(exchange: Exchange): Promise<void>
}

/** The function behind the sample API, wrapped as one in Lambda is. */
export function createBackend(): Backend {
  const handler = withRateLimit(answer, { cost: (_event, { used }) => used && { costs: { tokens: used } } })
  return {
    async serve({ incoming, response, request, event, headers }) {
      const fits = await readBody(incoming, response)
      const { statusCode, body, headers: own } = fits ? await handler(event, routeKey(request.route)) : TOO_LONG
      send(response, { statusCode, body, headers: { ...own, ...headers } })
    },
  }
}

interface Answer extends GatewayResponse {
  /** Tokens that the answer has used. */
  readonly used?: number
}

async function answer(event: BackendEvent, key: string): Promise<Answer> {
  const cors = { 'Access-Control-Allow-Origin': '*' }
  if (key !== 'POST /chat') return jsonResponse(200, message(key, event), cors)
  const { tokens, seconds } = event.queryStringParameters ?? {}
  const used = numberIn(tokens, 300, 100_000)
  await new Promise((resolve) => setTimeout(resolve, numberIn(seconds, 0, 20) * 1000))
  return { ...jsonResponse(200, { answer: 'water', usage: { total_tokens: used } }, cors), used }
}

const numberIn = (text: string | undefined, otherwise: number, most: number): number =>
  /^\d{1,6}$/.test(text ?? '') ? Math.min(most, Number(text)) : otherwise

function message(key: string, event: BackendEvent): unknown {
  switch (key) {
    case 'GET /hello':
      return { message: 'hello' }
    case 'GET /search':
      return { query: event.queryStringParameters?.q ?? '', results: [] }
    case 'GET /export':
      return { rows: [] }
    case 'POST /batch':
      return { accepted: true }
    default:
      return { message: `served by ${key}` }
  }
}

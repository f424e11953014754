import { resolve } from 'node:path'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createTieredLimiter, withMessageLimit } from '../../tiered'
import { TABLES } from '../dynamodb'
import { reasonOf, StartError } from '../start-error'
import type { WebSocketEvent } from './events'

/** The response of a route. */
export interface RouteResponse {
  readonly statusCode?: number
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body?: string
}

/** The backend of the API's routes. It rejects on failure. */
export type WebSocketBackend = (event: WebSocketEvent) => Promise<RouteResponse>

/** Longer than API Gateway gives an integration. */
const MAX_MS = 29_000

/** The sample: echoes messages. The wrapper limits them, with the tables of the gateway. */
export function sampleBackend(endpoint: string): WebSocketBackend {
  const client = new DynamoDBClient({ endpoint, maxAttempts: 1 })
  const limiter = createTieredLimiter({
    client,
    configTable: TABLES.config,
    stateTable: TABLES.state,
    deadlineMs: 1000,
    write: () => {},
  })
  return withMessageLimit(
    async ({ requestContext: { routeKey }, body = '' }: WebSocketEvent): Promise<RouteResponse> => ({
      statusCode: 200,
      ...(routeKey !== '$connect' &&
        routeKey !== '$disconnect' && { body: JSON.stringify({ route: routeKey, heard: body }) }),
    }),
    { limiter },
  )
}

/**
 * The user's own function, in this process: the module's export `handler`.
 *
 * @throws StartError if there is none.
 */
export function handlerBackend(file: string): WebSocketBackend {
  const handler = exported(file)
  if (typeof handler !== 'function')
    throw new StartError(`${file} must export a function as "handler", as Lambda wants it`)
  return async (event) => {
    const until = Date.now() + MAX_MS
    const context = { functionName: 'local', getRemainingTimeInMillis: () => Math.max(0, until - Date.now()) }
    return ((await handler(event, context)) ?? {}) as RouteResponse
  }
}

function exported(file: string): unknown {
  try {
    return (require(resolve(file)) as { readonly handler?: unknown }).handler
  } catch (error) {
    throw new StartError(`--handler ${file} cannot be loaded: ${reasonOf(error)}`)
  }
}

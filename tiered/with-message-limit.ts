import * as v from 'valibot'
import { fields } from '../backend/gateway-context'
import type { TooManyRequests } from '../backend/responses'
import { Settlements } from '../backend/settlements'
import { type Handler, rateLimited, serveDecided, type WithRateLimitOptions } from '../backend/with-rate-limit'
import { BoundedMap } from '../limiter/bounded-map'
import { ConfigError, Mistake } from '../limiter/errors'
import type { UsedUnits } from '../limiter/options'
import { checkOptions, type FieldRules } from '../limiter/policies/report'
import { type MessageDenial, messageDenial } from './message-denial'
import { isMessage } from './message-request'
import type { MessageOptions, TieredLimiter } from './tiered-decision'

/** The part of `new ApiGatewayManagementApi({ endpoint })` that is used here, so that it is not a dependency. */
export interface Connections {
  /** Sends `Data` to the client. It rejects with a `GoneException` where the connection is closed. */
  postToConnection(input: { ConnectionId: string; Data: string }): Promise<unknown>
  /** Closes the connection. */
  deleteConnection(input: { ConnectionId: string }): Promise<unknown>
}

/** How `withMessageLimit` decides and answers. */
export interface MessageLimitOptions<Args extends unknown[], Result> extends WithRateLimitOptions<Args, Result> {
  /** The limiter from `createTieredLimiter`: one for the process. */
  readonly limiter: TieredLimiter
  /**
   * Units that a message takes: a number, or by the name of each cost, `{ costs: { tokens: 500 } }`.
   *
   * @returns `undefined` for the route's cost.
   * @default the route's cost, else 1
   */
  readonly takes?: ((event: Args[0]) => UsedUnits | undefined) | undefined
  /**
   * The caller, if the function knows the client or user by name: then blocks and overrides apply.
   *
   * @returns `undefined` for the connection's caller.
   * @default the connection's caller
   */
  readonly caller?: ((event: Args[0]) => Omit<MessageOptions, 'cost' | 'costs'> | undefined) | undefined
  /**
   * Sends denials to the client, and closes its connection: `new ApiGatewayManagementApi({ endpoint })`.
   * @default a denial is what the function returns, which API Gateway sends where the route has a route response
   */
  readonly connections?: Connections | undefined
  /**
   * Makes the answer to a denied message, which is sent as JSON.
   *
   * @returns `undefined` where nothing is to be sent.
   * @default the denial as it is
   */
  readonly answer?: ((denial: MessageDenial, event: Args[0]) => unknown) | undefined
  /**
   * Closes a connection after so many denials in a row that this function instance has seen; it needs `connections`.
   * @default connections stay open
   */
  readonly disconnectAfter?: number | undefined
}

/** What API Gateway gets for a message that is denied. */
export interface DeniedMessage {
  /** As in the denial. */
  readonly statusCode: 401 | 429 | 500
  /** JSON; absent where it was sent by `connections`, or nothing is to be sent. */
  readonly body?: string
}

const func = (wanted: string) =>
  ({ schema: v.custom((value) => typeof value === 'function'), wanted, optional: true }) as const
const has = (...names: string[]) =>
  v.custom<object>((value) => names.every((name) => typeof (value as never)?.[name] === 'function'))
const milliseconds = {
  schema: v.pipe(v.number(), v.minValue(0)),
  wanted: 'milliseconds from 0',
  optional: true,
} as const

const OPTIONS = {
  limiter: {
    schema: has('decideMessage', 'settle', 'releaseSlots'),
    wanted: 'what createTieredLimiter({ client, configTable, stateTable }) returns',
  },
  takes: func('a function of the event'),
  caller: func('a function of the event'),
  cost: func('a function of the event and the result'),
  lowPriority: func('a handler'),
  answer: func('a function of the denial and the event'),
  connections: {
    schema: has('postToConnection', 'deleteConnection'),
    wanted: 'a client such as new ApiGatewayManagementApi({ endpoint })',
    optional: true,
  },
  disconnectAfter: {
    schema: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
    wanted: 'a whole number from 1',
    optional: true,
  },
  maxDelayMs: milliseconds,
  settleWithinMs: milliseconds,
} as const satisfies FieldRules

/** Connections whose consecutive denials are counted. */
const MAX_CONNECTIONS = 10_000

/**
 * Wraps the handler of a WebSocket API's routes: each message is charged to the caller of its connection before the
 * handler is called, as the request `POST /@messages/<route key>`. A message over the limit is answered without it.
 *
 * The handler gets the event with the message's own decision as `requestContext.authorizer`, in place of the
 * connection's. What a message reserves is settled once the handler has ended, with `reportCost` of `sluice/backend` or
 * `cost`. All other events, `$connect` and `$disconnect` among them, are served as by `withRateLimit`, so one function
 * may have all routes.
 *
 * Where a table cannot be reached, the failure mode decides. Errors of the handler, of `takes`, `caller` and `answer`
 * pass through. A denial that cannot be sent, or a connection that cannot be closed, is logged.
 *
 * @throws ConfigError with every mistake in the options.
 */
export function withMessageLimit<Args extends unknown[], Result>(
  handler: Handler<Args, Result>,
  options: MessageLimitOptions<Args, Result>,
): (...args: Args) => Promise<Awaited<Result> | DeniedMessage | TooManyRequests> {
  checkOptions(options, OPTIONS)
  const { limiter, connections, takes, caller, answer = (denial) => denial, disconnectAfter = Infinity } = options
  if (options.disconnectAfter !== undefined && !connections)
    throw new ConfigError([
      new Mistake(
        'missing_field',
        'disconnectAfter needs connections, such as new ApiGatewayManagementApi({ endpoint })',
      ),
    ])
  const settlements = new Settlements({ load: async () => limiter })
  const others = rateLimited(handler, options, settlements)
  const denialsInARow = new BoundedMap<string, number>(MAX_CONNECTIONS)

  async function deny(event: Args[0], denial: MessageDenial): Promise<DeniedMessage> {
    const { status: statusCode, connectionId: ConnectionId } = denial
    const message: string | undefined = JSON.stringify(answer(denial, event))
    if (!connections) return { statusCode, ...(message !== undefined && { body: message }) }
    const count = (denialsInARow.get(ConnectionId) ?? 0) + 1
    denialsInARow.set(ConnectionId, count)
    if (message !== undefined)
      await quietly(connections.postToConnection({ ConnectionId, Data: message }), 'denial_unsent')
    if (count < disconnectAfter) return { statusCode }
    denialsInARow.delete(ConnectionId)
    await quietly(connections.deleteConnection({ ConnectionId }), 'connection_not_closed')
    return { statusCode }
  }

  /** A client that is gone needs no answer. */
  async function quietly(call: Promise<unknown>, problem: string): Promise<void> {
    try {
      await call
    } catch (error) {
      if ((error as Error | undefined)?.name !== 'GoneException') settlements.warn(problem, error)
    }
  }

  return async (...args): Promise<Awaited<Result> | DeniedMessage | TooManyRequests> => {
    const [event, ...rest] = args
    if (!isMessage(event)) return others(...args)
    const units = takes?.(event)
    const { allowed, status, context } = await limiter.decideMessage(event, {
      ...(typeof units === 'object' ? units : { cost: units }),
      ...caller?.(event),
    })
    const about = fields(fields(event).requestContext)
    if (!allowed) return deny(event, messageDenial(status as MessageDenial['status'], context, about))
    denialsInARow.delete(String(about.connectionId))
    const decided = [eventWith(event, context), ...rest] as unknown as Args
    return serveDecided(handler, decided, options, settlements)
  }
}

/** The event with what was decided about its message. What holds for the connection alone is left out. */
function eventWith<Event>(event: Event, context: object): Event {
  const requestContext = fields(fields(event).requestContext)
  const { messageId = requestContext.requestId } = requestContext
  const authorizer = { ...fields(requestContext.authorizer), ...context, messageId }
  return { ...event, requestContext: { ...requestContext, messageId, authorizer } }
}

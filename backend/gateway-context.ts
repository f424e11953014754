/** What Sluice decided about a request, as far as a backend acts on it. */
export interface GatewayContext {
  /** As API Gateway passes it on: strings on a REST API, typed values on an HTTP API. */
  readonly values: Readonly<Record<string, unknown>>
  /** Over the limit, and passed to the backend so that it answers 429. */
  readonly turnedAway: boolean
  /** How long the request has to be delayed, in milliseconds. */
  readonly delayMs: number
  /** The request is over its limit: serve it only with spare capacity. */
  readonly lowPriority: boolean
  /** The reservation with which the request is settled; empty if it holds nothing. */
  readonly reservation: string
  /** The request opens a WebSocket connection, which ends with `$disconnect`: until then it keeps its reservation. */
  readonly opensConnection: boolean
  /** Whether API Gateway makes a response of any value that the function returns: payload 2.0 of an HTTP API. */
  readonly infersResponse: boolean
}

/**
 * Parses any event; one that did not pass Sluice gives an empty context.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html payload
 * 2.0, and which responses it infers
 */
export function fromEvent(event: unknown): GatewayContext {
  const { version, requestContext } = fields(event)
  const { authorizer, eventType } = fields(requestContext)
  const { lambda } = fields(authorizer)
  // a value of an authorizer's context is never an object, so this one is API Gateway's own: payload 2.0
  const context = fields(typeof lambda === 'object' && lambda !== null ? lambda : authorizer)
  const values = eventType === 'MESSAGE' && !isOfMessage(context, fields(requestContext)) ? {} : context
  return {
    values,
    opensConnection: eventType === 'CONNECT',
    turnedAway: isTrue(values.rateLimited) && !isTrue(values.allowed),
    delayMs: Number(values.delayMs) || 0,
    reservation: typeof values.reservation === 'string' ? values.reservation : '',
    lowPriority: values.priority === 'low',
    infersResponse: version === '2.0',
  }
}

/**
 * Every event of a WebSocket has the context of the connection's own decision: a message has no part in that decision's
 * reservation or delay. A context that names the message is the message's own, from `withMessageLimit`.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-websocket-api-mapping-template-reference.html
 * `eventType`, `messageId`
 */
const isOfMessage = (values: Fields, { messageId }: Fields): boolean =>
  typeof messageId === 'string' && values.messageId === messageId

const isTrue = (value: unknown) => value === true || value === 'true'

type Fields = Readonly<Record<string, unknown>>

export function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

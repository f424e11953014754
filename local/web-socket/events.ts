import { API_IDS, logTime } from '../gateway/api'
import { groupHeaders, groupQuery, type UnroutedRequest } from '../gateway/incoming-request'
import { lastOfEach } from '../gateway/rest-api'

/** The stage, which is the path of a connection. */
export const STAGE = 'local'

/** One connection of a client. */
export interface Connection {
  readonly id: string
  readonly connectedAt: number
  readonly sourceIp: string
  readonly userAgent: string | undefined
  /** The authorizer's context, which every event of the connection has. */
  readonly authorizer: Readonly<Record<string, unknown>>
  /** `localhost:3000`, by which the client reached the gateway. */
  readonly host: string
}

/** The type of one event. */
export interface Occasion {
  readonly eventType: 'CONNECT' | 'MESSAGE' | 'DISCONNECT'
  readonly routeKey: string
  readonly requestId: string
  readonly at: number
  /** Why a connection ended. */
  readonly closed?: { readonly code: number; readonly reason: string }
}

/** The part of an event that its line in the access log is made of. */
export interface LoggedEvent {
  readonly requestContext: Readonly<Record<string, unknown>> & {
    readonly requestTimeEpoch: number
    readonly identity: { readonly sourceIp: string }
  }
}

/** The event of a route, as a Lambda function gets it. */
export interface WebSocketEvent extends LoggedEvent {
  readonly requestContext: LoggedEvent['requestContext'] & { readonly routeKey: string; readonly requestId: string }
  readonly body?: string
  readonly isBase64Encoded: boolean
}

export const CONNECT_ARN = `arn:aws:execute-api:us-east-1:${API_IDS.accountId}:${API_IDS.apiId}/${STAGE}/$connect`

/** @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-websocket-api-lambda-auth.html */
export function authorizerEvent(request: UnroutedRequest, connection: Omit<Connection, 'authorizer'>) {
  return {
    type: 'REQUEST',
    methodArn: CONNECT_ARN,
    ...handshakeOf(request),
    stageVariables: {},
    requestContext: contextOf(connection, connecting(request)),
  }
}

const connecting = ({ id, receivedAt }: UnroutedRequest): Occasion => ({
  eventType: 'CONNECT',
  routeKey: '$connect',
  requestId: id,
  at: receivedAt,
})

/** The event of `$connect`, which alone has the headers and the query of the handshake. */
export const connectEvent = (request: UnroutedRequest, connection: Connection): WebSocketEvent => ({
  ...handshakeOf(request),
  ...routeEvent(connection, connecting(request)),
})

/** The event of a message or of the connection's end. */
export function routeEvent(connection: Connection, occasion: Occasion, body?: string): WebSocketEvent {
  const { authorizer } = connection
  const requestContext = { ...contextOf(connection, occasion), authorizer }
  return { requestContext, ...(body !== undefined && { body }), isBase64Encoded: false }
}

function handshakeOf({ headers: sent, rawQuery }: UnroutedRequest) {
  const headers = groupHeaders(sent, 'as-sent')
  const query = groupQuery(rawQuery)
  return {
    headers: lastOfEach(headers),
    multiValueHeaders: Object.fromEntries(headers),
    ...(query.size > 0 && {
      queryStringParameters: lastOfEach(query),
      multiValueQueryStringParameters: Object.fromEntries(query),
    }),
  }
}

/**
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-websocket-api-mapping-template-reference.html
 */
function contextOf(
  { id, connectedAt, sourceIp, userAgent, host }: Omit<Connection, 'authorizer'>,
  { eventType, routeKey, requestId, at, closed }: Occasion,
) {
  return {
    routeKey,
    eventType,
    extendedRequestId: requestId,
    requestTime: logTime(at),
    messageDirection: 'IN',
    stage: STAGE,
    connectedAt,
    requestTimeEpoch: at,
    identity: { sourceIp, ...(userAgent !== undefined && { userAgent }) },
    requestId,
    domainName: host,
    connectionId: id,
    apiId: API_IDS.apiId,
    ...(eventType === 'MESSAGE' && { messageId: requestId }),
    ...(closed && { disconnectStatusCode: closed.code, disconnectReason: closed.reason }),
  }
}

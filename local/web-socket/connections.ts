import type { IncomingMessage, ServerResponse } from 'node:http'
import { type GatewayResponse, jsonResponse } from '../gateway/api'
import { type OwnAnswers, ownAnswer } from '../gateway/own-answers'
import { dropBody, readText, send } from '../gateway/send'
import { STAGE } from './events'
import { MAX_MESSAGE_BYTES, NORMAL, type OpenConnection } from './open-connection'

const GONE = jsonResponse(410, { message: 'Gone' }, { 'x-amzn-ErrorType': 'GoneException' })
const NO_WEB_SOCKET = jsonResponse(403, { message: 'Forbidden' })
const NO_CONSOLE = jsonResponse(404, {
  message: 'a WebSocket API has no console: sluice dev with --api rest or http has it',
})
const TOO_LARGE = jsonResponse(
  413,
  { message: 'Payload Too Large' },
  { 'x-amzn-ErrorType': 'PayloadTooLargeException' },
)

/**
 * Serves the HTTP side of a WebSocket API: `POST`, `GET` and `DELETE` of `/local/@connections/<id>`, by which backends
 * reach clients. On AWS such requests are signed; here any process on this machine may send them.
 *
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-how-to-call-websocket-api-connections.html
 */
export async function answerConnections(
  incoming: IncomingMessage,
  response: ServerResponse,
  open: ReadonlyMap<string, OpenConnection>,
  own: OwnAnswers,
): Promise<void> {
  const { method = 'GET', url = '/' } = incoming
  const [path = '', query = ''] = url.split('?')
  const [, id] = CONNECTIONS.exec(path) ?? []
  const answer =
    id !== undefined
      ? await answerAbout(open.get(decoded(id)), method, incoming, response)
      : (ownAnswer(incoming, path, query, own) ?? (path.startsWith('/_local') ? NO_CONSOLE : NO_WEB_SOCKET))
  await dropBody(incoming, response)
  send(response, answer)
}

const CONNECTIONS = new RegExp(`^(?:/${STAGE})?/@connections/([^/]+)$`)

function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}

async function answerAbout(
  connection: OpenConnection | undefined,
  method: string,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<GatewayResponse> {
  if (!connection) return GONE
  const { socket, connectedAt, lastActiveAt, sourceIp, userAgent } = connection
  switch (method) {
    case 'GET':
      return jsonResponse(200, {
        connectedAt: new Date(connectedAt).toISOString(),
        identity: { sourceIp, userAgent: userAgent ?? '' },
        lastActiveAt: new Date(lastActiveAt).toISOString(),
      })
    case 'POST': {
      const { text: data } = await readText(incoming, response, MAX_MESSAGE_BYTES)
      if (data === undefined) return TOO_LARGE
      socket.send(data)
      return { statusCode: 200, headers: {}, body: '' }
    }
    case 'DELETE':
      socket.close(NORMAL)
      return { statusCode: 204, headers: {}, body: '' }
    default:
      return jsonResponse(405, { message: 'Method Not Allowed' })
  }
}

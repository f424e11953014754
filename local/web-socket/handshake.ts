import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { UnroutedRequest } from '../gateway/incoming-request'
import type { Connection } from './events'

/** Whether a request asks for a WebSocket: RFC 6455 §4.2.1. */
export const isHandshake = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.upgrade?.toLowerCase() === 'websocket' &&
  headers['sec-websocket-version'] === '13' &&
  /^[\w+/]{22}==$/.test(headers['sec-websocket-key'] ?? '')

const REASONS: Readonly<Record<number, string>> = { 401: 'Unauthorized', 403: 'Forbidden' }

/** Refuses a handshake with an HTTP response. */
export function refuseUpgrade(socket: Socket, status: number, body: string): void {
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Error'}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

/** The connection that a handshake requests. */
export function connectionOf(request: UnroutedRequest, { headers }: IncomingMessage): Omit<Connection, 'authorizer'> {
  return {
    id: `${randomBytes(11).toString('base64url')}=`,
    connectedAt: request.receivedAt,
    sourceIp: request.sourceIp,
    userAgent: headers['user-agent'],
    host: headers.host ?? 'localhost',
  }
}

import type { WebSocket } from 'ws'
import type { Connection } from './events'

/** A connection that is open. */
export interface OpenConnection extends Connection {
  readonly socket: WebSocket
  lastActiveAt: number
}

/**
 * @see https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html
 */
export const MAX_MESSAGE_BYTES = 128 * 1024

/** Why a connection is closed: RFC 6455 §7.4.1. */
export const NORMAL = 1000
export const GOING_AWAY = 1001
export const UNSUPPORTED_DATA = 1003
export const ABNORMAL = 1006

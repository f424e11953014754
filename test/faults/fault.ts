import type { ServerResponse } from 'node:http'

/**
 * How far a connection gets: its name is not found, nobody listens, it is cut or never answered, or its TLS cannot be
 * trusted or understood.
 */
export type BrokenConnection = 'ENOTFOUND' | 'EAI_AGAIN' | 'refused' | 'reset' | 'silent' | 'untrusted' | 'not-tls'

/** DynamoDB's own answer, for faults that change it. */
export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Replaces an answer. `real` is DynamoDB's own, if the call has reached it. */
type Spoil = (response: ServerResponse, real: Answered | undefined) => void

export interface Fault {
  /** As results.md names it. */
  readonly name: string
  readonly connection?: BrokenConnection
  readonly answer?: Spoil
  /** DynamoDB's answer comes late, by this share of the decision's deadline. */
  readonly slow?: number
  /** Whether a retry is useless, since the same call would fail in the same way. */
  readonly final?: boolean
}

/** An error as DynamoDB sends it. */
const error =
  (status: number, type: string, more: object = {}): Spoil =>
  (response) =>
    send(
      response,
      status,
      JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${type}`, message: `made up: ${type}`, ...more }),
    )

const throttled = (reason: string): Spoil =>
  error(400, 'ThrottlingException', {
    throttlingReasons: [{ reason, resource: 'arn:aws:dynamodb:us-east-1:123456789012:table/state' }],
  })

const body = (status: number, text: string, type = 'application/x-amz-json-1.0'): Spoil => {
  return (response) => send(response, status, text, type)
}

function send(response: ServerResponse, status: number, text: string, type = 'application/x-amz-json-1.0'): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text)
}

const reset: Spoil = (response) => {
  response.socket?.resetAndDestroy()
}

/** Sends half of the answer and ends the connection. */
const cutOff: Spoil = (response, real) => {
  const text = real?.body ?? Buffer.from('{"Attributes":{}}')
  response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0', 'content-length': text.length + 10 })
  response.write(text.subarray(0, text.length / 2), () => response.socket?.resetAndDestroy())
}

/** Faults of an answer: each can come instead of the call, or after DynamoDB has done what it was asked. */
export const ANSWERS: readonly Fault[] = [
  { name: 'ProvisionedThroughputExceededException', answer: error(400, 'ProvisionedThroughputExceededException') },
  { name: 'ThrottlingException, the table', answer: throttled('TableWriteMaxOnDemandThroughputExceeded') },
  { name: 'ThrottlingException, a hot key', answer: throttled('TableWriteKeyRangeThroughputExceeded'), final: true },
  { name: 'ThrottlingException, the account', answer: throttled('TableWriteAccountLimitExceeded') },
  { name: 'RequestLimitExceeded', answer: error(400, 'RequestLimitExceeded') },
  { name: 'InternalServerError', answer: error(500, 'InternalServerError') },
  { name: 'ResourceNotFoundException', answer: error(400, 'ResourceNotFoundException'), final: true },
  { name: 'AccessDeniedException', answer: error(400, 'AccessDeniedException'), final: true },
  { name: 'ExpiredTokenException', answer: error(400, 'ExpiredTokenException'), final: true },
  { name: 'status 500 with HTML', answer: body(500, '<html><body>Internal Server Error</body></html>', 'text/html') },
  { name: 'status 503, empty', answer: body(503, '') },
  { name: 'status 200, empty', answer: body(200, '') },
  { name: 'status 200, `{}`', answer: body(200, '{}') },
  { name: 'garbage, no JSON', answer: body(200, '\u0000\u0001 not { JSON') },
  { name: 'JSON of another kind', answer: body(200, '{"Attributes":["a",7],"Items":"none","Item":{"pk":null}}') },
  { name: 'connection reset', answer: reset },
  { name: 'half an answer', answer: cutOff },
  { name: 'stalled, no answer', answer: () => {} },
]

/** A correct answer that is late. */
export const SLOW: readonly Fault[] = [
  { name: 'slow, a third of the deadline', slow: 0.3 },
  { name: 'slow, two thirds of the deadline', slow: 0.7 },
  { name: 'slow, past the deadline', slow: 1.3 },
]

/** Faults before anything is sent. */
export const CONNECTIONS: readonly Fault[] = [
  { name: 'DNS: ENOTFOUND', connection: 'ENOTFOUND' },
  { name: 'DNS: EAI_AGAIN', connection: 'EAI_AGAIN' },
  { name: 'ECONNREFUSED', connection: 'refused' },
  { name: 'ECONNRESET', connection: 'reset' },
  { name: 'a connection that is silent', connection: 'silent' },
  { name: 'TLS: a certificate not trusted', connection: 'untrusted' },
  { name: 'TLS: no handshake', connection: 'not-tls' },
]

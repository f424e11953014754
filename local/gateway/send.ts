import type { IncomingMessage, ServerResponse } from 'node:http'
import { type GatewayResponse, jsonResponse } from './api'

/** @see https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html */
export const MAX_BODY_BYTES = 10 * 1024 * 1024

export const TOO_LONG: GatewayResponse = jsonResponse(413, { message: 'Request Too Long' })

/** Sends a response of the gateway itself. */
export function send(response: ServerResponse, { statusCode, headers, body }: GatewayResponse): void {
  response.writeHead(statusCode, {
    ...headers,
    ...(statusCode !== 204 && { 'Content-Length': Buffer.byteLength(body) }),
  })
  response.end(body)
}

/**
 * Reads and drops the body, since the connection cannot be used again before it is read.
 *
 * @returns whether it is no longer than API Gateway accepts.
 */
export async function readBody(incoming: IncomingMessage, response: ServerResponse): Promise<boolean> {
  askForBody(incoming, response)
  let bytes = 0
  for await (const chunk of incoming) bytes += (chunk as Buffer).length
  return bytes <= MAX_BODY_BYTES
}

/**
 * Reads the body as text, to its end.
 *
 * @param most the maximum of bytes; `text` is undefined if it has more.
 */
export async function readText(
  incoming: IncomingMessage,
  response: ServerResponse,
  most: number,
): Promise<{ readonly text: string | undefined; readonly bytes: number }> {
  askForBody(incoming, response)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming) {
    bytes += (chunk as Buffer).length
    if (bytes <= most) chunks.push(chunk as Buffer)
  }
  return { text: bytes <= most ? Buffer.concat(chunks).toString('utf8') : undefined, bytes }
}

/** Makes a client that waits for 100 Continue send its body (RFC 9110 §10.1.1). */
export function askForBody(incoming: IncomingMessage, response: ServerResponse): void {
  if (isWaiting(incoming)) response.writeContinue()
}

/**
 * Reads the unneeded rest of a body. A client that waits for 100 Continue never sends it: its connection ends with the
 * response, since what it sends next could be either the body or a request.
 */
export async function dropBody(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  if (isWaiting(incoming)) response.shouldKeepAlive = false
  else if (!incoming.complete) await readBody(incoming, response)
}

const isWaiting = ({ headers }: IncomingMessage): boolean => headers.expect?.toLowerCase() === '100-continue'

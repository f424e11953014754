import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'

/** A request as it came over the wire. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Answers one request; `count` is its number, from 1 on. */
export type Respond = (response: ServerResponse, request: Received, count: number) => void

/** A server of HTTP on this machine that records its requests. */
export class RecordingServer {
  readonly received: Received[] = []
  respond: Respond = ok
  private readonly server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers } = request
    const received = { method, path: url, headers, body: Buffer.concat(chunks).toString() }
    this.respond(response, received, this.received.push(received))
  })

  async listen(): Promise<void> {
    await listen(this.server)
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

/** DynamoDB's answer that nothing was there. */
export const ok = (response: ServerResponse): void => reply(response, 200, {})

/** An answer as DynamoDB gives it. */
export function reply(response: ServerResponse, status: number, body: object | string, headers: object = {}): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  response
    .writeHead(status, { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': 'R1', ...headers })
    .end(text)
}

/** A server of raw bytes on this machine: each request that has arrived is handed to `respond` with its socket. */
export class RawServer {
  /** Sockets that are open, and all that ever were. */
  readonly open = new Set<Socket>()
  sockets = 0
  requests = 0
  /** Sockets that the other side has ended or reset. */
  ended = 0
  respond: (socket: Socket, count: number) => void = (socket) => void socket.write(answerOf('{}'))
  private readonly server: Server = createTcpServer((socket) => {
    this.sockets++
    this.open.add(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('close', () => {
      this.ended++
      this.open.delete(socket)
    })
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1')
      for (let end = endOfRequest(text); end > 0; end = endOfRequest(text)) {
        text = text.slice(end)
        this.respond(socket, ++this.requests)
      }
    })
  })

  async listen(): Promise<void> {
    await listen(this.server)
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  async close(): Promise<void> {
    for (const socket of this.open) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

/** The bytes of a complete answer of DynamoDB. */
export const answerOf = (body: string | Buffer, status = '200 OK', headers = ''): Buffer =>
  Buffer.concat([
    Buffer.from(
      `HTTP/1.1 ${status}\r\nx-amzn-requestid: R1\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n`,
    ),
    Buffer.from(body),
  ])

/** Where the first request in a text ends, 0 as long as it does not. */
function endOfRequest(text: string): number {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return 0
  const length = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0)
  return text.length >= head + 4 + length ? head + 4 + length : 0
}

const listen = (server: Server): Promise<void> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve()))

/** Lets a socket's bytes arrive before the next ones. */
export const delivered = () => new Promise((resolve) => setImmediate(resolve))

export const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5))
}

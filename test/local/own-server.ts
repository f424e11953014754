import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'

/** A server of one's own, and what reached it. */
export interface OwnServer {
  readonly url: string
  readonly port: number
  readonly seen: Seen[]
  close(): void
}

interface Seen {
  readonly method: string
  readonly url: string
  readonly rawHeaders: readonly string[]
  readonly headers: IncomingMessage['headers']
  readonly body: Promise<Buffer | undefined>
}

/** @param answer gets each request when it has come. @default 200 with a text */
export async function ownServer(
  answer: (incoming: IncomingMessage, response: ServerResponse) => unknown = (_, response) => response.end('own'),
): Promise<OwnServer> {
  const seen: Seen[] = []
  const listener: RequestListener = (incoming, response) => {
    const { method = '', url = '', rawHeaders, headers } = incoming
    seen.push({ method, url, rawHeaders, headers, body: bodyOf(incoming) })
    answer(incoming, response)
  }
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** `undefined` where it broke off. */
function bodyOf(incoming: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk) => chunks.push(chunk))
    incoming.on('end', () => resolve(Buffer.concat(chunks)))
    incoming.on('error', () => resolve(undefined)).on('close', () => resolve(undefined))
  })
}

/** Sends text as it is, which no HTTP client would, and returns all that comes until the connection ends. */
export function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
    })
    socket.on('end', () => resolve(received)).on('error', reject)
  })
}

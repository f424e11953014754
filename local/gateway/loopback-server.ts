import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** Takes over a connection for another protocol; `head` is what the client has sent of it so far. */
export type UpgradeListener = (request: IncomingMessage, socket: Socket, head: Buffer) => void

export interface LoopbackServer {
  readonly port: number
  /** Accepts no more requests, lets those in progress finish within `graceMs`, and closes every connection. */
  close(graceMs: number): Promise<void>
}

/**
 * Serves HTTP on both addresses of `localhost`, and on no other. Port 0 picks a free one. Rejects with `EADDRINUSE`
 * when either is taken.
 *
 * @param upgrade gets requests for another protocol, and then owns their connections. @default they are requests like
 * others
 * @param keepAliveMs how long a connection may stay without a request. @default Node's: 5 s
 */
export async function listenOnLoopback(
  port: number,
  listener: RequestListener,
  upgrade?: UpgradeListener,
  keepAliveMs?: number,
): Promise<LoopbackServer> {
  const v4 = await listen('127.0.0.1', port, listener, upgrade, keepAliveMs)
  const v6 = await listen('::1', v4.port, listener, upgrade, keepAliveMs).catch(
    async (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT') return undefined
      await v4.close(0)
      throw error
    },
  )
  return {
    port: v4.port,
    close: async (graceMs) => {
      await Promise.all([v4.close(graceMs), v6?.close(graceMs)])
    },
  }
}

async function listen(
  host: string,
  port: number,
  listener: RequestListener,
  upgrade: UpgradeListener | undefined,
  keepAliveMs: number | undefined,
): Promise<LoopbackServer> {
  const server = createServer(listener)
  if (keepAliveMs !== undefined) server.keepAliveTimeout = keepAliveMs
  if (upgrade) server.on('upgrade', upgrade)
  // A client that waits for 100 Continue gets it when its body is needed, otherwise the final response.
  server.on('checkContinue', listener)
  server.on('connect', (_, socket: Socket) => socket.end(NO_TUNNELS))
  const connections = followConnections(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: async (graceMs) => {
      const closed = new Promise((resolve) => server.close(resolve))
      connections.closeWhenIdle()
      const impatience = setTimeout(() => server.closeAllConnections(), graceMs)
      await closed
      clearTimeout(impatience)
    },
  }
}

const NO_TUNNELS = [
  'HTTP/1.1 405 Method Not Allowed',
  'Content-Type: application/json',
  'Connection: close',
  '',
  '{"message":"CONNECT is for proxies: this is an API, so request its paths"}',
].join('\r\n')

/**
 * Tracks idle connections. Node's own `closeIdleConnections` does not close connections without any request yet, and
 * browsers open such ones ahead of need. Here a connection is idle when no request is in progress on it.
 */
function followConnections(server: Server): { closeWhenIdle(): void } {
  const underWay = new Map<Socket, number>()
  let closing = false
  const closeIfIdle = (socket: Socket) => {
    if (closing && underWay.get(socket) === 0) socket.end(() => socket.destroy())
  }
  server.on('connection', (socket: Socket) => {
    underWay.set(socket, 0)
    socket.once('close', () => underWay.delete(socket))
  })
  const follow: RequestListener = ({ socket }, response) => {
    underWay.set(socket, (underWay.get(socket) ?? 0) + 1)
    response.once('close', () => {
      if (!underWay.has(socket)) return
      underWay.set(socket, (underWay.get(socket) ?? 1) - 1)
      closeIfIdle(socket)
    })
  }
  server.on('request', follow).on('checkContinue', follow)
  return {
    closeWhenIdle() {
      closing = true
      for (const socket of underWay.keys()) closeIfIdle(socket)
    },
  }
}

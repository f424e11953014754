import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Engine } from './engine'

/**
 * dynalite, pure JavaScript, in this process and in memory: runs wherever Node runs.
 *
 * It never returns the item that failed a condition, so the authorizer reads that item: a call more than on AWS.
 */
export async function startDynalite(): Promise<Engine> {
  const { default: dynalite } = await import('dynalite')
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  let stopped: Promise<void> | undefined
  return {
    name: 'dynalite',
    endpoint: `http://127.0.0.1:${port}`,
    stop: () => {
      stopped ??= close(server)
      return stopped
    },
  }
}

/** Closes the connections first, since the server's own `close` waits for those that clients keep alive. */
async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../start-error'
import type { Engine, EngineAddress } from './engine'

/** Whether the package is installed. */
export function hasDynalite(): boolean {
  try {
    require.resolve('dynalite')
    return true
  } catch {
    return false
  }
}

/**
 * dynalite, pure JavaScript, in this process and in memory: runs wherever Node runs.
 *
 * It never returns the item that failed a condition, so the authorizer reads that item: one call more than on AWS.
 *
 * @param at the address to listen on. @default any free port of 127.0.0.1
 */
export async function startDynalite(at: EngineAddress = { host: '127.0.0.1', port: 0 }): Promise<Engine> {
  if (!hasDynalite()) throw new StartError('dynalite is not installed: npm install --save-dev dynalite')
  const { default: dynalite } = await import('dynalite')
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
  const underWay = followRequests(server)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, resolve)
  })
  const { port } = server.address() as AddressInfo
  let stopped: Promise<void> | undefined
  return {
    name: 'dynalite',
    endpoint: `http://${at.host}:${port}`,
    stop: () => {
      stopped ??= close(server, underWay)
      return stopped
    },
  }
}

/** How long requests under way may take when the engine stops. */
const FINISH_WITHIN_MS = 2000

/**
 * Counts the requests that dynalite still works on, including those whose client is gone: after its database is closed
 * they end in an uncaught error.
 */
function followRequests(server: Server): () => number {
  let underWay = 0
  server.prependListener('request', (_, response) => {
    underWay++
    const end = response.end
    response.end = ((...args: Parameters<typeof end>) => {
      underWay--
      return end.apply(response, args)
    }) as typeof end
  })
  return () => underWay
}

/** Closes the connections first, since the server's own `close` waits for those that clients keep alive. */
async function close(server: Server, underWay: () => number): Promise<void> {
  for (const until = Date.now() + FINISH_WITHIN_MS; underWay() > 0 && Date.now() < until; ) await sleep(5)
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

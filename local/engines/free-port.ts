import { type AddressInfo, createServer } from 'node:net'
import { StartError } from '../start-error'

/**
 * A port on the loopback interface that was free a moment ago, for an engine that cannot choose and report one itself.
 */
export const freePort = (): Promise<number> => tryPort(0)

/**
 * Rejects with a `StartError` if a port of the loopback interface is in use, or not permitted. Port 0 is free.
 *
 * @param option the option that chooses another port.
 */
export async function assertFree(port: number, option: string): Promise<void> {
  await tryPort(port).catch((error) => {
    throw portError(error, port, option)
  })
}

/** The message about a port on which nothing can listen. */
export function portError(error: NodeJS.ErrnoException, port: number, option: string): Error {
  const why = error.code === 'EADDRINUSE' ? 'is taken' : error.code === 'EACCES' ? 'needs privileges' : undefined
  return why === undefined ? error : new StartError(`port ${port} ${why}: choose another with ${option}`)
}

async function tryPort(wanted: number): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(wanted, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

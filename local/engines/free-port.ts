import { type AddressInfo, createServer } from 'node:net'

/**
 * A port on the loopback interface that was free a moment ago, for an engine that cannot choose and report one itself.
 */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

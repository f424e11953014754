import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { reasonOf, StartError } from '../start-error'
import type { Engine, EngineAddress } from './engine'
import { startEngineProcess } from './engine-process'
import { freePort } from './free-port'

/** The package with dynoxide's binary for this system and processor. */
export const DYNOXIDE_PACKAGE = `@dynoxide/${process.platform}-${process.arch}`

/** The binary that ran: it is tried once, since a process as large as a test's takes long to start another. */
let found: string | undefined

/** The binary from the optional package, or `undefined` where it is not installed or does not run. */
export function dynoxideBinary(): string | undefined {
  if (found !== undefined) return found
  try {
    const name = process.platform === 'win32' ? 'dynoxide.exe' : 'dynoxide'
    const binary = join(dirname(require.resolve(`${DYNOXIDE_PACKAGE}/package.json`)), name)
    const { status } = spawnSync(binary, ['--version'], { stdio: 'ignore', timeout: 5000, windowsHide: true })
    if (status === 0) found = binary
    return found
  } catch {
    return undefined
  }
}

/**
 * dynoxide, a static binary, as a child process and in memory: of the embedded engines the one whose conditions are
 * closest to AWS's, and the fastest.
 *
 * @param at the address to listen on. @default any free port of 127.0.0.1
 * @param isLeftRunning see `EngineCommand`.
 */
export async function startDynoxide(binary: string, at?: EngineAddress, isLeftRunning = false): Promise<Engine> {
  const { host, port } = at ?? { host: '127.0.0.1', port: await freePort() }
  try {
    return await startEngineProcess({
      name: 'dynoxide',
      endpoint: `http://${host}:${port}`,
      command: binary,
      args: ['--host', host, '--port', String(port)],
      answersWithinMs: 5000,
      isLeftRunning,
    })
  } catch (error) {
    throw new StartError(`dynoxide did not start: ${reasonOf(error)}. Use --engine dynalite`)
  }
}

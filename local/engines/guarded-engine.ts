import { listenOnLoopback } from '../gateway/loopback-server'
import type { Engine } from './engine'
import { assertFree, portError } from './free-port'
import { hiddenAddress } from './hidden-address'
import { passOn, refuseBrowsers, sharedConnections } from './pass-on'
import { type EngineWish, startEngine } from './start-engine'

/** An engine that web pages cannot use. */
export interface GuardedEngine extends Engine {
  /** The engine itself, for clients of this process. */
  readonly direct: string
}

interface GuardedWish extends Omit<EngineWish, 'at'> {
  /** Where programs find it. @default any free port */
  readonly port?: number
  /** Host names other than this machine's under which it may be called. @default none */
  readonly allowHosts?: readonly string[]
}

/** The idle time of common SDKs' connections. */
const KEEP_ALIVE_MS = 60_000
const FINISH_WITHIN_MS = 2000

/**
 * Starts an engine for users. Embedded ones answer every origin (`Access-Control-Allow-Origin: *`), so any web page
 * that is open on this machine could read and write the tables. So the engine listens where no browser connects, and at
 * the known port a guard refuses what a page could send, and passes everything else on. An engine that the user runs is
 * used as it is.
 */
export async function startGuardedEngine({ port = 0, allowHosts, ...wish }: GuardedWish): Promise<GuardedEngine> {
  if (wish.endpoint !== undefined) {
    const external = await startEngine(wish)
    return { ...external, direct: external.endpoint }
  }
  // Another process that listens there may answer as DynamoDB does, and would be taken for the engine.
  await assertFree(port, '--dynamodb-port')
  const address = await hiddenAddress()
  const steps: (() => unknown)[] = [() => address.release()]
  const stop = async () => {
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) await step()
  }
  try {
    const engine = await startEngine({ ...wish, at: address })
    steps.push(() => engine.stop())
    const target = new URL(engine.endpoint)
    const agent = sharedConnections()
    steps.push(() => agent.destroy())
    const guard = await listenOnLoopback(
      port,
      (incoming, response) => {
        if (!refuseBrowsers(incoming, response, allowHosts)) passOn(incoming, response, { target, agent })
      },
      undefined,
      KEEP_ALIVE_MS,
    ).catch((error) => {
      throw portError(error, port, '--dynamodb-port')
    })
    steps.push(() => guard.close(FINISH_WITHIN_MS))
    return { name: engine.name, endpoint: `http://127.0.0.1:${guard.port}`, direct: engine.endpoint, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

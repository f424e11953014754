import { StartError } from '../start-error'
import { hasDynalite, startDynalite } from './dynalite'
import { DYNOXIDE_PACKAGE, dynoxideBinary, startDynoxide } from './dynoxide'
import type { Engine, EngineName } from './engine'
import { useExternalEngine } from './external'
import { assertFree } from './free-port'

interface EngineWish {
  readonly engine?: EngineName
  /** An engine that already runs. */
  readonly endpoint?: string
  /** Where an embedded engine is to listen. @default any free port */
  readonly port?: number
}

/**
 * The requested engine, or else the fastest that runs here: dynoxide, else dynalite.
 *
 * Returns when it answers. A requested engine is never replaced by another.
 */
export async function startEngine({ engine, endpoint, port = 0 }: EngineWish): Promise<Engine> {
  if (engine !== undefined && endpoint !== undefined) {
    throw new StartError('--engine and SLUICE_DYNAMODB_ENDPOINT exclude each other: unset one of them')
  }
  if (endpoint !== undefined) return useExternalEngine(endpoint)
  // Whoever listens there may answer as DynamoDB does, and would be taken for the engine.
  await assertFree(port, '--dynamodb-port')
  if (engine === 'dynalite') return startDynalite(port)

  const binary = dynoxideBinary()
  if (binary !== undefined) return startDynoxide(binary, port)
  if (engine === 'dynoxide') {
    throw new StartError(
      `dynoxide does not run here: it needs the optional package ${DYNOXIDE_PACKAGE}. Use --engine dynalite`,
    )
  }
  if (!hasDynalite()) {
    throw new StartError(
      'no DynamoDB engine is installed: npm install --save-dev dynalite. Or name a DynamoDB that runs with SLUICE_DYNAMODB_ENDPOINT',
    )
  }
  return startDynalite(port)
}

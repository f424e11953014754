import { StartError } from '../start-error'
import { hasDynalite, startDynalite } from './dynalite'
import { DYNOXIDE_PACKAGE, dynoxideBinary, startDynoxide } from './dynoxide'
import type { Engine, EngineAddress, EngineName } from './engine'
import { useExternalEngine } from './external'

export interface EngineWish {
  readonly engine?: EngineName
  /** An engine that already runs. */
  readonly endpoint?: string
  /** The free address for an embedded engine to listen on. @default any free port of 127.0.0.1 */
  readonly at?: EngineAddress
}

/**
 * The requested engine, or else the fastest that runs here: dynoxide, else dynalite.
 *
 * Returns when it answers. A requested engine is never replaced by another. It answers any page that finds it: for
 * users there is `startGuardedEngine`.
 */
export async function startEngine({ engine, endpoint, at }: EngineWish): Promise<Engine> {
  if (engine !== undefined && endpoint !== undefined) {
    throw new StartError('--engine and SLUICE_DYNAMODB_ENDPOINT exclude each other: unset one of them')
  }
  if (endpoint !== undefined) return useExternalEngine(endpoint)
  if (engine === 'dynalite') return startDynalite(at)

  const binary = dynoxideBinary()
  if (binary !== undefined) return startDynoxide(binary, at)
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
  return startDynalite(at)
}

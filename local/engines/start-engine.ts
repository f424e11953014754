import { StartError } from '../start-error'
import { startDynalite } from './dynalite'
import { dynoxideBinary, startDynoxide } from './dynoxide'
import type { Engine, EngineName } from './engine'
import { useExternalEngine } from './external'

/**
 * The requested engine, or else the fastest that runs here: dynoxide, else dynalite.
 *
 * Returns when it answers. A requested engine is never replaced by another.
 */
export async function startEngine(wish: { readonly engine?: EngineName; readonly endpoint?: string }): Promise<Engine> {
  if (wish.engine !== undefined && wish.endpoint !== undefined) {
    throw new StartError('--engine and SLUICE_DYNAMODB_ENDPOINT exclude each other: unset one of them')
  }
  if (wish.endpoint !== undefined) return useExternalEngine(wish.endpoint)
  if (wish.engine === 'dynalite') return startDynalite()

  const binary = dynoxideBinary()
  if (binary !== undefined) return startDynoxide(binary)
  if (wish.engine === 'dynoxide') {
    throw new StartError(
      'dynoxide does not run here: it needs Linux on x64 and the optional package @dynoxide/linux-x64. Use --engine dynalite',
    )
  }
  return startDynalite()
}

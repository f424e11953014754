import type { EngineName } from '../../local/engines/engine'
import { parseFlags } from '../flags'

export interface LoadOptions {
  readonly help: boolean
  readonly smoke: boolean
  readonly engine: EngineName | undefined
}

export const LOAD_HELP = `Sends traffic of several shapes to the local gateway and to the bare handler, and checks what was admitted.

  npm run bench:load [-- options]

  --smoke                       fewer requests, for a check in 15 seconds
  --engine dynoxide|dynalite    DynamoDB engine (default: dynoxide where it runs, else dynalite)
  --help                        this text

The exit code is 1 unless admitted equals expected, and if a denied request costs as much as an allowed one. A missed goal
for calls is reported and is not an error.
`

/** Reads the command line. Throws a `StartError` for the first mistake. */
export function parseLoadOptions(args: readonly string[]): LoadOptions {
  const { help, smoke, engine } = parseFlags(args, 'bench:load', ['smoke'])
  return { help, smoke: smoke ?? false, engine }
}

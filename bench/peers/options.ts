import type { EngineName } from '../../local/engines/engine'
import { parseFlags } from '../flags'

export interface PeersOptions {
  readonly help: boolean
  readonly smoke: boolean
  readonly write: boolean
  readonly engine: EngineName | undefined
}

export const PEERS_HELP = `Asks Sluice and other limiters on DynamoDB the same questions, on one engine in one run.

  npm run bench:peers [-- options]

  --smoke                       fewer rounds: to see that it runs
  --write                       writes the table into docs/comparison.md
  --engine dynoxide|dynalite    DynamoDB engine (default: dynoxide where it runs, else dynalite)
  --help                        this text

zae-limiter runs where Python 3.11 is, installed once into the user's cache; where it is not, its column says so. The exit code is 1 when Sluice is
wrong in an experiment; what others do is reported.
`

/** Reads the command line. Throws a `StartError` for the first mistake. */
export function parsePeersOptions(args: readonly string[]): PeersOptions {
  const { help, smoke, write, engine } = parseFlags(args, 'bench:peers', ['smoke', 'write'])
  return { help, smoke: smoke ?? false, write: write ?? false, engine }
}

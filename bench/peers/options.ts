import type { EngineName } from '../../local/engines/engine'
import { parseFlags } from '../flags'

export interface PeersOptions {
  readonly help: boolean
  readonly smoke: boolean
  readonly write: boolean
  /** Only the programs that are the same limit in each library. */
  readonly programs: boolean
  readonly engine: EngineName | undefined
}

export const PEERS_HELP = `Asks Sluice and other limiters on DynamoDB the same questions, on one engine in one run. Then weighs and runs the
programs in bench/peers/programs, the same limit by each library: their lines, bytes, calls, and answers in an outage.

  npm run bench:peers [-- options]

  --smoke                       fewer rounds: to see that it runs
  --programs                    only the programs, in about three minutes
  --write                       writes the tables into docs/comparison.md
  --engine dynoxide|dynalite    DynamoDB engine (default: dynoxide where it runs, else dynalite)
  --help                        this text

zae-limiter runs where Python 3.11 is, installed once into the user's cache; where it is not, its column says so. The exit code is 1 when Sluice is
wrong in an experiment, or a program does not hold its limit; what others do is reported.
`

/** Reads the command line. Throws a `StartError` for the first mistake. */
export function parsePeersOptions(args: readonly string[]): PeersOptions {
  const { help, engine, ...given } = parseFlags(args, 'bench:peers', ['smoke', 'write', 'programs'])
  const { smoke = false, write = false, programs = false } = given
  return { help, smoke, write, programs, engine }
}

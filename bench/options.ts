import { parseArgs } from 'node:util'
import { ENGINE_NAMES, type EngineName } from '../local/engines/engine'
import { StartError } from '../local/start-error'
import { ONLY_BY_NAME, PART_NAMES, type PartName } from './parts'

export interface Options {
  readonly help: boolean
  readonly json: boolean
  readonly quick: boolean
  readonly only: readonly PartName[]
  readonly engine: EngineName | undefined
}

export const HELP = `Measures Sluice, and reports for each figure whether it meets its goal.

  npm run bench [-- options]          prints tables
  npm run -s bench -- --json          prints the same as one JSON document

  --quick                       fewer rounds, for a check in under a minute
  --only <part>,<part>          ${PART_NAMES.join(', ')} (default: all but ${ONLY_BY_NAME.join(', ')})
  --engine dynoxide|dynalite    DynamoDB engine (default: dynoxide where it runs, else dynalite)
  --json                        one JSON document on standard output, progress on standard error
  --help                        this text

A missed goal is reported and is not an error. Figures that compare two things run them in turns in the same minute: read the ratios, and
their spread, before the absolute numbers.
`

/** Reads the command line. Throws a `StartError` for the first mistake. */
export function parseOptions(args: readonly string[]): Options {
  const { values, positionals } = parse(args)
  if (positionals.length > 0)
    throw new StartError(`unexpected argument "${positionals[0]}": npm run bench -- --help lists the options`)
  return {
    help: values.help ?? false,
    json: values.json ?? false,
    quick: values.quick ?? false,
    only:
      values.only?.split(',').map((name) => oneOf(PART_NAMES, name, '--only')) ??
      PART_NAMES.filter((name) => !ONLY_BY_NAME.includes(name)),
    engine: values.engine === undefined ? undefined : oneOf(ENGINE_NAMES, values.engine, '--engine'),
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: 'boolean' },
        only: { type: 'string' },
        engine: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    const [what] = (error as Error).message.split(/\. |\n/)
    throw new StartError(`${what}: npm run bench -- --help lists the options`)
  }
}

function oneOf<Name extends string>(names: readonly Name[], text: string, option: string): Name {
  const found = names.find((name) => name === text)
  if (found !== undefined) return found
  throw new StartError(`${option} must be one of ${names.join(', ')}, got "${text}"`)
}

import { parseArgs } from 'node:util'
import { ENGINE_NAMES, type EngineName } from '../../local/engines/engine'
import { StartError } from '../../local/start-error'

export interface Options {
  readonly help: boolean
  readonly minutes: number
  /** Requests a second. */
  readonly rate: number
  readonly engine: EngineName | undefined
}

export const HELP = `Sends requests to the authorizer's bundle for an hour or more, and checks that memory, descriptors, speed and admitted units stay as expected.

  npm run soak -- [options]

  --minutes <number>            duration in minutes, fractions allowed (default: 60)
  --rate <number>               requests a second, 10 to 2000 (default: 200)
  --engine dynoxide|dynalite    DynamoDB engine, in a process of its own (default: dynoxide where it runs, else dynalite)
  --help                        this text

The exit code is 1 when a check fails.
`

/** Reads the command line. Throws a `StartError` for the first mistake. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parse(args)
  const engine = ENGINE_NAMES.find((name) => name === values.engine)
  if (values.engine !== undefined && engine === undefined) {
    throw new StartError(`--engine must be one of ${ENGINE_NAMES.join(', ')}, got "${values.engine}"`)
  }
  return {
    help: values.help ?? false,
    minutes: numberIn(values.minutes ?? '60', '--minutes', 0.1, 10_000),
    rate: numberIn(values.rate ?? '200', '--rate', 10, 2000),
    engine,
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        minutes: { type: 'string' },
        rate: { type: 'string' },
        engine: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    const [what] = (error as Error).message.split(/\. |\n/)
    throw new StartError(`${what}: npm run soak -- --help lists the options`)
  }
}

function numberIn(text: string, name: string, from: number, to: number): number {
  const number = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (number >= from && number <= to) return number
  throw new StartError(`${name} must be a number from ${from} to ${to}, got "${text}"`)
}

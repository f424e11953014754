import { parseArgs } from 'node:util'
import { ENGINE_NAMES, type EngineName } from '../../local/engines/engine'
import { StartError } from '../../local/start-error'

export interface LoadOptions {
  readonly help: boolean
  readonly smoke: boolean
  readonly engine: EngineName | undefined
}

export const LOAD_HELP = `Sends traffic of several shapes to the local gateway and to the bare handler, and checks what passed.

  npm run bench:load [-- options]

  --smoke                       fewer requests: to see that it holds, in a quarter of a minute
  --engine dynoxide|dynalite    DynamoDB engine (default: dynoxide where it runs, else dynalite)
  --help                        this text

The exit code is 1 when more passed than may, or less, or when a denied request costs as much as an allowed one. A goal for calls that is missed is
reported and is no error.
`

/** Reads the command line. Throws a `StartError` for the first mistake. */
export function parseLoadOptions(args: readonly string[]): LoadOptions {
  const values = parse(args)
  const engine = ENGINE_NAMES.find((name) => name === values.engine)
  if (values.engine !== undefined && engine === undefined)
    throw new StartError(`--engine must be one of ${ENGINE_NAMES.join(', ')}, got "${values.engine}"`)
  return { help: values.help ?? false, smoke: values.smoke ?? false, engine }
}

function parse(args: readonly string[]) {
  try {
    const options = { smoke: { type: 'boolean' }, engine: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    const [what] = (error as Error).message.split(/\. |\n/)
    throw new StartError(`${what}: npm run bench:load -- --help lists the options`)
  }
}

import { parseArgs } from 'node:util'
import { ENGINE_NAMES, type EngineName } from '../local/engines/engine'
import { StartError } from '../local/start-error'

type Flags<Name extends string> = { readonly [name in Name]?: boolean } & {
  readonly help: boolean
  readonly engine: EngineName | undefined
}

/**
 * Reads a command line of `--help`, `--engine` and switches of the script's own. Throws a `StartError` for the first
 * mistake.
 *
 * @param script the name under which npm runs it
 */
export function parseFlags<Name extends string>(
  args: readonly string[],
  script: string,
  switches: readonly Name[],
): Flags<Name> {
  const { engine: wish, ...given } = parse(args, script, switches)
  const engine = ENGINE_NAMES.find((name) => name === wish)
  if (wish !== undefined && engine === undefined)
    throw new StartError(`--engine must be one of ${ENGINE_NAMES.join(', ')}, got "${wish}"`)
  return { help: false, ...given, engine } as Flags<Name>
}

function parse(args: readonly string[], script: string, switches: readonly string[]): Record<string, unknown> {
  const booleans = Object.fromEntries(switches.map((name) => [name, { type: 'boolean' as const }]))
  try {
    const options = { ...booleans, engine: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    const [what] = (error as Error).message.split(/\. |\n/)
    throw new StartError(`${what}: npm run ${script} -- --help lists the options`)
  }
}

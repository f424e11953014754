import { parseArgs } from 'node:util'
import { ENGINE_NAMES, type EngineName } from './engines/engine'
import { StartError } from './start-error'

export interface Options {
  readonly help: boolean
  /** 0 picks a free one. */
  readonly port: number
  readonly api: 'rest' | 'http'
  /** Function instances. */
  readonly instances: number
  /** @default the fastest that runs here */
  readonly engine?: EngineName
  /** An engine that already runs. @default an embedded one */
  readonly endpoint?: string
}

export const HELP = `Runs Sluice behind a local API Gateway, on a DynamoDB engine in memory.

  npm start [-- options]

  --port <number>              port to listen on, 0 for any free one (default: PORT, else 3000)
  --engine dynoxide|dynalite   DynamoDB engine (default: dynoxide where it runs, else dynalite)
  --api rest|http              kind of API: on an HTTP API every denial is a plain 403, as on AWS (default: rest)
  --instances <number>         authorizer instances at a time, 1 to 64 (default: 2)
  --help                       this text

  PORT                         port to listen on
  SLUICE_DYNAMODB_ENDPOINT     URL of a DynamoDB to use instead of the embedded engine
  SLUICE_LOG_LEVEL             what the authorizer logs: info prints each denial, debug each decision (default: warn)
  SLUICE_DEADLINE_MS           time limit for one decision, passed to the authorizer (default: the authorizer’s)
`

/** Reads the command line and the environment. Throws a `StartError` for the first mistake. */
export function parseOptions(args: readonly string[], env: NodeJS.ProcessEnv): Options {
  const { values, positionals } = parse(args)
  if (positionals.length > 0) {
    throw new StartError(
      `unexpected argument "${positionals[0]}": options go after --, as in npm start -- --engine dynalite`,
    )
  }
  const port = values.port ?? (env.PORT || undefined)
  const endpoint = env.SLUICE_DYNAMODB_ENDPOINT || undefined
  return {
    help: values.help ?? false,
    port: wholeNumber(port ?? '3000', values.port === undefined ? 'PORT' : '--port', 0, 65_535),
    api: oneOf(['rest', 'http'], values.api ?? 'rest', '--api'),
    instances: wholeNumber(values.instances ?? '2', '--instances', 1, 64),
    ...(values.engine !== undefined && { engine: oneOf(ENGINE_NAMES, values.engine, '--engine') }),
    ...(endpoint !== undefined && { endpoint }),
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        port: { type: 'string' },
        engine: { type: 'string' },
        api: { type: 'string' },
        instances: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
  } catch (error) {
    const [what] = (error as Error).message.split(/\. |\n/)
    throw new StartError(`${what}: npm start -- --help lists the options`)
  }
}

function wholeNumber(text: string, name: string, from: number, to: number): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (number >= from && number <= to) return number
  throw new StartError(`${name} must be a whole number from ${from} to ${to}, got "${text}"`)
}

function oneOf<Name extends string>(names: readonly Name[], text: string, option: string): Name {
  const found = names.find((name) => name === text)
  if (found !== undefined) return found
  throw new StartError(`${option} must be one of ${names.join(', ')}, got "${text}"`)
}

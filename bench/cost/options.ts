import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ENGINE_NAMES, type EngineName } from '../../local/engines/engine'
import { reasonOf, StartError } from '../../local/start-error'
import type { Assumptions } from './bill'
import { type Prices, US_EAST_1, withPrices } from './prices'

export interface CostOptions extends Assumptions {
  readonly help: boolean
  readonly json: boolean
  readonly rps: number
  readonly abuse: number
  readonly policies: number
  readonly clients: number | undefined
  readonly abusers: number | undefined
  readonly instances: number | undefined
  readonly requests: number
  readonly peers: boolean
  readonly engine: EngineName | undefined
  readonly prices: Prices
  readonly region: string
}

export const COST_HELP = `What a million decisions cost, from calls that are measured and prices that are published.

  npm run cost -- --rps 500 --abuse 0.5 --policies 4

  --rps <number>                requests a second, over all callers (default: 500)
  --abuse <share>               share of them that is over the limit, from 0 to below 1 (default: 0.5)
  --policies <number>           limits on each caller, 1 to 30 (default: 4)
  --clients <number>            callers that use half of their limit (default: as many as make the rate at 30 of 60 a minute)
  --abusers <number>            callers that never stop, and share what is over the limit (default: 1)
  --instances <number>          function instances, reached at random (default: what the rate and the durations below need)
  --lambda-ms <number>          assumed: milliseconds billed for a decision that calls DynamoDB (default: 8)
  --lambda-ms-known <number>    assumed: the same for one from memory (default: 2)
  --memory <MB>                 of the authorizer (default: 1769)
  --backend-ms <number>         assumed: of the function behind the API, for what abuse costs without a limiter (default: 50)
  --backend-memory <MB>         the same (default: 512)
  --region-prices <file.json>   prices in US dollars that replace those of us-east-1, by name
  --requests <number>           how many are measured (default: 15000)
  --no-peers                    Sluice alone
  --engine dynoxide|dynalite    DynamoDB engine (default: dynoxide where it runs, else dynalite)
  --json                        one JSON document
  --help                        this text

A missed goal is reported and is not an error.
`

const TEXT = { type: 'string' } as const
const FLAG = { type: 'boolean' } as const
const PARSED = {
  rps: TEXT,
  abuse: TEXT,
  policies: TEXT,
  clients: TEXT,
  abusers: TEXT,
  instances: TEXT,
  'lambda-ms': TEXT,
  'lambda-ms-known': TEXT,
  memory: TEXT,
  'backend-ms': TEXT,
  'backend-memory': TEXT,
  'region-prices': TEXT,
  requests: TEXT,
  engine: TEXT,
  'no-peers': FLAG,
  json: FLAG,
  help: { type: 'boolean', short: 'h' },
} as const

/** Reads the command line. Throws a `StartError` for the first mistake. */
export function parseCostOptions(args: readonly string[]): CostOptions {
  const values = parse(args)
  const number = <Else>(
    name: keyof typeof PARSED,
    otherwise: Else,
    wanted: string,
    fits: (value: number) => boolean,
  ): number | Else => {
    const text = values[name]
    if (text === undefined) return otherwise
    const value = Number(text)
    if (text === '' || !fits(value)) throw new StartError(`--${name} must be ${wanted}, got "${text}"`)
    return value
  }
  const positive = <Else>(name: keyof typeof PARSED, otherwise: Else) =>
    number(name, otherwise, 'a number above 0', (value) => value > 0)
  const whole = <Else>(name: keyof typeof PARSED, otherwise: Else, most = Number.MAX_SAFE_INTEGER) =>
    number(
      name,
      otherwise,
      `an integer from 1${most < 100 ? ` to ${most}` : ''}`,
      (n) => Number.isInteger(n) && n >= 1 && n <= most,
    )
  const file = values['region-prices']
  return {
    help: values.help ?? false,
    json: values.json ?? false,
    rps: positive('rps', 500),
    abuse: number('abuse', 0.5, 'a share from 0 to below 1', (value) => value >= 0 && value < 1),
    policies: whole('policies', 4, 30),
    clients: whole('clients', undefined),
    abusers: whole('abusers', undefined),
    instances: whole('instances', undefined),
    lambdaMs: positive('lambda-ms', 8),
    lambdaMsKnown: positive('lambda-ms-known', 2),
    memoryMb: whole('memory', 1769),
    backendMs: positive('backend-ms', 50),
    backendMb: whole('backend-memory', 512),
    requests: whole('requests', 15_000),
    peers: !values['no-peers'],
    engine: values.engine === undefined ? undefined : engineOf(values.engine),
    prices: file === undefined ? US_EAST_1 : pricesIn(file),
    region: file ?? 'us-east-1',
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: PARSED }).values
  } catch (error) {
    const [what] = (error as Error).message.split(/\. |\n/)
    throw new StartError(`${what}: npm run cost -- --help lists the options`)
  }
}

function engineOf(text: string): EngineName {
  const found = ENGINE_NAMES.find((name) => name === text)
  if (found !== undefined) return found
  throw new StartError(`--engine must be one of ${ENGINE_NAMES.join(', ')}, got "${text}"`)
}

function pricesIn(file: string): Prices {
  try {
    return withPrices(JSON.parse(readFileSync(file, 'utf8')))
  } catch (error) {
    throw new StartError(`--region-prices ${file}: ${reasonOf(error)}`)
  }
}

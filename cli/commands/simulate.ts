import { InvalidArgumentError, Option } from 'commander'
import { ACCESS_LOG_LINE } from '../../provisioning/access-log'
import { gather, toMethodKey, wholeNumber } from '../arguments'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { type Gate, parseGate } from '../simulate/gates'
import { parseFieldMap } from '../simulate/lines/field-map'
import { FORMATS, type Format } from '../simulate/lines/format'
import { offsetOf } from '../simulate/lines/timestamp'
import { printSummary } from '../simulate/report/text'
import { parsePattern } from '../simulate/requests/pattern'
import { CURRENT, readTable, rulesInForce, rulesOfFile } from '../simulate/rule-sets'
import { checkGates, durationOrNone, type Source, simulate, writeHtml } from '../simulate/run'

interface Options extends OutputOptions {
  readonly log?: readonly string[]
  readonly pattern?: string
  readonly clients: number
  readonly request: string
  readonly tiers?: string
  readonly against?: string
  readonly tier?: string
  readonly map: readonly string[]
  readonly format?: Format
  readonly reorder: number
  readonly timezone?: number
  readonly instances: number
  readonly suggest?: boolean
  readonly top?: number
  readonly html?: string
  readonly failIf: readonly string[]
  readonly printFormat?: boolean
}

/** Entries of each list for people, and for scripts. */
const TOP = 10
const TOP_JSON = 1000

export const addSimulate: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'simulate',
    'Replay an access log, or a pattern of requests, against a tiers file, and say what it would have denied.',
    [
      'sluice simulate --log access.jsonl --tiers tiers.yaml',
      'sluice simulate --log logs/*.gz --tiers tiers.yaml --against current --fail-if "newly-denied-clients > 0"',
      "sluice simulate --pattern '20/s for 5m, then 200/s for 30s' --clients 50 --tier free --tiers tiers.yaml",
    ],
  )
    .option('--log <file...>', 'access logs, zipped or not; - is standard input')
    .option('--pattern <text>', 'instead of a log: rates and how long each lasts')
    .option('--clients <count>', 'how many clients send the pattern', wholeNumber(1), 1)
    .option('--request <route>', 'the request of the pattern', toMethodKey, 'GET /')
    .option('--tiers <file>', 'the tiers file to decide by')
    .option('--against <file>', `compare with another tiers file, or with what is in force: ${CURRENT}`)
    .option('--tier <name>', 'the tier of callers of whom the log names none')
    .option('--map <fields>', 'names in the log by field, such as time=ts,key=apiKeyId', gather, [])
    .addOption(new Option('--format <name>', 'how the log is written (default: by how it begins)').choices(FORMATS))
    .option('--reorder <duration>', 'how much out of order lines may be', durationOrNone, 60_000)
    .option('--timezone <offset>', 'of times without one: UTC, or +02:00', toOffset)
    .option('--instances <count>', 'of the authorizer, for leased and eventual policies', wholeNumber(1), 1)
    .option('--suggest', 'the limits that at most 0.1 % of the clients would have met')
    .option('--top <count>', `entries of each list (default: ${TOP}, and ${TOP_JSON} with --json)`, wholeNumber(1))
    .option('--html <file>', 'also write the report as a page with plots')
    .option(
      '--fail-if <condition>',
      'exit with 3 where it holds, such as "newly-denied-clients > 0", "denied-share >= 1%", "denied > 0", "client:acme > 0"',
      gather,
      [],
    )
    .option('--print-format', 'print the access log format to set for an API, and do nothing else')
    .action(async (options: Options) => {
      if (options.printFormat) return session.print.line(ACCESS_LOG_LINE)
      const gates = options.failIf.map(parseGate)
      const source = sourceOf(options)
      if (options.tiers === undefined) throw new UserError('--tiers is missing: it names the tiers file to decide by')
      checkGatesPossible(gates, options)
      const { table: name, stack, limiter, endpoint, against } = options
      const isConnected = against === CURRENT || [name, stack, limiter, endpoint].some((one) => one !== undefined)
      const table = isConnected ? await readTable(await session.connect(options).configTable()) : undefined
      const rules = rulesOfFile(options.tiers, table)
      const { top = options.json ? TOP_JSON : TOP } = options
      const report = await simulate(
        {
          source,
          rules,
          against:
            against === undefined
              ? undefined
              : against === CURRENT
                ? rulesInForce(table!)
                : rulesOfFile(against, table),
          clients: table?.clients,
          tier: options.tier,
          instances: options.instances,
          suggest: options.suggest === true,
          gates,
          top,
        },
        session,
      )
      if (options.html !== undefined) writeHtml(options.html, report, Math.max(top, 50))
      if (options.json) session.print.json(report)
      else printSummary(report, session.print, top)
      checkGates(report)
    })
}

function sourceOf(options: Options): Source {
  const { log, pattern, format, tiers, against, tier } = options
  if ((log === undefined) === (pattern === undefined))
    throw new UserError('either --log or --pattern says which requests to replay, and not both')
  if (log !== undefined) {
    const fromStdin = [...log, tiers, against].filter((file) => file === '-').length
    if (fromStdin > 1) throw new UserError('only one file can be standard input')
    const map = parseFieldMap(options.map)
    return { kind: 'log', files: log, map, format, reorderMs: options.reorder, zone: options.timezone }
  }
  const [method = '', path] = options.request.split(' ')
  if (!path?.startsWith('/') || !/^[A-Z]+$/.test(method))
    throw new UserError(`--request must be a method and a path, such as "POST /batch", got "${options.request}"`)
  return {
    kind: 'pattern',
    text: pattern!,
    phases: parsePattern(pattern!),
    options: { clients: options.clients, tier, method, path },
  }
}

function checkGatesPossible(gates: readonly Gate[], { against }: Options): void {
  const lacking = against === undefined ? gates.find(({ needsAgainst }) => needsAgainst) : undefined
  if (lacking) throw new UserError(`--fail-if "${lacking.text}" needs --against: it says what was denied before`)
}

function toOffset(text: string): number {
  const offset = offsetOf(text)
  if (offset === undefined)
    throw new InvalidArgumentError(
      'It must be UTC or an offset such as +02:00. A zone whose clocks change names an hour of each year twice.',
    )
  return offset
}

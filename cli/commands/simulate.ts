import { InvalidArgumentError, Option } from 'commander'
import { ACCESS_LOG_LINE } from '../../provisioning/access-log'
import { gather, toMethodKey, wholeNumber } from '../arguments'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { type Gate, gateOf, parseGate, parseTolerance } from '../simulate/gates'
import { readGatewayLog } from '../simulate/gateway-log'
import { parseFieldMap } from '../simulate/lines/field-map'
import { FORMATS, type Format } from '../simulate/lines/format'
import { offsetOf } from '../simulate/lines/timestamp'
import { printSummary } from '../simulate/report/text'
import { parsePattern } from '../simulate/requests/pattern'
import {
  askedOf,
  CURRENT,
  changesBetween,
  readTable,
  rulesInForce,
  rulesOfFile,
  rulesWith,
  understood,
} from '../simulate/rule-sets'
import { checkGates, durationOrNone, type Source, simulate, writeHtml } from '../simulate/run'
import { parseSets } from '../simulate/set-limit'
import { isLoopback } from '../tables/local-engine'
import { gatewayAddress, gatewayOfEngine, runningGateway } from '../tables/local-gateway'

interface Options extends OutputOptions {
  readonly log?: readonly string[]
  readonly gateway?: string
  readonly pattern?: string
  readonly clients: number
  readonly request: string
  readonly tiers?: string
  readonly set: readonly string[]
  readonly against?: string
  readonly tier?: string
  readonly map: readonly string[]
  readonly format?: Format
  readonly reorder: number
  readonly timezone?: number
  readonly instances: number
  readonly suggest?: boolean
  readonly top?: number
  readonly all?: boolean
  readonly html?: string
  readonly failIf: readonly string[]
  readonly maxUnjudged?: string
  readonly printFormat?: boolean
}

/** Entries of each list for people, on a page, and for scripts. */
const TOP = 10
const TOP_HTML = 100
const TOP_JSON = 1000

export const addSimulate: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'simulate',
    'Replay requests by other limits, and report who is denied: of an access log or a pattern, by a tiers file or a changed ' +
      'limit. Without a log, it replays the requests of the local gateway, if one runs.',
    [
      'sluice simulate --set free.per-minute=30/1m',
      'sluice simulate --log access.jsonl --tiers tiers.yaml',
      'sluice simulate --log logs/*.gz --tiers tiers.yaml --against current --fail-if "newly-denied-clients > 0"',
      "sluice simulate --pattern '20/s for 5m, then 200/s for 30s' --clients 50 --tier free --tiers tiers.yaml",
    ],
  )
    .option('--log <file...>', 'access logs, zipped or not; "-" for standard input')
    .option('--gateway <url>', 'instead of --log: the last requests of the local gateway at this address')
    .option('--pattern <text>', 'instead of --log: rates and how long each lasts')
    .option('--clients <count>', 'how many clients send the pattern', wholeNumber(1), 1)
    .option('--request <route>', 'the request of the pattern', toMethodKey, 'GET /')
    .option(
      '--tiers <file>',
      `the tiers file to decide with, or ${CURRENT}: the configuration in force (default with --set)`,
    )
    .option(
      '--set <policy=limit>',
      'change one limit: tier.policy=limit[:burst][/window], also of a route or of global; repeatable',
      gather,
      [],
    )
    .option(
      '--against <file>',
      `compare with another tiers file or ${CURRENT} (default with --set: without the change)`,
    )
    .option('--tier <name>', 'tier of callers without a tier in the log')
    .option('--map <fields>', 'names in the log by field, such as time=ts,key=apiKeyId', gather, [])
    .addOption(
      new Option('--format <name>', 'format of the log (default: detected from its beginning)').choices(FORMATS),
    )
    .option('--reorder <duration>', 'how far lines may be out of order', durationOrNone, 60_000)
    .option('--timezone <offset>', 'time zone of times without one: UTC, or +02:00', toOffset)
    .option('--instances <count>', 'instances, for leased and eventual policies', wholeNumber(1), 1)
    .option('--suggest', 'suggest limits that at most 0.1 % of clients reach')
    .option(
      '--top <count>',
      `entries of each list (default: ${TOP}; --html: ${TOP_HTML}; --json: ${TOP_JSON})`,
      wholeNumber(1),
    )
    .option('--all', 'print more than what was denied and why; --html and --json have it all')
    .option('--html <file>', 'also write a page with plots')
    .option(
      '--fail-if <condition>',
      'exit with code 3 if, for example, newly-denied-clients > 0, denied-share >= 1%, denied > 0, client:acme > 0',
      gather,
      [],
    )
    .option(
      '--max-unjudged <lines>',
      'with --fail-if: lines, or a share such as 0.5%, that may be unreadable or not understood (default: 0)',
    )
    .option('--print-format', 'only print the access log format to set for an API')
    .action(async (options: Options) => {
      if (options.printFormat) return session.print.line(ACCESS_LOG_LINE)
      const { tiers = options.set.length > 0 ? CURRENT : undefined, top } = options
      const sets = parseSets(options.set)
      const conditions = options.failIf.map(parseGate)
      const tolerance = parseTolerance(options.maxUnjudged ?? '0')
      const gates = conditions.length > 0 ? [...conditions, gateOf(tolerance)] : []
      if (tiers === undefined)
        throw new UserError('no limits to decide with: name a tiers file with --tiers, or a limit with --set')
      checkGatesPossible(gates, options)
      const source = await sourceOf({ ...options, tiers }, session)
      const { table: name, stack, limiter, endpoint, against } = options
      const isConnected =
        [tiers, against].includes(CURRENT) ||
        (source.kind === 'log' && source.gateway !== undefined) ||
        [name, stack, limiter, endpoint].some((one) => one !== undefined)
      const table = isConnected ? await readTable(session.connect(options)) : undefined
      const read = (file: string) => (file === CURRENT ? rulesInForce(table!) : rulesOfFile(file, table))
      const unchanged = read(tiers)
      const written = sets.length === 0 ? unchanged : rulesWith(unchanged, sets)
      const rules = understood(written)
      const before = against === undefined ? (sets.length === 0 ? undefined : unchanged) : read(against)
      const compared = before && understood(before)
      const report = await simulate(
        {
          source,
          rules,
          against: compared,
          changes: before && changesBetween(before, written),
          issues: [...new Set([...rules.issues, ...(compared?.issues ?? [])])],
          clients: table?.clients,
          asked: askedOf(table),
          tier: options.tier,
          instances: options.instances,
          suggest: options.suggest === true,
          gates,
          top: top ?? (options.json ? TOP_JSON : options.html === undefined ? TOP : TOP_HTML),
        },
        session,
      )
      if (options.html !== undefined) writeHtml(options.html, report, top ?? TOP_HTML)
      if (options.json) session.print.json(report)
      else printSummary(report, session.print, { top: top ?? TOP, all: options.all === true })
      checkGates(report)
    })
}

async function sourceOf(options: Options, session: Session): Promise<Source> {
  const { log, gateway, pattern, format, tiers, against, tier } = options
  const named = Object.entries({ '--log': log, '--gateway': gateway, '--pattern': pattern }).filter(([, one]) => one)
  if (named.length > 1)
    throw new UserError(`${named.map(([one]) => one).join(' and ')} exclude each other: leave one out`)
  if (pattern === undefined) {
    const fromStdin = [...(log ?? []), tiers, against].filter((file) => file === '-').length
    if (fromStdin > 1) throw new UserError('only one file can be standard input')
    const how = { map: parseFieldMap(options.map), format, reorderMs: options.reorder, zone: options.timezone }
    if (log) return { kind: 'log', files: log, ...how }
    return { kind: 'log', files: ['-'], gateway: await readGatewayLog(await gatewayOf(options, session)), ...how }
  }
  const [method = '', path] = options.request.split(' ')
  if (!path?.startsWith('/') || !/^[A-Z]+$/.test(method))
    throw new UserError(`--request must be a method and a path, such as "POST /batch", got "${options.request}"`)
  return {
    kind: 'pattern',
    text: pattern,
    phases: parsePattern(pattern),
    options: { clients: options.clients, tier, method, path },
  }
}

/** The address of the local gateway that is named, or whose tables are meant. */
async function gatewayOf({ gateway, endpoint }: Options, session: Session): Promise<string> {
  if (gateway !== undefined) {
    const address = gatewayAddress(gateway)
    if (!endpoint) session.gateway = await runningGateway(address)
    return address
  }
  const running =
    session.gateway ?? (endpoint && isLoopback(endpoint) ? await gatewayOfEngine(endpoint, session.io.env) : undefined)
  if (running) return running.address
  throw new UserError(
    'no requests to replay: name an access log with --log or a local gateway with --gateway, or make requests up with --pattern',
  )
}

function checkGatesPossible(gates: readonly Gate[], { against, set }: Options): void {
  const lacking = against === undefined && set.length === 0 ? gates.find(({ needsAgainst }) => needsAgainst) : undefined
  if (lacking) throw new UserError(`--fail-if "${lacking.text}" needs --against, to know what was denied before`)
}

function toOffset(text: string): number {
  const offset = offsetOf(text)
  if (offset === undefined)
    throw new InvalidArgumentError(
      'It must be UTC or an offset such as +02:00. A zone whose clocks change names an hour of each year twice.',
    )
  return offset
}

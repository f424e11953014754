import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { durationMs } from '../arguments'
import type { Session } from '../command'
import { GateError, UserError } from '../exit'
import { counted } from '../terminal/output'
import type { KnownClients } from './decide/known-clients'
import { costNamesIn, type RuleSet } from './decide/rule-set'
import type { Gate } from './gates'
import type { GatewayLog } from './gateway-log'
import type { FieldMap } from './lines/field-map'
import type { Format } from './lines/format'
import { sizeOf } from './lines/log-file'
import { type LogStats, readLogs } from './lines/read-log'
import { requestMaker } from './lines/to-request'
import { ProgressBar } from './progress-bar'
import type { ItemChange } from './report/comparison'
import { toHtml } from './report/html'
import { DemandRecorder } from './report/suggest'
import { type Asked, type Summary, summaryOf } from './report/summary'
import type { LoggedRequest } from './requests/logged-request'
import { type PatternOptions, type Phase, patternRequests } from './requests/pattern'
import { decidedOf, withUnasked } from './requests/unasked'
import { Side } from './side'
import { Simulation } from './simulation'

/** Where the requests come from: logs, or a pattern. */
export type Source =
  | {
      readonly kind: 'log'
      /** In the place of standard input. @default standard input itself */
      readonly gateway?: GatewayLog
      readonly files: readonly string[]
      readonly map: FieldMap
      readonly format?: Format
      readonly reorderMs: number
      readonly zone?: number
    }
  | {
      readonly kind: 'pattern'
      readonly text: string
      readonly phases: readonly Phase[]
      readonly options: PatternOptions
    }

export interface RunOptions {
  readonly source: Source
  readonly rules: RuleSet
  readonly against?: RuleSet
  /** How the rules differ from it. */
  readonly changes?: readonly ItemChange[]
  /** What is wrong with the rules, which are in force all the same. */
  readonly issues: readonly string[]
  readonly clients?: KnownClients
  readonly asked: Asked
  readonly tier?: string
  readonly instances: number
  readonly suggest: boolean
  readonly gates: readonly Gate[]
  readonly top: number
}

/** A gate, and what it found. */
interface GateResult {
  readonly gate: string
  readonly value: number
  readonly failed: boolean
}

export interface Report extends Summary {
  readonly gates: readonly GateResult[]
}

/** IPv6 prefix of a function whose environment does not say another. */
const IPV6_PREFIX = 56

/**
 * Replays requests and sums up what becomes of them.
 *
 * @throws UserError where there is no request, or where they cannot be read.
 */
export async function simulate(options: RunOptions, { io }: Pick<Session, 'io'>): Promise<Report> {
  const { source, rules, against, issues, clients, tier, instances, suggest, gates, top } = options
  const address = rules.configuration.policies.settings.identity.find((one) => one.source === 'ip')
  const ipv6Prefix = (address?.source === 'ip' ? address.ipv6Prefix : undefined) ?? IPV6_PREFIX
  const addressInHeader = address?.source === 'ip' && (address.trustedHops > 0 || address.viewerAddress)
  const side = new Side(rules, instances, ipv6Prefix)
  const sides = against ? ([side, new Side(against, instances, ipv6Prefix)] as const) : ([side] as const)
  const recorder = suggest ? new DemandRecorder(rules.configuration.policies) : undefined
  const simulation = new Simulation(
    sides,
    { clients, tier, ipv6Prefix, addressInHeader },
    recorder &&
      ((line, { prepared }) => {
        if (typeof prepared.charges !== 'string') recorder.add(prepared.tier, prepared.charges, line.at)
      }),
  )
  const stats: LogStats = { lines: 0, unreadable: 0, examples: [], wholeSeconds: 0, bytes: 0, total: undefined }
  let unasked = 0
  const bar = new ProgressBar(io.stderr, stats)
  try {
    for await (const piece of requestsOf(options, stats, io.stdin)) {
      const decided = decidedOf(piece)
      unasked += piece.length - decided.length
      await simulation.replay(decided)
      bar.update()
    }
  } finally {
    bar.end()
  }
  const title =
    source.kind === 'log'
      ? (source.gateway?.title ?? source.files.map((file) => (file === '-' ? 'standard input' : file)).join(', '))
      : source.text
  if (simulation.requests === 0) throw nothingIn(title, stats)
  const summary = summaryOf(simulation, {
    source: title,
    asked: options.asked,
    stats,
    top,
    instances,
    changes: options.changes,
    suggestions: recorder?.suggest(side.tally.policies.values()),
  })
  const deniedOf = (client: string) =>
    (side.tally.clients.get(`client:${client}`) ?? side.tally.clients.get(client))?.denied ?? 0
  const isThere = (client: string) => side.tally.clients.has(`client:${client}`) || side.tally.clients.has(client)
  const absent = gates.flatMap(({ client }) => (client !== undefined && !isThere(client) ? client : []))
  return {
    ...summary,
    notes: [
      ...summary.notes,
      ...(unasked === 0
        ? []
        : [
            `${counted(unasked, 'request')} that the authorizer did not decide ${unasked === 1 ? 'is' : 'are'} omitted: preflights, and requests that API Gateway answered itself`,
          ]),
      ...absent.map(
        (client) => `no request is of client "${client}", which --fail-if names: its name is as in "clients"`,
      ),
      ...(source.kind === 'log' && source.gateway && source.gateway.forgotten > 0
        ? [
            `the gateway no longer has ${counted(source.gateway.forgotten, 'request')} before these: sluice dev --access-log keeps all`,
          ]
        : []),
      ...issues,
    ],
    gates: gates.map((gate) => {
      const value = gate.valueIn(summary, deniedOf)
      return { gate: gate.text, value, failed: gate.isMet(value) }
    }),
  }
}

async function* requestsOf(
  { source, rules, against }: RunOptions,
  stats: LogStats,
  stdin: NodeJS.ReadableStream,
): AsyncGenerator<readonly LoggedRequest[], void> {
  if (source.kind === 'pattern') {
    yield* patternRequests(source.phases, source.options)
    return
  }
  const { files, gateway, map, format, reorderMs, zone } = source
  stats.total = sizeOf(files)
  const costs = [rules, ...(against ? [against] : [])].flatMap(({ configuration }) =>
    costNamesIn(configuration.policies),
  )
  const toRequest = withUnasked(requestMaker(map, [...new Set(costs)], zone))
  yield* readLogs(files, stats, { stdin: gateway?.text ?? stdin, map, toRequest, format, reorderMs })
}

function nothingIn(title: string, { lines, unreadable, examples }: LogStats): UserError {
  if (unreadable === 0) return new UserError(`${title} has no request`)
  const shown = examples.map(({ file, line, why, text }) => `  ${file}:${line}: ${why}: ${text}`)
  return new UserError([`none of ${counted(lines, 'line')} of ${title} can be read, for example`, ...shown])
}

/** Writes the report as a page, all of it or nothing. */
export function writeHtml(file: string, report: Report, top: number): void {
  const beside = `${file}.${process.pid}.tmp`
  try {
    writeFileSync(beside, toHtml(report, top))
    renameSync(beside, file)
  } catch (error) {
    throw new UserError(`${file} cannot be written: ${(error as Error).message}`)
  } finally {
    rmSync(beside, { force: true })
  }
}

/** @throws GateError that names every gate that failed. */
export function checkGates({ gates }: Report): void {
  const failed = gates.filter((one) => one.failed)
  if (failed.length === 0) return
  throw new GateError(failed.map(({ gate, value }) => `--fail-if "${gate}": it is ${+value.toFixed(3)}`))
}

/** A duration, or 0. */
export const durationOrNone = (text: string): number => (text === '0' || text === '0s' ? 0 : durationMs(text))

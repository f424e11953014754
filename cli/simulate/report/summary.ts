import { DYNAMODB_USD, PRICES_READ } from '../../../provisioning/prices'
import { iso } from '../../arguments'
import type { LogStats } from '../lines/read-log'
import type { Side } from '../side'
import type { Change, Simulation } from '../simulation'
import { cannotKnow, notesOf } from './notes'
import type { Stretch } from './series'
import type { Suggestion } from './suggest'
import type { ClientTally, PolicyTally } from './tally'

/** Whose exceptions count beside the limits. */
export interface Asked {
  /** The config table; `null` where none was asked. */
  readonly table: string | null
  /** Clients whose records are valid, and those of them with overrides. */
  readonly clients: number
  readonly overridden: number
  readonly blocks: number
  readonly allowances: number
}

/** What `sluice simulate` reports, and prints with `--json`. Times are ISO 8601, shares are from 0 to 1. */
export interface Summary extends SideSummary {
  /** Of the requests, what the file or the pattern says. */
  readonly source: string
  readonly asked: Asked
  readonly from: string
  readonly to: string
  readonly unreadable: number
  readonly unreadableLines: LogStats['examples']
  readonly wholeSeconds: number
  readonly clients: readonly ClientSummary[]
  /** How many clients there are, of whom `clients` has those denied most. */
  readonly clientCount: number
  readonly nearest: readonly NearSummary[]
  /** What the rules are compared with. */
  readonly against?: SideSummary
  /** Clients that are denied or refused something, and that were denied nothing before. Only with `--against`. */
  readonly newlyDenied?: readonly ChangeSummary[]
  readonly newlyDeniedClients?: number
  /** Clients that were denied or refused something, and are denied nothing any more. */
  readonly noLongerDenied?: readonly ChangeSummary[]
  readonly noLongerDeniedClients?: number
  /** Requests denied by these rules only, of all clients; and by the others only. */
  readonly newlyDeniedRequests?: number
  readonly noLongerDeniedRequests?: number
  readonly suggestions?: readonly Suggestion[]
  /** What to know about how the requests were read and decided. */
  readonly notes: readonly string[]
  /** What no log tells. */
  readonly cannotKnow: readonly string[]
}

/** What one set of rules makes of the requests. */
export interface SideSummary {
  readonly rules: string
  readonly requests: number
  readonly allowed: number
  readonly denied: number
  readonly deniedShare: number
  /** Requests that no limit decided, by why: `unauthorized`, `blocked`, `uncounted`. */
  readonly undecided: Readonly<Record<string, number>>
  readonly tiers: readonly ({ readonly tier: string } & Passed)[]
  readonly policies: readonly PolicySummary[]
  readonly routes: readonly ({ readonly route: string } & Passed)[]
  readonly dynamodb: DynamoDb
  readonly everyMs: number
  readonly series: readonly Stretch[]
}

interface Passed {
  readonly allowed: number
  readonly denied: number
}

/** Calls of the authorizer for decisions. */
interface DynamoDb {
  readonly writes: number
  readonly reads: number
  readonly writeUnits: number
  readonly usd: number
  readonly pricesRead: string
}

type PolicyCounts = Omit<PolicyTally, 'near'>

export interface PolicySummary extends PolicyCounts {
  /** How many subjects it counts, and at how many it came to its limit. */
  readonly subjects: number
  readonly met: number
  /** The peak share of the limit, over subjects: half of them, and 95 % of them, stay at or below. */
  readonly near: { readonly p50: number; readonly p95: number; readonly peak: number }
  /** Subjects by their peak share, in tenths of the limit; the last one met it. */
  readonly peaks: readonly number[]
}

interface ClientSummary {
  readonly client: string
  readonly tier: string
  readonly requests: number
  readonly denied: number
  readonly refused: number
  readonly firstDeniedAt: string | null
  readonly firstDeniedBy: string | null
}

interface ChangeSummary {
  readonly client: string
  readonly requests: number
  readonly firstDeniedAt: string
  /** The policy that denies the first of them, or why it is refused. */
  readonly policy: string
}

interface NearSummary {
  readonly subject: string
  readonly tier: string
  readonly policy: string
  /** The share of the limit at half of its requests, at 95 % of them, and at most. */
  readonly p50: number
  readonly p95: number
  readonly peak: number
}

export interface SummaryOptions {
  readonly source: string
  readonly asked: Asked
  readonly stats: Pick<LogStats, 'unreadable' | 'examples' | 'wholeSeconds'>
  /** Entries of each list. */
  readonly top: number
  readonly instances: number
  readonly suggestions?: readonly Suggestion[]
}

/** Sums a simulation up. */
export function summaryOf(simulation: Simulation, options: SummaryOptions): Summary {
  const { sides, firstAt = 0, lastAt } = simulation
  const [side, before] = sides
  const { source, asked, stats, top, suggestions } = options
  return {
    source,
    asked,
    from: iso(firstAt),
    to: iso(lastAt),
    ...sideOf(side),
    unreadable: stats.unreadable,
    unreadableLines: stats.examples,
    wholeSeconds: stats.wholeSeconds,
    clients: hardestHit(side, top),
    clientCount: side.tally.clients.size,
    nearest: nearest(side, top),
    ...(before && { against: sideOf(before), ...changesOf(simulation, side, before, top) }),
    ...(suggestions && { suggestions }),
    notes: notesOf(simulation, stats.wholeSeconds),
    cannotKnow: cannotKnow(simulation, options.instances),
  }
}

function sideOf({ rules, tally, calls }: Side): SideSummary {
  const { requests, allowed, denied, series } = tally
  const usd =
    (calls.writeUnits * DYNAMODB_USD.dynamodbMillionWriteUnits + calls.reads * DYNAMODB_USD.dynamodbMillionReadUnits) /
    1e6
  return {
    rules: rules.title,
    requests,
    allowed,
    denied,
    deniedShare: requests === 0 ? 0 : denied / requests,
    undecided: Object.fromEntries(tally.undecided),
    tiers: [...tally.tiers].filter(([tier]) => tier !== '').map(([tier, counts]) => ({ tier, ...counts })),
    policies: [...tally.policies.values()].map(policyOf),
    routes: [...tally.routes].map(([route, counts]) => ({ route, ...counts })).sort((a, b) => b.denied - a.denied),
    dynamodb: { ...calls, usd, pricesRead: PRICES_READ },
    everyMs: series.everyMs,
    series: series.list(),
  }
}

function policyOf({ near, ...counts }: PolicyTally): PolicySummary {
  const peaks = Float64Array.from(near.values(), ({ peak }) => peak).sort()
  const at = (part: number) => peaks[Math.max(0, Math.ceil(part * peaks.length) - 1)] ?? 0
  const tenths = new Array<number>(11).fill(0)
  for (const peak of peaks) tenths[peak >= 1 ? 10 : Math.floor(peak * 10)]!++
  return {
    ...counts,
    subjects: peaks.length,
    met: tenths[10]!,
    near: { p50: at(0.5), p95: at(0.95), peak: at(1) },
    peaks: tenths,
  }
}

function hardestHit({ tally }: Side, top: number): ClientSummary[] {
  return largest(tally.clients.values(), top, (one) => one.denied * 1e9 + one.requests).map(toClient)
}

const toClient = ({ firstDeniedAt, firstDeniedBy, ...others }: ClientTally): ClientSummary => ({
  ...others,
  firstDeniedAt: firstDeniedAt === undefined ? null : new Date(firstDeniedAt).toISOString(),
  firstDeniedBy: firstDeniedBy ?? null,
})

function nearest({ tally }: Side, top: number): NearSummary[] {
  const all = [...tally.policies.values()].flatMap(({ tier, policy, near }) =>
    largest(near, top, ([, { peak }]) => peak).map(([subject, one]) => ({
      subject,
      tier,
      policy,
      p50: one.quantile(0.5),
      p95: one.quantile(0.95),
      peak: one.peak,
    })),
  )
  return largest(all, top, ({ peak, p95 }) => peak * 1000 + p95)
}

function changesOf(
  { newlyDenied, noLongerDenied }: Simulation,
  side: Side,
  before: Side,
  top: number,
): Partial<Summary> {
  const wasUntouched = ({ client }: Change) => isUntouched(before.tally.clients.get(client))
  const isNow = ({ client }: Change) => isUntouched(side.tally.clients.get(client))
  const newly = [...newlyDenied.values()].filter(wasUntouched)
  const noLonger = [...noLongerDenied.values()].filter(isNow)
  return {
    newlyDenied: largest(newly, top, ({ requests }) => requests).map(toChange),
    newlyDeniedClients: newly.length,
    noLongerDenied: largest(noLonger, top, ({ requests }) => requests).map(toChange),
    noLongerDeniedClients: noLonger.length,
    newlyDeniedRequests: requestsOf(newlyDenied),
    noLongerDeniedRequests: requestsOf(noLongerDenied),
  }
}

const isUntouched = (client: ClientTally | undefined): boolean => !client || client.denied + client.refused === 0

const requestsOf = (changes: ReadonlyMap<string, Change>): number =>
  [...changes.values()].reduce((sum, { requests }) => sum + requests, 0)

const toChange = ({ client, requests, firstAt, policy }: Change): ChangeSummary => ({
  client,
  requests,
  firstDeniedAt: new Date(firstAt).toISOString(),
  policy,
})

/** The first `count` of these, the largest first. */
function largest<T>(all: Iterable<T>, count: number, sizeOf: (one: T) => number): T[] {
  return [...all].sort((a, b) => sizeOf(b) - sizeOf(a)).slice(0, count)
}

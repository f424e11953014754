import { DYNAMODB_USD, PRICES_READ } from '../../../provisioning/prices'
import { iso } from '../../arguments'
import type { LogStats } from '../lines/read-log'
import type { Side } from '../side'
import type { Simulation } from '../simulation'
import {
  type Comparison,
  comparisonOf,
  type DenialsSummary,
  type ItemChange,
  isoTime,
  largest,
  toDenials,
} from './comparison'
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
export interface Summary extends SideSummary, Partial<Comparison> {
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
  /** Of them, how many were denied something, and when the first was. */
  readonly deniedClients: number
  readonly firstDeniedAt: string | null
  /** What the rules are compared with. */
  readonly against?: SideSummary
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
  /** What denied its requests, in the order of the first of each. */
  readonly denials: readonly DenialsSummary[]
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
  /** How the rules differ from those that they are compared with. */
  readonly changes?: readonly ItemChange[]
  readonly suggestions?: readonly Suggestion[]
}

/** Sums a simulation up. */
export function summaryOf(simulation: Simulation, options: SummaryOptions): Summary {
  const { sides, firstAt = 0, lastAt } = simulation
  const [side, before] = sides
  const { source, asked, stats, top, changes = [], suggestions } = options
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
    ...deniedIn(side),
    nearest: nearest(side, top),
    ...(before && { against: sideOf(before), ...comparisonOf(simulation, side, before, changes, top) }),
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

function toClient({ denials, ...others }: ClientTally): ClientSummary {
  const all = toDenials(denials)
  return { ...others, firstDeniedAt: all[0]?.firstAt ?? null, firstDeniedBy: all[0]?.policy ?? null, denials: all }
}

function deniedIn({ tally }: Side): Pick<Summary, 'deniedClients' | 'firstDeniedAt'> {
  let [deniedClients, first] = [0, Infinity]
  for (const { denials } of tally.clients.values()) {
    if (!denials) continue
    deniedClients++
    first = Math.min(first, denials[0]!.firstAt)
  }
  return { deniedClients, firstDeniedAt: first === Infinity ? null : isoTime(first) }
}

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

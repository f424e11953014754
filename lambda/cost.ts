import { takenFrom, type Units } from '../limiter/units'
import type { Cost, CostByValue, Costs } from './config-table/items/cost'
import type { RequestFacts } from './identity/source'

/** The parts of a request that its cost may depend on. */
export interface CostFacts extends Pick<RequestFacts, 'headers' | 'query' | 'pathParameters'> {
  /** Of a verified token. */
  readonly claims: Readonly<Record<string, unknown>>
}

export const NO_FACTS: CostFacts = { headers: new Map(), query: new Map(), pathParameters: new Map(), claims: {} }

/** What one request takes: of each policy the most that any of these costs alone would take. */
export function unitsFor(costs: readonly Costs[], facts: CostFacts): Units {
  const each = costs.map((one): Units => inUnits(one, facts))
  if (each.length === 1) return each[0]!
  const names = new Set(each.flatMap((one) => Object.keys(one.costs ?? {})))
  const most = (costName?: string) => Math.max(...each.map((one) => takenFrom(one, { costName })))
  if (names.size === 0) return { cost: most() }
  return { cost: most(), costs: Object.fromEntries([...names].map((name) => [name, most(name)])) }
}

function inUnits({ cost, costs }: Costs, facts: CostFacts): Units {
  if (!costs) return { cost: costOf(cost, facts) }
  const named = Object.entries(costs).map(([name, one]) => [name, costOf(one, facts)])
  return { cost: costOf(cost, facts), costs: Object.fromEntries(named) }
}

const costOf = (cost: Cost, facts: CostFacts): number => (typeof cost === 'number' ? cost : unitsOf(cost, facts))

/**
 * A request without the value costs the default, and one whose value is below 1 costs 1. All else that is no whole
 * number up to `max` costs `max`, for a client could lie: so does a value that comes twice, since backends differ in
 * which of them they read.
 */
function unitsOf({ source, name, default: otherwise, max, divide, roundUp }: CostByValue, facts: CostFacts): number {
  const written = source === 'claim' ? claimIn(facts.claims, name) : valueIn(facts[MAPS[source]], name)
  if (written === undefined) return otherwise
  if (!/^-?\d{1,16}$/.test(written)) return max
  const value = Number(written) / divide
  return Math.min(max, Math.max(1, roundUp ? Math.ceil(value) : Math.floor(value)))
}

const MAPS = { query: 'query', header: 'headers', path: 'pathParameters' } as const

function claimIn(claims: CostFacts['claims'], name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  return value === undefined || value === null ? undefined : String(value)
}

/**
 * The value by this name. One by another name that some backends take for the same (`LIMIT`, `limit[]`, `page.size` for
 * `page_size`) counts as no number.
 */
function valueIn(values: ReadonlyMap<string, string>, name: string): string | undefined {
  const plain = plainName(name)
  const isAmbiguous = [...values.keys()].some((other) => other !== name && plainName(other) === plain)
  return isAmbiguous ? '' : values.get(name)?.trim()
}

const plainName = (name: string) => name.toLowerCase().replace(/\[.*|[\s._-]/gs, '')

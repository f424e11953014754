import { takenFrom, type Units } from '../limiter/request'
import type { Cost, CostByValue, Costs } from './config-table/items/cost'
import { type CostFacts, headerReadings, lengthReadings, queryReadings, type Readings } from './cost-readings'

export const NO_FACTS: CostFacts = {
  method: 'GET',
  path: '/',
  headers: new Map(),
  query: new Map(),
  pathParameters: new Map(),
  isCut: false,
  claims: {},
}

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

/** What many backends take for no bound: 0, a negative number, a text without a number. */
const UNBOUNDED = /^(?:0|-\d+|\P{N}*)$/u

/** The most that any reading costs, and `max` where nobody knows them: a client could lie. */
function unitsOf(cost: CostByValue, facts: CostFacts): number {
  const readings = readingsOf(cost, facts)
  return readings === 'ambiguous' ? cost.max : Math.max(...readings.map((value) => unitsOfValue(cost, value)))
}

/** All that is no whole number up to `max`, and does not bound anything at all, costs `max`. */
function unitsOfValue({ default: otherwise, max, unbounded, divide, roundUp }: CostByValue, value?: string): number {
  if (value === undefined) return otherwise
  if (UNBOUNDED.test(value)) return unbounded
  if (!/^[1-9]\d{0,15}$/.test(value)) return max
  const units = Number(value) / divide
  return Math.min(max, Math.max(1, roundUp ? Math.ceil(units) : Math.floor(units)))
}

function readingsOf({ source, name }: CostByValue, facts: CostFacts): Readings {
  if (source === 'claim') return [claimIn(facts.claims, name)]
  if (facts.isCut) return 'ambiguous'
  if (source === 'path') return [facts.pathParameters.get(name)]
  if (source === 'query') return queryReadings(facts, name)
  return name === 'content-length' ? lengthReadings(facts) : headerReadings(facts, name)
}

function claimIn(claims: CostFacts['claims'], name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  return value === undefined || value === null ? undefined : String(value)
}

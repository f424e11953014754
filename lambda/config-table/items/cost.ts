import * as v from 'valibot'
import { type Mistake, printed } from '../../../limiter/errors'
import { MAX_POLICIES, POLICY_FIELDS } from '../../../limiter/policies/parse-policies'
import { checkFields, type FieldRules, type Place, report } from '../../../limiter/policies/report'

/** Units that a request takes: the same for each, or by what the request says. A cost of 0 is not counted. */
export type Cost = number | CostByValue

/** What the requests of a route cost. */
export interface Costs {
  readonly cost: Cost
  /** Of policies that count another cost than that of requests, by its name. @default 1 unit each */
  readonly costs?: Readonly<Record<string, Cost>>
}

/** A cost that a value of the request determines. */
export interface CostByValue {
  readonly source: 'query' | 'header' | 'path' | 'claim'
  /** Of a header in lower case. */
  readonly name: string
  /** Units of a request without the value. */
  readonly default: number
  /** Units that a request takes at most, and where backends may read different values. */
  readonly max: number
  /** Units of a request whose value has no number above 0, such as `0`, `-1` and `all`, or whose body has no length. */
  readonly unbounded: number
  /** So much of the value is one unit. */
  readonly divide: number
  /** Whether a part of a unit counts as a whole one. Otherwise it does not count. */
  readonly roundUp: boolean
}

const SOURCES = ['query', 'header', 'path', 'claim'] as const

const units = (from: number) => v.pipe(v.number(), v.integer(), v.minValue(from), v.maxValue(Number.MAX_SAFE_INTEGER))
/** The schema of a cost that is the same for each request. */
export const FIXED_COST = units(0)
const positive = { schema: units(1), wanted: 'an integer from 1', optional: true } as const
const name = {
  schema: v.pipe(v.string(), v.regex(/^[^\s,]{1,128}$/)),
  wanted: 'a name of 1 to 128 characters',
  optional: true,
} as const

/** The fields of a cost that depends on the request, from which their JSON Schema is made, too. */
export const COST_FIELDS = {
  query: name,
  header: {
    schema: v.pipe(v.string(), v.regex(/^[\w!#$%&'*+.^`|~-]{1,128}$/)),
    wanted: 'the name of a header',
    optional: true,
  },
  path: name,
  claim: name,
  default: positive,
  max: { ...positive, optional: undefined },
  unbounded: positive,
  divide: positive,
  roundUp: { schema: v.boolean(), wanted: 'true or false', optional: true },
} as const

export const COST_FIELD = {
  schema: v.pipe(
    v.unknown(),
    v.check((cost) => typeof cost === 'object' || v.is(FIXED_COST, cost)),
  ),
  wanted: 'an integer from 0, or an object that names the value of the request, such as { query: limit, max: 100 }',
  optional: true,
} as const

/** The names that costs may have. */
export const COST_NAME = POLICY_FIELDS.cost.schema

/** Costs by their names. What is inside is checked by `parseCosts`. */
export const COSTS_FIELD = {
  schema: v.custom<Readonly<Record<string, unknown>>>(
    (costs) => typeof costs === 'object' && costs !== null && !Array.isArray(costs),
  ),
  wanted: 'units by the name of a cost, such as { tokens: 500 }',
  optional: true,
} as const

/** Most costs of one route: no request is held to more policies. */
export const MAX_COSTS = MAX_POLICIES

/** Reports what is wrong with a route's costs by name; `undefined` if something is. */
export function parseCosts(input: unknown, place: Place, issues: Mistake[]): Costs['costs'] | undefined {
  if (input === undefined) return undefined
  const here = [...place, 'costs']
  const before = issues.length
  const names = Object.keys(input as object)
  if (names.length > MAX_COSTS)
    report(issues, 'too_many', `costs must be at most ${MAX_COSTS}, got ${names.length}`, here)
  const known = names.slice(0, MAX_COSTS).filter((name) => {
    const isName = v.is(COST_NAME, name)
    if (!isName) report(issues, 'invalid_name', `costs must have ${COST_NAME_WANTED}, got ${printed(name)}`, here)
    return isName
  })
  const rules: FieldRules = Object.fromEntries(known.map((name) => [name, COST_FIELD]))
  const given = Object.fromEntries(known.map((name) => [name, (input as Readonly<Record<string, unknown>>)[name]]))
  const fields = checkFields(given, rules, 'costs', here, issues)!
  const costs = Object.entries(fields).map(([name, cost]) => [name, parseCost(cost, here, issues, name)])
  return issues.length > before ? undefined : Object.fromEntries(costs)
}

const COST_NAME_WANTED = 'names of 1 to 32 letters, digits, "_" or "-", a letter first'

/** Reports what is wrong with a cost of a route; `undefined` if something is. */
export function parseCost(input: unknown, place: Place, issues: Mistake[], field = 'cost'): Cost | undefined {
  if (input === undefined) return 1
  if (typeof input === 'number') return input
  const here = [...place, field]
  const before = issues.length
  const fields = checkFields(input, COST_FIELDS, field, here, issues)
  if (!fields || issues.length > before) return undefined
  const { max, default: otherwise = 1, divide = 1, roundUp = false } = fields as unknown as Partial<CostByValue>
  const unbounded = (fields.unbounded as number | undefined) ?? max!
  const named = SOURCES.filter((source) => fields[source] !== undefined)
  if (named.length !== 1)
    report(
      issues,
      'invalid_value',
      `${field} must name one of ${SOURCES.join(', ')}, got ${named.length === 0 ? 'none' : named.join(' and ')}`,
      here,
    )
  if (otherwise > max!)
    report(issues, 'invalid_value', `default must be at most max, which is ${max}, got ${otherwise}`, here)
  else if (unbounded < otherwise || unbounded > max!)
    report(
      issues,
      'invalid_value',
      `unbounded must be from default to max, which is ${otherwise} to ${max}, got ${unbounded}`,
      here,
    )
  if (roundUp && fields.divide === undefined)
    report(issues, 'field_not_applicable', 'roundUp must not be set: without divide there is nothing to round', here)
  if (issues.length > before) return undefined
  const [source] = named as [CostByValue['source']]
  const written = fields[source] as string
  return {
    source,
    name: source === 'header' ? written.toLowerCase() : written,
    default: otherwise,
    max: max!,
    unbounded,
    divide,
    roundUp,
  }
}

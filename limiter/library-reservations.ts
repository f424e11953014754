import type { CompiledPolicy } from './compiled-policy'
import type { Charge } from './consistency/strategy'
import type { Decision } from './decision'
import { ConfigError, CostError, Mistake, printed } from './errors'
import { type Meter, meterOf, type UsedUnits } from './meter'
import { parseDuration } from './policies/duration'
import type { Duration } from './policies/policy'
import { LONGEST_RESERVATION_MS, parseReservation, type ReservedUnits } from './reservation'

/** What a request takes. */
export interface TakeOptions {
  /** Whole units that the request takes; 0 peeks. @default 1 */
  readonly cost?: number
  /**
   * Whole units that it takes of the policies with a `cost`, by the name that they say: `{ tokens: 500 }`. A policy of
   * which it takes 0 is not asked.
   * @default 1 each
   */
  readonly costs?: Readonly<Record<string, number>>
}

/** What a request takes of which the true cost is known afterwards. */
export interface ReserveOptions extends TakeOptions {
  /**
   * How long the units stay reserved, a duration such as `2m`, from `1s` to `24h`: `settle` counts what was really used
   * until then. A reservation that nobody settles stays charged in full.
   */
  readonly reserve: Duration
}

/** A decision whose units can be settled. */
export interface ReservedDecision extends Decision {
  /**
   * What `settle` and `meter` want: text to hand to whoever knows the true cost, and to nobody else. Absent where
   * nothing is reserved: the request was denied, or decided without the store.
   */
  readonly reservation?: string
}

const SHORTEST_MS = 1000

/** What is asked of `RateLimiter`. */
interface Reserving {
  decide(charges: readonly Charge[]): Promise<Decision>
  reserve(
    charges: readonly Charge[],
    forMs: number,
    isSettled: (policy: CompiledPolicy) => boolean,
  ): Promise<ReservedDecision>
  settle(token: string, actual: (entry: ReservedUnits) => number | undefined): Promise<boolean>
}

/** Reserves units for a request, and settles them: what the library offers of `RateLimiter.reserve`. */
export class LibraryReservations {
  constructor(private readonly limiter: Reserving) {}

  async reserve(charge: Charge, { reserve, cost, costs }: ReserveOptions): Promise<ReservedDecision> {
    const forMs = parseDuration(reserve)
    if (forMs === undefined || forMs < SHORTEST_MS || forMs > LONGEST_RESERVATION_MS)
      throw wrong(`reserve must be a duration from "1s" to "24h", got ${printed(reserve)}`)
    const isNamed = ({ costName }: CompiledPolicy) =>
      costName === undefined ? cost !== undefined || !costs : costs !== undefined && Object.hasOwn(costs, costName)
    const settled = charge.policies.filter(isNamed)
    if (settled.length === 0) throw wrong('reserve needs units that a policy counts: `costs` of a policy with a `cost`')
    for (const policy of settled) checkSettled(policy)
    return this.limiter.reserve([charge], forMs, isNamed)
  }

  async settle(token: string, used: UsedUnits): Promise<boolean> {
    return this.limiter.settle(token, actualOf(used, entriesOf(token)))
  }

  meter(token: string): Meter {
    const [reserved] = parseReservation(token)
    const { key } = reserved!
    const entries = entriesOf(token)
    return meterOf(
      entries,
      {
        takeMore: async (some, units) => {
          const policies = some.map(({ policy }) => policy)
          const costs = Object.fromEntries(policies.flatMap(({ costName }) => (costName ? [[costName, units]] : [])))
          return (await this.limiter.decide([{ key, policies, cost: units, costs }])).allowed
        },
        settle: (actual) => this.limiter.settle(token, actual),
      },
      (used) => actualOf(used, entries),
    )
  }
}

const entriesOf = (token: string): ReservedUnits[] => parseReservation(token).flatMap(({ entries }) => entries)

/** Units counted in memory, or leased, are in no item that a settlement could correct. */
function checkSettled({ name, consistency, chargesAtTurn }: CompiledPolicy): void {
  if (consistency !== 'strict')
    throw wrong(`reserve needs policies with consistency "strict", policy ${printed(name)} has "${consistency}"`)
  if (chargesAtTurn) throw wrong(`reserve does not go with action "delay", which policy ${printed(name)} has`)
}

/** @throws CostError, ConfigError */
function actualOf(used: unknown, entries: readonly ReservedUnits[]): (entry: ReservedUnits) => number | undefined {
  const names = [...new Set(entries.map(({ policy }) => policy.costName))]
  const check = (units: unknown, name?: string): number | undefined => {
    if (units === undefined) return undefined
    if (!Number.isSafeInteger(units) || (units as number) < 0) throw new CostError(units, 0, name)
    return units as number
  }
  if (typeof used !== 'object' || used === null) {
    const units = check(used ?? Number.NaN)
    if (names.length > 1) throw wrong(`used must say which units by the names of costs, got ${printed(used)}`)
    return () => units
  }
  const { cost, costs = {} } = used as Exclude<UsedUnits, number>
  const unknown = [...Object.keys(used).filter((field) => field !== 'cost' && field !== 'costs')]
  if (cost !== undefined && !names.includes(undefined)) unknown.push('cost')
  unknown.push(...Object.keys(costs).filter((name) => !names.includes(name)))
  if (unknown.length > 0) {
    const known = names.map((name) => name ?? 'cost').join(', ')
    throw wrong(`used must be units of ${known}, which are reserved, got ${unknown.map(printed).join(', ')}`)
  }
  const units = new Map([
    [undefined, check(cost)],
    ...Object.entries(costs).map(([name, one]) => [name, check(one, name)] as const),
  ] as const)
  return ({ policy }) => units.get(policy.costName)
}

const wrong = (sentence: string): ConfigError => new ConfigError([new Mistake('invalid_value', sentence)])

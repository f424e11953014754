import type { CompiledPolicy } from './compiled-policy'
import type { Charge } from './consistency/strategy'
import { ConfigError, CostError, Mistake, printed } from './errors'
import { type Meter, meterOf, type UsedUnits } from './meter'
import { parseDuration } from './policies/duration'
import { LONGEST_RESERVATION_MS, parseReservation, type ReservedUnits } from './reservation'
import { type ReservingLimiter, reserve, settle } from './reserving'
import type { ReservedDecision, ReserveOptions } from './take-options'

const SHORTEST_MS = 1000

/** Reserves units for a request, and settles them: what the library offers of `reserve` and `settle`. */
export class LibraryReservations {
  /** @param own all policies of the limiter. */
  constructor(
    private readonly limiter: ReservingLimiter,
    private readonly own: readonly CompiledPolicy[],
  ) {}

  async reserve(charge: Charge, { reserve: duration, cost, costs }: ReserveOptions): Promise<ReservedDecision> {
    const forMs = parseDuration(duration)
    if (forMs === undefined || forMs < SHORTEST_MS || forMs > LONGEST_RESERVATION_MS)
      throw wrong(`reserve must be a duration from "1s" to "24h", got ${printed(duration)}`)
    const isNamed = ({ costName }: CompiledPolicy) =>
      costName === undefined ? cost !== undefined || !costs : costs !== undefined && Object.hasOwn(costs, costName)
    const settled = charge.policies.filter(isNamed)
    if (settled.length === 0) throw wrong('reserve needs units that a policy counts: `costs` of a policy with a `cost`')
    for (const policy of settled) checkSettled(policy)
    return reserve(this.limiter, [charge], forMs, isNamed)
  }

  async settle(token: string, used: UsedUnits): Promise<boolean> {
    return settle(this.limiter, token, actualOf(used, this.entriesOf(token)), this.own)
  }

  meter(token: string): Meter {
    const [reserved] = parseReservation(token)
    const { key } = reserved!
    const entries = this.entriesOf(token)
    return meterOf(
      entries,
      {
        takeMore: async (some, units) => {
          const policies = some.map(({ policy }) => policy)
          const costs = Object.fromEntries(policies.flatMap(({ costName }) => (costName ? [[costName, units]] : [])))
          const { allowed, chargedAt } = await this.limiter.decide([{ key, policies, cost: units, costs }])
          return { allowed, isCharged: chargedAt !== null }
        },
        settle: (actual) => settle(this.limiter, token, actual, this.own),
      },
      (used) => actualOf(used, entries),
    )
  }

  private entriesOf(token: string): ReservedUnits[] {
    return parseReservation(token, this.own).flatMap(({ entries }) => entries)
  }
}

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
  if (typeof costs !== 'object' || costs === null)
    throw wrong(`used.costs must be units by name, got ${printed(costs)}`)
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

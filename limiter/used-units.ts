import { ConfigError, Mistake, printed } from './errors'
import type { UsedUnits } from './options'
import { checkCost } from './request'
import type { Reserved, ReservedUnits } from './reservations'

/** The units that are reserved, of all subjects. */
export const entriesOf = (reserved: readonly Reserved[]): ReservedUnits[] => reserved.flatMap(({ entries }) => entries)

/**
 * What was used of each policy that is reserved.
 *
 * @throws CostError, ConfigError
 */
export function actualOf(
  used: unknown,
  entries: readonly ReservedUnits[],
): (entry: ReservedUnits) => number | undefined {
  const names = [...new Set(entries.map(({ policy }) => policy.costName))]
  const check = (units: unknown, name?: string): number | undefined => {
    if (units === undefined) return undefined
    checkCost(units as number, 0, name)
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

import type { EpochMs } from '../clock'
import { invalidValue, printed } from '../errors'
import type { UsedUnits } from '../options'
import { checkCost } from '../request'
import type { ActualUnits } from './corrections'
import type { Reserved, ReservedUnits } from './reserved'

/** How a meter debits. */
export interface MeterOptions {
  /**
   * Units past the reservation that one call takes from the limit at least; a tenth of the reservation where that is
   * more. @default 1
   */
  readonly step?: number | undefined
}

/** Debits units of a reservation while they are used, such as the tokens of an answer that is streamed. */
export interface Meter<CostName extends string = string> {
  /**
   * Debits units that were used since the last time. The reserved ones cost no call. Those beyond are taken from the
   * limit, as `take` takes them: at most one call for each `step` units, or each tenth of the reservation where that is
   * more; and at most one a second, or one for each quarter of what the limit had left.
   *
   * @throws ConfigError once the reservation is settled: nothing would charge these units.
   * @returns whether to stop: the limit has no more. What was used past it is a debt, charged by `settle`: one debit,
   * and `step` units or a tenth of the reservation; where others use the limit at the same time, up to a quarter of
   * what it had left a second ago.
   */
  debit(units: UsedUnits<CostName>): Promise<{ readonly stop: boolean }>
  /**
   * Settles the reservation to what was debited.
   *
   * @param used all that was used, where that is known better in the end, such as by the model's own count. What is not
   * said stays as debited.
   * @returns as `settle` of the limiter.
   */
  settle(used?: UsedUnits<CostName>): Promise<boolean>
}

/** What a meter asks of the limiter. */
export interface MeteredLimiter {
  now(): EpochMs
  /** Takes units of some reserved policies. */
  takeMore(entries: readonly ReservedUnits[], units: number): Promise<TakenUnits>
  settle(actual: ActualUnits): Promise<boolean>
}

export interface TakenUnits {
  readonly allowed: boolean
  /** Whether the store has them. What was admitted without it, or only observed, is charged when it is settled. */
  readonly isStored: boolean
  /** Units that the policies have left. */
  readonly left: number
}

/** Between two calls while most of the limit is left, in milliseconds. */
const PAUSE_MS = 1000

interface CostTally {
  readonly entries: ReservedUnits[]
  readonly reserved: number
  used: number
  /** Admitted beyond what was reserved, and how many of those are in the store. */
  admitted: number
  stored: number
  /** What the limit had left after the last call, and whether the store answered it. */
  left: number
  isStored: boolean
  askedAt: EpochMs
}

/** @param usedOf what so many units are of one policy. */
export function meterOf(
  entries: readonly ReservedUnits[],
  limiter: MeteredLimiter,
  usedOf: (units: UsedUnits) => ActualUnits,
  { step = 1 }: MeterOptions = {},
): Meter {
  const tallies: CostTally[] = []
  for (const entry of entries) {
    const { policy, units } = entry
    const tally = tallies.find(({ entries: [other] }) => other!.policy.costName === policy.costName)
    if (tally) tally.entries.push(entry)
    else
      tallies.push({
        ...{ entries: [entry], reserved: units, used: 0, admitted: 0, stored: 0 },
        ...{ left: 0, isStored: true, askedAt: 0 },
      })
  }
  let isOver = false
  let isSettled = false
  let last: Promise<unknown> = Promise.resolve()

  const isDue = ({ reserved, left, askedAt }: CostTally, missing: number): boolean => {
    const chunk = Math.max(Math.ceil(reserved / 10), step)
    return missing >= chunk && (missing >= left / 4 || Math.abs(limiter.now() - askedAt) >= PAUSE_MS)
  }
  const debit = async (units: UsedUnits) => {
    const used = usedOf(units)
    if (isSettled) throw invalidValue('debit must come before settle, got it after')
    for (const tally of tallies) {
      tally.used += used(tally.entries[0]!) ?? 0
      const missing = tally.used - tally.reserved - tally.admitted
      if (isOver || !isDue(tally, missing)) continue
      if (await take(tally, missing)) tally.admitted += missing
      // what was admitted without the store is taken from it as soon as it answers
      const unstored = tally.admitted - tally.stored
      if (tally.isStored && unstored > 0 && !isOver) await take(tally, unstored)
    }
    return { stop: isOver }
  }
  /** Whether so many units more were admitted. */
  const take = async (tally: CostTally, units: number): Promise<boolean> => {
    tally.askedAt = limiter.now()
    const { allowed, isStored, left } = await limiter.takeMore(tally.entries, units)
    Object.assign(tally, { left, isStored })
    if (!allowed) isOver = true
    else if (isStored) tally.stored += units
    return allowed
  }
  /** One after another. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
  return {
    debit: (units) => inTurn(() => debit(units)),
    settle: (total = {}) =>
      inTurn(async () => {
        const totalOf = usedOf(total)
        const settled = await limiter.settle((entry) => {
          const { policy } = entry
          const { used, stored } = tallies.find(({ entries: [one] }) => one!.policy.costName === policy.costName)!
          return Math.max(0, (totalOf(entry) ?? used) - stored)
        })
        isSettled = true
        return settled
      }),
  }
}

/** The units that are reserved, of all subjects. */
export const entriesOf = (reserved: readonly Reserved[]): ReservedUnits[] => reserved.flatMap(({ entries }) => entries)

/**
 * What was used of each policy that is reserved. A slot alone uses nothing.
 *
 * @throws CostError, ConfigError
 */
export function actualOf(
  used: unknown,
  entries: readonly ReservedUnits[],
): (entry: ReservedUnits) => number | undefined {
  if (entries.length === 0) return () => undefined
  const names = [...new Set(entries.map(({ policy }) => policy.costName))]
  const check = (units: unknown, name?: string): number | undefined => {
    if (units === undefined) return undefined
    checkCost(units as number, 0, name)
    return units as number
  }
  if (typeof used !== 'object' || used === null) {
    const units = check(used ?? Number.NaN)
    if (names.length > 1) throw invalidValue(`used must say which units by the names of costs, got ${printed(used)}`)
    return () => units
  }
  const { cost, costs = {} } = used as Exclude<UsedUnits, number>
  if (typeof costs !== 'object' || costs === null)
    throw invalidValue(`used.costs must be units by name, got ${printed(costs)}`)
  const unknown = [...Object.keys(used).filter((field) => field !== 'cost' && field !== 'costs')]
  if (cost !== undefined && !names.includes(undefined)) unknown.push('cost')
  unknown.push(...Object.keys(costs).filter((name) => !names.includes(name)))
  if (unknown.length > 0) {
    const known = names.map((name) => name ?? 'cost').join(', ')
    throw invalidValue(`used must be units of ${known}, which are reserved, got ${unknown.map(printed).join(', ')}`)
  }
  const units = new Map([
    [undefined, check(cost)],
    ...Object.entries(costs).map(([name, one]) => [name, check(one, name)] as const),
  ] as const)
  return ({ policy }) => units.get(policy.costName)
}

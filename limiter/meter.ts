import type { UsedUnits } from './reported-units'
import type { ReservedUnits } from './reservation'

/** Debits units of a reservation while they are used, such as the tokens of an answer that is streamed. */
export interface Meter {
  /**
   * Debits units that were used since the last time. The reserved ones cost no call; those beyond are taken from the
   * limit as `take` takes them.
   *
   * @returns whether to stop: the limit has no more. What was used past it is a debt, charged by `settle`.
   */
  debit(units: UsedUnits): Promise<{ readonly stop: boolean }>
  /**
   * Settles the reservation to what was debited.
   *
   * @returns false when it is not open any more.
   */
  settle(): Promise<boolean>
}

/** What a meter asks of the limiter. */
export interface MeteredLimiter {
  /** Takes units of some reserved policies, which may have them and not be charged: without the store, or observing. */
  takeMore(
    entries: readonly ReservedUnits[],
    units: number,
  ): Promise<{ readonly allowed: boolean; readonly isCharged: boolean }>
  settle(actual: (entry: ReservedUnits) => number): Promise<boolean>
}

interface CostTally {
  readonly entries: ReservedUnits[]
  readonly reserved: number
  used: number
  /** Taken beyond what was reserved. */
  taken: number
}

/** @param usedOf what so many units are of one policy. */
export function meterOf(
  entries: readonly ReservedUnits[],
  limiter: MeteredLimiter,
  usedOf: (units: UsedUnits) => (entry: ReservedUnits) => number | undefined,
): Meter {
  const tallies: CostTally[] = []
  for (const entry of entries) {
    const { policy, units } = entry
    const tally = tallies.find(({ entries: [other] }) => other!.policy.costName === policy.costName)
    if (tally) tally.entries.push(entry)
    else tallies.push({ entries: [entry], reserved: units, used: 0, taken: 0 })
  }
  let isOver = false
  let last: Promise<unknown> = Promise.resolve()

  const debit = async (units: UsedUnits) => {
    const used = usedOf(units)
    for (const tally of tallies) {
      tally.used += used(tally.entries[0]!) ?? 0
      const missing = tally.used - tally.reserved - tally.taken
      if (missing <= 0 || isOver) continue
      const { allowed, isCharged } = await limiter.takeMore(tally.entries, missing)
      if (!allowed) isOver = true
      else if (isCharged) tally.taken += missing
    }
    return { stop: isOver }
  }
  /** One after another. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work)
    last = result.catch(() => {})
    return result
  }
  return {
    debit: (units) => inTurn(() => debit(units)),
    settle: () =>
      inTurn(() =>
        limiter.settle(({ policy }) => {
          const { used, taken } = tallies.find(({ entries: [one] }) => one!.policy.costName === policy.costName)!
          return used - taken
        }),
      ),
  }
}

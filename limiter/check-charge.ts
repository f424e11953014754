import type { EpochMs } from './clock'
import type { Charge } from './consistency/strategy'
import { ChargedAtError, CostError } from './errors'
import { namedUnits } from './units'

/**
 * @param name of one of several costs.
 * @throws CostError unless the cost is a whole number of units, `least` or more.
 */
export function checkCost(cost: number, least: 0 | 1, name?: string): void {
  if (!Number.isSafeInteger(cost) || cost < least) throw new CostError(cost, least, name)
}

/** What a request takes from each policy. @throws CostError of the first cost that is none. */
export function toUnits(charge: Charge): Charge {
  checkCost(charge.cost, 0)
  if (charge.costs) for (const [name, cost] of Object.entries(charge.costs)) checkCost(cost, 0, name)
  return namedUnits(charge)
}

/** How far clocks may differ, in milliseconds. */
const SKEW_MS = 60_000

/**
 * Checks what a refund says of its charge; both may be left out.
 *
 * @throws ChargedAtError that names the one that is wrong.
 */
export function checkChargedAt(chargedAt: EpochMs | null | undefined, delayMs: number | undefined, now: EpochMs): void {
  const latest = now + SKEW_MS
  if (
    chargedAt !== undefined &&
    chargedAt !== null &&
    !(Number.isSafeInteger(chargedAt) && chargedAt >= 0 && chargedAt <= latest)
  ) {
    throw new ChargedAtError(
      'chargedAt',
      chargedAt,
      `epoch milliseconds, at most ${SKEW_MS / 1000} s ahead of now (${now})`,
    )
  }
  if (delayMs !== undefined && !(Number.isSafeInteger(delayMs) && delayMs >= 0)) {
    throw new ChargedAtError('delayMs', delayMs, 'whole milliseconds from 0')
  }
}

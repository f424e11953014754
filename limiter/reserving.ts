import type { ActualUnits } from './corrections'
import type { Decision } from './decision'
import { IN_DOUBT_FAILURES } from './errors'
import type { SubjectItems } from './items'
import type { WithoutStore } from './options'
import { type IsSettled, Reservation, type ReservedCharge } from './reservation'
import type { Reserved } from './reservations'
import { Settlements } from './settlements'
import type { Item } from './stores/store'

/** What reserving asks of a `RateLimiter`. */
export interface ReservingLimiter {
  decide(charges: readonly ReservedCharge[], withoutStore?: WithoutStore): Promise<Decision>
  /** What was last seen of a subject. @default nothing, and settling may take a call more */
  lastSeen?(key: string): Item | undefined
}

/** What settling asks of it. */
export interface SettlingLimiter {
  readonly items: SubjectItems
}

/**
 * Decides charges that are settled once their true units are known.
 *
 * A decision without the store has a reservation where the answer of the store was lost: it may stand there, and
 * settling it does nothing where it does not.
 *
 * @param forMs how long the reservation lasts, in milliseconds.
 * @param isSettled whether the units of a policy are settled.
 * @param caller the subject that the reservation is stored with. @default that of the first charge
 */
export async function reserve(
  limiter: ReservingLimiter,
  charges: readonly ReservedCharge[],
  forMs: number,
  isSettled: IsSettled,
  withoutStore: WithoutStore = {},
  caller = charges[0]!.key,
): Promise<Decision & { readonly reservation?: string }> {
  const reservation = new Reservation(charges, forMs, isSettled, caller)
  const decision = await limiter.decide(reservation.charges, withoutStore)
  const { allowed, degraded, failure } = decision
  const token =
    allowed && degraded && failure && IN_DOUBT_FAILURES.includes(failure)
      ? reservation.tokenInDoubt
      : reservation.tokenFor(decision, (key) => limiter.lastSeen?.(key))
  return token === undefined ? decision : { ...decision, reservation: token }
}

/**
 * Settles a reservation: gives back what was not used, and charges what was used beyond it.
 *
 * @param reserved what it holds of each subject.
 * @returns as `Settlements.settle`.
 * @throws StoreUnavailableError
 */
export function settle(
  { items }: SettlingLimiter,
  reserved: readonly Reserved[],
  actual: ActualUnits,
): Promise<boolean> {
  const settlements = settlementsOf.get(items) ?? new Settlements(items)
  settlementsOf.set(items, settlements)
  return settlements.settle(reserved, actual)
}

/** One for each process and table, for what it has sent. */
const settlementsOf = new WeakMap<SubjectItems, Settlements>()

import type { Deadline } from './deadline'
import type { Decision } from './decision'
import { IN_DOUBT_FAILURES } from './errors'
import type { WithoutStore } from './options'
import { type IsSettled, Reservation, type Reserved, type ReservedCharge } from './reservation'
import { type ActualUnits, type SettledSubjects, Settlements } from './settlements'
import type { Item } from './stores/store'

/** What reserving asks of a `RateLimiter`. */
export interface ReservingLimiter {
  decide(charges: readonly ReservedCharge[], withoutStore?: WithoutStore): Promise<Decision>
  /** What was last seen of a subject. @default nothing, and settling may take a call more */
  lastSeen?(key: string): Item | undefined
}

/** What settling asks of it. */
export interface SettlingLimiter {
  readonly loop: SettledSubjects & { deadline(): Deadline }
}

/**
 * Decides charges that are settled once their true units are known.
 *
 * A decision without the store has a reservation where the answer of the store was lost: it may stand there, and
 * settling it does nothing where it does not.
 *
 * @param forMs how long the reservation lasts, in milliseconds.
 * @param isSettled whether the units of a policy are settled.
 */
export async function reserve(
  limiter: ReservingLimiter,
  charges: readonly ReservedCharge[],
  forMs: number,
  isSettled: IsSettled,
  withoutStore: WithoutStore = {},
): Promise<Decision & { readonly reservation?: string }> {
  const reservation = new Reservation(charges, forMs, isSettled)
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
 * @returns false when it is not open any more.
 * @throws StoreUnavailableError
 */
export async function settle(
  { loop }: SettlingLimiter,
  reserved: readonly Reserved[],
  actual: ActualUnits,
): Promise<boolean> {
  const settlements = new Settlements(loop)
  const settled = reserved.map((one) => settlements.settle(one, actual, loop.deadline()))
  const failed = (await Promise.allSettled(settled)).find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
  return (await Promise.all(settled)).includes(true)
}

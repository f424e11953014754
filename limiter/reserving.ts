import type { CompiledPolicy } from './compiled-policy'
import type { Deadline } from './deadline'
import type { Decision } from './decision'
import type { WithoutStore } from './options'
import { parseReservation, Reservation, type ReservedCharge } from './reservation'
import { type ActualUnits, type SettledSubjects, Settlements } from './settlements'

/** What reserving and settling ask of a `RateLimiter`. */
export interface ReservingLimiter {
  decide(charges: readonly ReservedCharge[], withoutStore?: WithoutStore): Promise<Decision>
  readonly loop: SettledSubjects & { deadline(): Deadline }
}

/**
 * Decides charges that are settled once their true units are known.
 *
 * @param forMs how long the reservation lasts, in milliseconds.
 * @param isSettled whether the units of a policy are settled.
 */
export async function reserve(
  limiter: ReservingLimiter,
  charges: readonly ReservedCharge[],
  forMs: number,
  isSettled: (policy: CompiledPolicy) => boolean,
  withoutStore: WithoutStore = {},
): Promise<Decision & { readonly reservation?: string }> {
  const reservation = new Reservation(charges, forMs, isSettled)
  const decision = await limiter.decide(reservation.charges, withoutStore)
  const token = reservation.tokenFor(decision, (key) => limiter.loop.view(key)?.item)
  return token === undefined ? decision : { ...decision, reservation: token }
}

/**
 * Settles a reservation: gives back what was not used, and charges what was used beyond it.
 *
 * @param own policies as they are now, of which some were reserved.
 * @returns false when it is not open any more.
 * @throws ReservationError, StoreUnavailableError
 */
export async function settle(
  { loop }: ReservingLimiter,
  token: string,
  actual: ActualUnits,
  own: readonly CompiledPolicy[] = [],
): Promise<boolean> {
  const settlements = new Settlements(loop)
  const settled = parseReservation(token, own).map((reserved) => settlements.settle(reserved, actual, loop.deadline()))
  const failed = (await Promise.allSettled(settled)).find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
  return (await Promise.all(settled)).includes(true)
}

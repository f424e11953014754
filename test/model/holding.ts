import type { CompiledPolicy } from '../../limiter/compiled-policy'
import type { Decision } from '../../limiter/decision'
import { LibraryReservations } from '../../limiter/library-reservations'
import type { Charge, RateLimiter } from '../../limiter/rate-limiter'
import { parseReservation } from '../../limiter/reservation-token'
import { reserve, settle } from '../../limiter/reserving'
import type { Slot } from '../../limiter/slot'

/** What an allowed request holds. */
export interface Held {
  readonly decision: Decision
  /** Absent where it was decided without the store. */
  readonly token: string | undefined
  /** Where the library gave one, which knows what the process admitted by itself. */
  readonly slot: Slot | undefined
  readonly by: RateLimiter
}

/** Whether units of a policy can be settled. */
const isSettled = ({ consistency, chargesAtTurn, counter }: CompiledPolicy): boolean =>
  consistency === 'strict' && !chargesAtTurn && !counter.isEndedByOthers

/**
 * Decides a request that reserves units, or runs, or both: as the library does where that can do it, and else as the
 * authorizer does.
 */
export async function decideHolding(
  limiter: RateLimiter,
  charges: readonly Charge[],
  forMs: number | undefined,
): Promise<Held> {
  const [charge, another] = charges as [Charge, Charge?]
  if (forMs === undefined && !another) {
    const slot = await new LibraryReservations(limiter, charge.policies).acquire(charge, {})
    return { decision: slot, token: slot.reservation, slot, by: limiter }
  }
  const settled = forMs === undefined ? () => false : isSettled
  const { reservation, ...decision } = await reserve(limiter, charges, forMs ?? 0, settled)
  return { decision, token: reservation, slot: undefined, by: limiter }
}

/**
 * Ends what a request holds.
 *
 * @param own the policies of the instance that ends it.
 * @param used units of each policy that is settled; those that are reserved if `undefined`.
 */
export async function end(
  limiter: RateLimiter,
  own: readonly CompiledPolicy[],
  { token, slot, by }: Held,
  used: number | undefined,
): Promise<boolean> {
  if (slot && by === limiter && used === undefined) return slot.release()
  return token === undefined ? false : settle(limiter, parseReservation(token, own), () => used)
}

/** The ids under which the store knows what is held, by subject. */
export const idOf = (token: string): string => parseReservation(token)[0]!.id

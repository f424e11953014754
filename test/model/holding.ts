import type { CompiledPolicy } from '../../limiter/compiled-policy'
import type { Decision } from '../../limiter/decision'
import type { Slot, UsedUnits } from '../../limiter/options'
import type { Charge, RateLimiter } from '../../limiter/rate-limiter'
import { LibraryReservations } from '../../limiter/reservations/library-reservations'
import type { Meter } from '../../limiter/reservations/meter'
import { reserve } from '../../limiter/reservations/reservation'
import { settle } from '../../limiter/reservations/settlements'
import { parseReservation } from '../../limiter/reservations/token'

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
  caller?: string,
): Promise<Held> {
  const [charge, another] = charges as [Charge, Charge?]
  if (forMs === undefined && !another) {
    const slot = await new LibraryReservations(limiter, charge.policies).acquire(charge, {})
    return { decision: slot, token: slot.reservation, slot, by: limiter }
  }
  const settled = forMs === undefined ? () => false : isSettled
  const { reservation, ...told } = await reserve(limiter, charges, forMs ?? 0, settled, {}, caller)
  const decision = forMs !== undefined && reservation !== undefined ? { ...told, chargedAt: null } : told
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

/** A meter of what is reserved. @param decide decides what it takes beyond that. */
export function meterOn(
  limiter: RateLimiter,
  own: readonly CompiledPolicy[],
  token: string,
  decide: (charges: readonly Charge[]) => Promise<Decision>,
): Meter {
  const { items } = limiter
  return new LibraryReservations({ items, decide, endHere: () => false, lastSeen: () => undefined }, own).meter(token)
}

/** So many units of each cost that is reserved; `undefined` where none is. */
export function unitsOfEach(token: string, units: number): UsedUnits | undefined {
  const names = new Set(parseReservation(token).flatMap(({ entries }) => entries.map(({ policy }) => policy.costName)))
  const costs = [...names].flatMap((name) => (name === undefined ? [] : [[name, units]]))
  if (names.size === 0) return undefined
  return { ...(names.has(undefined) && { cost: units }), costs: Object.fromEntries(costs) }
}

/** The ids under which the store knows what is held, by subject. */
export const idOf = (token: string): string => parseReservation(token)[0]!.id

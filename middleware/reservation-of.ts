import { ofProcess } from './of-process'
import type { RequestReservations } from './request-reservations'
import { NOTHING, type RequestReservation } from './reservation'

const all = ofProcess('reservations', () => new WeakMap<object, RequestReservations>())

/**
 * What a request holds: for a handler that learns what a request costs, or that continues where its framework does not
 * show it.
 *
 * @param request what the framework passes to its middlewares: `req`, `request`, `c` or `ctx`.
 */
export const reservationOf = (request: object): RequestReservation => all.get(request) ?? NOTHING

/** The same for a middleware that adds to it. What only such requests need is loaded for the first of them. */
export async function reservationsOf(request: object): Promise<RequestReservations> {
  const { RequestReservations } = await import('./request-reservations.ts')
  const known = all.get(request) ?? new RequestReservations()
  all.set(request, known)
  return known
}

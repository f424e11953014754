import { fieldsOf, LONGEST_KEPT_MS, openIn, RESERVATIONS } from '../facade/limiter'
import type { StateStore } from '../facade/tables'
import type { EpochMs } from '../facade/values'
import { duration } from '../terminal/output'

/** Requests of a caller whose units are reserved, and not settled. */
export interface OpenReservations {
  readonly open: number
  /** Of how many; one more is denied. */
  readonly limit: number
  /** How long the last of them stays reserved, in milliseconds; 0 where the time of all is over. */
  readonly lastMs: number
}

/** What a caller holds; `undefined` where it holds nothing. Subjects that callers share hold nothing themselves. */
export async function reservationsOf(
  store: Pick<StateStore, 'read'>,
  key: string,
  now: EpochMs,
): Promise<OpenReservations | undefined> {
  const fields = fieldsOf(await store.read(key), RESERVATIONS)!
  const { open, lastMs } = openIn(fields, LONGEST_KEPT_MS, now)
  return open > 0 ? { open, limit: RESERVATIONS.limit, lastMs } : undefined
}

/** `3 of 1000 reservations are open, the last for 2 min`. */
export const reservationText = ({ open, limit, lastMs }: OpenReservations): string =>
  `${open} of ${limit} reservations are open${lastMs > 0 ? `, the last for ${duration(lastMs)}` : ', past their time'}`

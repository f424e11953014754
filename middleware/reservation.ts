import { invalidValue } from '../limiter/errors'
import type { UsedUnits } from '../limiter/options'
import type { Meter } from '../limiter/reservations/meter'

/** What a request holds of the limiters that admitted it: units that are reserved, and slots. */
export interface RequestReservation {
  /** What another process settles it by: `limiter.settle(reservation, used)`. One for each limiter that reserves. */
  readonly reservations: readonly string[]
  /**
   * Keeps it past the end of the request: until `settle`, here or in another process, or until its time is over.
   *
   * @returns false where the request holds nothing, or not any more.
   */
  hold(): boolean
  /**
   * Debits units that were used since the last time, such as the tokens of one part of a streamed answer.
   *
   * @returns whether to stop: the limit has no more, or the client has left and the request is not on `hold`. Where the
   * store could not be asked when the request came, nothing is reserved, and nothing is counted.
   * @throws ConfigError where no middleware with `reserve` has seen the request, or after `settle`.
   * @throws StoreUnavailableError only where the limiter's `onStoreError` is `throw`.
   */
  debit(units: UsedUnits): Promise<{ readonly stop: boolean }>
  /**
   * Settles the units, and frees the slots, whatever still runs. The end of the request does it if the handler has not.
   *
   * @param used all that was used. @default what was debited; without a `debit`, what is reserved
   * @returns whether it has settled any. Where the store cannot be reached it has not, and the end of the request tries
   * once more.
   * @throws ConfigError, CostError for units of what is not reserved, or no numbers.
   */
  settle(used?: UsedUnits): Promise<boolean>
}

/** What one limiter has admitted a request with. */
export interface Held {
  readonly token: string | undefined
  /** Absent where no units are reserved. */
  readonly meter: (() => Meter) | undefined
  settle(used?: UsedUnits): Promise<boolean>
}

/** Refuses units of a request that reserves none: they would be counted nowhere. */
export function refuseUnits(call: string): never {
  throw invalidValue(`${call} needs a request that a middleware with the option reserve has seen, got another`)
}

/** What a request holds that no middleware has admitted with anything to hold. */
export const NOTHING: RequestReservation = {
  reservations: [],
  hold: () => false,
  debit: async () => refuseUnits('debit'),
  settle: async (used) => (used === undefined ? false : refuseUnits('settle')),
}

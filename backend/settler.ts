import '../limiter/stores/both-builds'
import { type Clock, systemClock } from '../limiter/clock'
import { SubjectItems } from '../limiter/items'
import type { UsedUnits } from '../limiter/options'
import { actualOf, entriesOf } from '../limiter/reservations/meter'
import type { Reserved } from '../limiter/reservations/reserved'
import { type SettlingLimiter, settle } from '../limiter/reservations/settlements'
import { parseReservation } from '../limiter/reservations/token'
import { DirectCalls } from '../limiter/stores/direct-calls'
import { ItemStore } from '../limiter/stores/item-store'
import type { StateStore } from '../limiter/stores/store'
import type { SettlingTable } from './environment'

/** Time for one settlement in the background, in milliseconds: a connection may have to be made. */
const DEADLINE_MS = 2000

/** Settles what requests hold, in the state table. */
export class Settler {
  constructor(private readonly limiter: SettlingLimiter) {}

  /**
   * @param used what was really used; `undefined` leaves it at what is reserved, and a slot alone uses nothing.
   * @returns false when nothing is held any more.
   * @throws ReservationError, CostError, ConfigError, StoreUnavailableError
   */
  async settle(reservation: string, used: UsedUnits | undefined): Promise<boolean> {
    const reserved = parseReservation(reservation)
    const entries = entriesOf(reserved)
    return settle(this.limiter, reserved, used === undefined ? () => undefined : actualOf(used, entries))
  }

  /**
   * Frees the slots that a request holds of concurrency policies: it has ended, and another process settles its units.
   */
  async releaseSlots(reservation: string): Promise<boolean> {
    const reserved = parseReservation(reservation).map((one): Reserved => {
      const holders = one.holders.filter(({ isInternal }) => !isInternal)
      return { ...one, entries: [], holders, isShared: false }
    })
    const holding = reserved.filter(({ holders }) => holders.length > 0)
    return settle(this.limiter, holding, () => undefined)
  }
}

/** @throws ConfigError where the environment names no Region. */
export function settlerFor({ name, endpoint }: SettlingTable): Settler {
  return settlerIn(new ItemStore(new DirectCalls({ endpoint }), name))
}

/** A settler for a function that decides nothing itself. */
export function settlerIn(store: StateStore, clock: Clock = systemClock): Settler {
  const times = { deadlineMs: DEADLINE_MS, firstDeadlineMs: DEADLINE_MS, denialTtlMs: DEADLINE_MS }
  const items = new SubjectItems({ store, clock, ...times, maxSubjects: 1000, onEvent: () => {} })
  return new Settler({ items })
}

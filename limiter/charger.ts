import type { EpochMs } from './clock'
import type { Decision } from './decision'
import type { RefundOptions } from './options'
import type { Charge } from './request'
import type { Item } from './stores/store'

/** The limiter, as requests that wait use it. */
export interface Charger {
  now(): EpochMs
  decide(charges: readonly Charge[]): Promise<Decision>
  refund(charge: Charge, options: RefundOptions): Promise<void>
  /** What was last seen of a subject in the store. */
  lastSeen(key: string): Item | undefined
  /** Asks a store that keeps failing again within half a second, however long it has been away. */
  probeSoon(): void
}

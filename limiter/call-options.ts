import type { EpochMs } from './clock'

/** Options of a single call over the network. */
export interface CallOptions {
  /** Ends the call when it takes too long. Whether a write then happened is not known. */
  readonly signal?: EndSignal
  /**
   * Told when the store answered by its own clock, cut to the second, where it says so: the system's clock is compared
   * with it.
   */
  readonly onServerTime?: (at: EpochMs) => void
}

/**
 * Tells a call to end. Any `AbortSignal` is one; the take loop makes plainer ones, because listening to an
 * `AbortSignal` costs a tenth of a whole call. A call that does not look at it is left behind when its time is over.
 */
export interface EndSignal {
  readonly aborted: boolean
  onabort: ((this: never, event: never) => unknown) | null
}

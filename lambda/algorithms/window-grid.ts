import type { EpochMs } from '../clock'

/** Divides time into numbered windows without gaps. Epoch grids are below; calendar grids are in policies/calendar.ts. */
export interface WindowGrid {
  /** The number of the window that contains an instant; later windows have higher numbers, without gaps. */
  indexAt(at: EpochMs): number
  /** The first instant of a window. */
  startOf(index: number): EpochMs
  /** The length of the longest window, in milliseconds. */
  readonly longestMs: number
}

/** Windows of one length, counted from 1970-01-01T00:00:00Z. */
export const epochGrid = (windowMs: number): WindowGrid => ({
  indexAt: (at) => Math.floor(at / windowMs),
  startOf: (index) => index * windowMs,
  longestMs: windowMs,
})

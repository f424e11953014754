import type { EpochMs } from '../clock'

/**
 * Divides time into numbered windows without gaps. Epoch grids are below; calendar grids are in policies/calendar.ts.
 */
export interface WindowGrid {
  /** The number of the window that contains an instant; later windows have higher numbers, without gaps. */
  indexAt(at: EpochMs): number
  /** The first instant of a window. */
  startOf(index: number): EpochMs
  /** The length of the longest window, in milliseconds. */
  readonly longestMs: number
}

/** Where the window of this moment ends, of windows of one length. */
export const edgeAfter = (at: EpochMs, windowMs: number): EpochMs => (Math.floor(at / windowMs) + 1) * windowMs

/**
 * How long units of a limit without windows may be held, in milliseconds: what is charged ahead leaves a gap that
 * others cannot use, and is spent in a burst that came from nowhere, so neither for long.
 */
export const heldMs = (windowMs: number): number => Math.min(windowMs, 2000)

/** The same where a unit slides out of a window after its charge: spent later, it counts for less than a window. */
export const heldInSlidingMs = (windowMs: number): number => heldMs(windowMs / 2)

/** Windows of one length, counted from 1970-01-01T00:00:00Z. */
export const epochGrid = (windowMs: number): WindowGrid => ({
  indexAt: (at) => Math.floor(at / windowMs),
  startOf: (index) => index * windowMs,
  longestMs: windowMs,
})

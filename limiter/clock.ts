import { ClockError, LATEST_MS } from './errors'

/** Milliseconds since 1970-01-01T00:00:00Z, a whole number. */
export type EpochMs = number

/**
 * Whole milliseconds; a fraction is dropped.
 *
 * @throws ClockError for what is no time, such as NaN, one before 1970, or microseconds.
 */
export function toEpochMs(told: unknown): EpochMs {
  if (typeof told !== 'number' || !(told >= 0 && told <= LATEST_MS)) throw new ClockError(told)
  return Math.floor(told)
}

/** Tells the time. Passed in everywhere, so that tests and simulations own it. */
export type Clock = () => EpochMs

export const systemClock: Clock = () => Date.now()

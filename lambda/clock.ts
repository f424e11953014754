/** Milliseconds since 1970-01-01T00:00:00Z, a whole number. */
export type EpochMs = number

/** Tells the time. Passed in everywhere, so that tests and simulations own it. */
export type Clock = () => EpochMs

export const systemClock: Clock = () => Date.now()

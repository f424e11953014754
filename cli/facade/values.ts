/** How values are written, read and found wrong: durations, times, what to print of them, and mistakes. Pure. */

export { BoundedMap } from '../../limiter/bounded-map'
export type { Clock, EpochMs } from '../../limiter/clock'
export { ConfigError, Mistake, printed, SluiceError, StoreUnavailableError } from '../../limiter/errors'
export { calendarGrid, isTimezone } from '../../limiter/policies/calendar'
export { parseDuration } from '../../limiter/policies/duration'
export { type FieldRules, nearest, suggestion } from '../../limiter/policies/report'

/** Milliseconds per unit. A day is 24 hours here; the calendar's days are the words `day`, `week`, `month`, `year`. */
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Ten years: far beyond any quota, near enough that times in microseconds stay exact. */
export const MAX_DURATION_MS = 3660 * 86_400_000

/**
 * Milliseconds of a duration such as `250ms`, `30s`, `1m`, `12h`, `7d`; `undefined` when it is not one, is zero or is
 * longer than ten years.
 */
export function parseDuration(text: unknown): number | undefined {
  const [, digits, unit] = (typeof text === 'string' && /^(\d{1,15})(ms|s|m|h|d)$/.exec(text)) || []
  const durationMs = Number(digits) * (UNITS[unit ?? ''] ?? Number.NaN)
  return durationMs >= 1 && durationMs <= MAX_DURATION_MS ? durationMs : undefined
}

/** The longest time that a request holds what it took, in milliseconds. */
export const MAX_HOLD_MS = 24 * 3_600_000

/** Milliseconds of a duration for which a request can hold what it took: from `1s` to `24h`. */
export function parseHold(text: unknown): number | undefined {
  const ms = parseDuration(text)
  return ms! >= 1000 && ms! <= MAX_HOLD_MS ? ms : undefined
}

import { iso, parseTime } from './arguments'
import { UserError } from './exit'
import { calendarGrid, type EpochMs, isTimezone, parseDuration, printed } from './facade/values'

/** From Thursday on, which 1970-01-01 was. */
const WEEKDAYS = ['thursday', 'friday', 'saturday', 'sunday', 'monday', 'tuesday', 'wednesday']

/**
 * When something ends, as ISO 8601: at a time with its offset, after a duration, or with a day, `2026-11-27` or
 * `friday`. The weekday that it is today is that of next week.
 *
 * @param timezone whose day is meant, an IANA name.
 */
export function endOf(text: string, option: string, timezone: string, now: EpochMs): string {
  const at = momentOf(text, timezone, now)
  if (at === undefined) {
    const wanted = 'a time such as "2027-01-31T12:00:00Z", a duration such as "30d", a date or a weekday'
    throw new UserError(`${option} must be ${wanted}, got ${printed(text)}`)
  }
  if (at <= now) throw new UserError(`${option} ${printed(text)} is in the past: it was at ${iso(at)}`)
  return iso(at)
}

function momentOf(text: string, timezone: string, now: EpochMs): EpochMs | undefined {
  const durationMs = parseDuration(text)
  if (durationMs !== undefined) return now + durationMs
  if (!isTimezone(timezone))
    throw new UserError(`--timezone must be an IANA time zone such as "Europe/Berlin", got ${printed(timezone)}`)
  const days = calendarGrid('day', timezone)
  const weekday = WEEKDAYS.indexOf(text.toLowerCase())
  if (weekday >= 0) {
    const today = days.indexAt(now)
    const inDays = 7 - ((today - weekday) % 7)
    return days.startOf(today + inDays + 1)
  }
  const at = parseTime(text)
  return at !== undefined && /^\d{4}-\d\d-\d\d$/.test(text) ? days.startOf(at / 86_400_000 + 1) : at
}

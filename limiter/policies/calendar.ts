import { firstMoment } from '../algorithms/first-moment'
import type { WindowGrid } from '../algorithms/window-grid'
import type { EpochMs } from '../clock'

export const CALENDAR_UNITS = ['day', 'week', 'month', 'year'] as const
export type CalendarUnit = (typeof CALENDAR_UNITS)[number]

export const isCalendarUnit = (word: unknown): word is CalendarUnit =>
  (CALENDAR_UNITS as readonly unknown[]).includes(word)

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

/** The longest length of each calendar window, which clients see in the policy header. */
export const CALENDAR_WINDOW_MS: Readonly<Record<CalendarUnit, number>> = {
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
  year: 366 * DAY_MS,
}

/** How much longer a window may last: the most that clocks have gone back in this century (Antarctica/Casey, 2010). */
const LONGER_BY_MS = 3 * HOUR_MS

/** Every offset from UTC that was ever used lies within this. */
const FARTHEST_OFFSET_MS = 16 * HOUR_MS

/**
 * Windows that begin when a day, week (on Monday, ISO 8601), month or year begins on the wall clocks of a time zone: 23
 * or 25 hours long where the clocks change, and beginning at the first instant of the date where its midnight was
 * skipped.
 *
 * The zone's rules come from the runtime's own tz data (`Intl`). Looking a window up costs some dozen conversions; the
 * newest is remembered.
 */
export function calendarGrid(unit: CalendarUnit, timezone: string): WindowGrid {
  const localDay = localDays(timezone)
  const startOf = remember((index: number): EpochMs => {
    const first = firstDay(unit, index)
    const utcMidnight = first * DAY_MS
    return firstMoment(
      utcMidnight - FARTHEST_OFFSET_MS,
      utcMidnight + FARTHEST_OFFSET_MS,
      (at) => localDay(at) >= first,
    )
  })
  let newest = Number.NaN

  return {
    startOf,
    indexAt(at) {
      if (at >= startOf(newest) && at < startOf(newest + 1)) return newest
      const byDate = indexOfDay(unit, localDay(at))
      // A zone that goes back across midnight begins a date twice; the window begins at one of the two, and windows
      // never go back.
      newest = at >= startOf(byDate + 1) ? byDate + 1 : at < startOf(byDate) ? byDate - 1 : byDate
      return newest
    },
    longestMs: CALENDAR_WINDOW_MS[unit] + LONGER_BY_MS,
  }
}

/** Whether the runtime's tz data knows a zone by this name. */
export function isTimezone(name: string): boolean {
  try {
    return name !== '' && Boolean(formatOf(name))
  } catch {
    return false
  }
}

/** Days from 1970-01-01 to the date that a zone's wall clocks show. */
function localDays(timezone: string): (at: EpochMs) => number {
  return (at) => {
    const parts: Record<string, number> = {}
    for (const { type, value } of formatOf(timezone).formatToParts(at)) parts[type] = Number(value)
    return Date.UTC(parts.year!, parts.month! - 1, parts.day!) / DAY_MS
  }
}

/** Zones remembered, far more than a policy set names. */
const MAX_ZONES = 100

const formats = new Map<string, Intl.DateTimeFormat>()

/**
 * How dates are written in a zone, worked out once: this takes longer than all the rest of a policy. Throws where there
 * is no such zone.
 */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  })
  if (formats.size >= MAX_ZONES) formats.clear()
  formats.set(timeZone, format)
  return format
}

function indexOfDay(unit: CalendarUnit, day: number): number {
  if (unit === 'day') return day
  if (unit === 'week') return Math.floor((day + 3) / 7) // 1970-01-01 was a Thursday
  const date = new Date(day * DAY_MS)
  return unit === 'year' ? date.getUTCFullYear() : date.getUTCFullYear() * 12 + date.getUTCMonth()
}

function firstDay(unit: CalendarUnit, index: number): number {
  if (unit === 'day') return index
  if (unit === 'week') return index * 7 - 3
  return unit === 'year' ? Date.UTC(index, 0, 1) / DAY_MS : Date.UTC(Math.floor(index / 12), index % 12, 1) / DAY_MS
}

/** Keeps the few newest answers. */
function remember(find: (index: number) => number): (index: number) => number {
  const known = new Map<number, number>()
  return (index) => {
    if (Number.isNaN(index)) return Number.NaN
    let found = known.get(index)
    if (found === undefined) {
      found = find(index)
      if (known.size >= 8) known.clear()
      known.set(index, found)
    }
    return found
  }
}

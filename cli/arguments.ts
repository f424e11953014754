import { InvalidArgumentError } from 'commander'
import { UserError } from './exit'
import { type Clock, type EpochMs, parseDuration } from './facade/values'

/** A whole number in these bounds, for an option or an argument. */
export const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
    throw new InvalidArgumentError(`It must be a whole number from ${least}${upTo}.`)
  }

/** `tokens=500,images=2`, for an option that may be given several times. */
export function costsByName(text: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  const costs = new Map(Object.entries(before))
  for (const one of text.split(',')) {
    const [, name, units] = /^\s*([A-Za-z][\w-]{0,31})=(\d{1,15})\s*$/.exec(one) ?? []
    if (name === undefined)
      throw new InvalidArgumentError('It must be units by the name of a cost, such as "tokens=500".')
    if (costs.has(name)) throw new InvalidArgumentError(`"${name}" is given twice.`)
    costs.set(name, Number(units))
  }
  return Object.fromEntries(costs)
}

/** Milliseconds, for an option. */
export function durationMs(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('It must be a duration such as "30s", "12h" or "7d".')
  return ms
}

/** `Date.parse` takes nearly anything for a date. */
const ISO_8601 = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/

/** ISO 8601 text of a time given so, or as a duration from now; whole seconds. */
export function moment(text: string, option: string, clock: Clock): string {
  const ms = parseDuration(text)
  const at = ms !== undefined ? clock() + ms : parseTime(text)
  if (at === undefined) {
    throw new UserError(
      `${option} must be a duration such as "24h" or a time such as "2027-01-31T00:00:00Z", got "${text}"`,
    )
  }
  return iso(at)
}

/** ISO 8601 text of a moment; whole seconds. */
export const iso = (at: EpochMs): string => new Date(at).toISOString().replace(/\.\d{3}Z$/, 'Z')

/** Epoch milliseconds of ISO 8601 text; a date begins at midnight UTC, and must be one that the calendar has. */
export function parseTime(text: string): EpochMs | undefined {
  const at = ISO_8601.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) || !isDate(text.slice(0, 10)) ? undefined : at
}

/** `Date.parse` takes 30 February for 2 March. */
const isDate = (date: string): boolean => new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)

/** Epoch milliseconds of a moment, for an option. */
export function instant(text: string): EpochMs {
  const at = parseTime(text)
  if (at === undefined) throw new InvalidArgumentError('It must be a time such as "2026-11-21T17:05:00Z".')
  return at
}

/** Gathers an option that may be given several times. */
export const gather = (text: string, before: readonly string[] = []): string[] => [...before, text]

/** `get  /pets` is `GET /pets`. */
export const toMethodKey = (text: string): string =>
  text
    .trim()
    .replace(/\s+/, ' ')
    .replace(/^[a-z]+(?= )/, (verb) => verb.toUpperCase())

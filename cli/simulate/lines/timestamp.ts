import type { EpochMs } from '../../facade/values'

/** A moment, and whether it was written in whole seconds. */
export interface Timestamp {
  readonly at: EpochMs
  readonly wholeSecond: boolean
}

const MONTHS = new Map(
  ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'].map((name, i) => [name, i]),
)

const CLF = /^\[?(\d{2})\/([A-Z][a-z]{2})\/(\d{4}):(\d{2}):(\d{2}):(\d{2}) ([+-])(\d{2})(\d{2})\]?$/
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s?(Z|UTC|[+-]\d{2}(?::?\d{2})?)?$/
const NUMBER = /^\d{9,20}(?:\.\d{1,9})?$/

/**
 * Reads a time: seconds, milliseconds, microseconds or nanoseconds since 1970 (told apart by their size: seconds lie
 * below 10^11), ISO 8601, or the Common Log Format.
 *
 * @param zone of times without one, in milliseconds ahead of UTC. @default such a time is not read
 * @returns why it cannot be read.
 */
function parseTimestamp(given: unknown, zone?: number): Timestamp | string {
  if (typeof given === 'number') return ofNumber(given)
  if (typeof given !== 'string') return 'its time is neither a string nor a number'
  const text = given.trim()
  if (NUMBER.test(text)) return ofNumber(Number(text), text)
  return ofClf(text) ?? ofIso(text, zone) ?? `its time ${JSON.stringify(text.slice(0, 40))} has an unknown format`
}

/** Milliseconds ahead of UTC of `UTC`, `Z`, `+02:00`; `undefined` for all else. */
export function offsetOf(text: string): number | undefined {
  if (text === 'Z' || text === 'UTC') return 0
  const [, sign, hours, minutes = '00'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(text) ?? []
  if (hours === undefined || Number(hours) > 14 || Number(minutes) > 59) return undefined
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

function ofNumber(number: number, text = String(number)): Timestamp | string {
  if (!(number >= 1e8 && number < 1e20)) return `its time ${text.slice(0, 40)} has an unknown format`
  const unit = number < 1e11 ? 1000 : number < 1e14 ? 1 : number < 1e17 ? 1e-3 : 1e-6
  return {
    at: Math.floor(number * unit + (unit === 1000 ? 1e-4 : 0)),
    wholeSecond: unit === 1000 && !text.includes('.'),
  }
}

function ofClf(text: string): Timestamp | string | undefined {
  const found = CLF.exec(text)
  if (!found) return undefined
  const [, day, month, year, hour, minute, second, sign, hours, minutes] = found
  const index = MONTHS.get(month!)
  const at = index === undefined ? undefined : moment(+year!, index, +day!, +hour!, +minute!, +second!)
  const offset = offsetOf(`${sign}${hours}${minutes}`)
  if (at === undefined || offset === undefined) return `its time "${text}" is not a valid date`
  return { at: at - offset, wholeSecond: true }
}

function ofIso(text: string, zone: number | undefined): Timestamp | string | undefined {
  const found = ISO.exec(text)
  if (!found) return undefined
  const [, year, month, day, hour, minute, second = '0', fraction, written] = found
  const at = moment(+year!, +month! - 1, +day!, +hour!, +minute!, +second)
  const offset = written === undefined ? zone : offsetOf(written)
  if (offset === undefined)
    return written === undefined
      ? `its time "${text}" has no time zone: say which with --timezone UTC or +02:00`
      : `its time "${text}" has an invalid time zone`
  if (at === undefined) return `its time "${text}" is not a valid date`
  const ms = fraction === undefined ? 0 : Math.floor(Number(`0.${fraction}`) * 1000 + 1e-6)
  return { at: at - offset + ms, wholeSecond: fraction === undefined }
}

/** `undefined` for a date that the calendar does not have. A leap second is the last one of its minute. */
function moment(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): EpochMs | undefined {
  if (hour > 23 || minute > 59 || second > 60) return undefined
  const at = Date.UTC(year, month, day, hour, minute, Math.min(second, 59))
  const date = new Date(at)
  return date.getUTCMonth() === month && date.getUTCDate() === day ? at : undefined
}

/** Reads times of which many in a row are the same text. */
export function timestampReader(zone?: number): (given: unknown) => Timestamp | string {
  let [lastGiven, last]: [unknown, Timestamp | string] = [undefined, '']
  return (given) => {
    if (given === lastGiven && given !== undefined) return last
    ;[lastGiven, last] = [given, parseTimestamp(given, zone)]
    return last
  }
}

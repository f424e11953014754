import { ACCESS_LOG_NAMES } from '../../../provisioning/access-log'
import { costKey } from '../../facade/policies'
import { FIELD_NAMES, type FieldName, type LoggedRequest } from '../requests/logged-request'
import { sharedSenders, sharedTargets } from '../requests/shared'
import type { FieldMap } from './field-map'
import { timestampReader } from './timestamp'

/** A value of a log's line by name; `undefined` where the line has none. */
export type Value = (name: string) => unknown

/**
 * Reads the fields of a line.
 *
 * @param fallbackTime the time of a line that has none of its own.
 * @param own all names that the line has, where those are known. @default each is looked for
 * @returns why the line cannot be read.
 */
export type ToRequest = (value: Value, fallbackTime?: unknown, own?: readonly string[]) => LoggedRequest | string

/** What became of a record: a request, why it is none, or `null` for what is no line of a log at all. */
export type Parsed = LoggedRequest | string | null

/** Turns the text of a record into a request. */
export type Parse = (text: string) => Parsed

/** What API Gateway and servers write where there is nothing. */
const isNothing = (text: string): boolean => text === '' || text === '-' || text === 'null'

/** Longer values are no names of anybody. */
const MAX_CHARACTERS = 2048

/**
 * Makes what turns the values of a line into a request.
 *
 * @param costNames the costs that policies count by name.
 * @param zone of times without one, in milliseconds ahead of UTC.
 */
export function requestMaker(map: FieldMap, costNames: readonly string[], zone?: number): ToRequest {
  const names = Object.fromEntries(FIELD_NAMES.map((field) => [field, map.namesOf(field)])) as Record<
    FieldName,
    readonly string[]
  >
  const readTime = timestampReader(zone)
  const readInsights = timestampReader(0) // `@timestamp` is in UTC
  const costs = costNames.map(
    (name) => [name, map.given.get(`cost:${name}`) ?? costKey(name)] as readonly [string, string],
  )
  const values = [...map.given].filter(([field]) => /^(header|claim):/.test(field))

  const senders = sharedSenders()
  const targets = sharedTargets()

  /** The names of each field that the line at hand has, which for the lines of one log are mostly the same. */
  let present = names
  let keys: readonly string[] | undefined
  let foreign: string | undefined

  return (value, fallbackTime, own) => {
    if (!own) [keys, present, foreign] = [undefined, names, undefined]
    else if (keys !== own && !isSameList(keys, own))
      [keys, present, foreign] = [own, thoseIn(names, own), foreignIn(own, map)]
    if (foreign !== undefined) return `it has ${JSON.stringify(foreign)} where Sluice's format has no such name`
    const time = timeOf(value)
    const stamp = time ? (time[0] === '@timestamp' ? readInsights : readTime)(time[1]) : readTime(fallbackTime)
    if (typeof stamp === 'string') return time || fallbackTime !== undefined ? stamp : 'it has no time'
    const line = textIn(value, present.request)
    const [, verb, target] = (line !== undefined && /^([A-Za-z]+) (\S+)/.exec(line)) || []
    return {
      at: stamp.at,
      wholeSecond: stamp.wholeSecond,
      sender: senders.of({
        subject: textIn(value, present.subject),
        client: textIn(value, present.client),
        user: textIn(value, present.user),
        key: textIn(value, present.key),
        ip: textIn(value, present.ip),
        tier: textIn(value, present.tier),
      }),
      target: targets.of({
        method: (textIn(value, present.method) ?? verb)?.toUpperCase(),
        path: textIn(value, present.path) ?? target,
        resource: textIn(value, present.resource),
        apiId: textIn(value, present.apiId),
        stage: textIn(value, present.stage),
        domain: textIn(value, present.domain),
        eventType: textIn(value, present.eventType),
      }),
      cost: numberIn(value, present.cost),
      costs: costs.length === 0 ? undefined : mapOf(costs, (key) => numberIn(value, [key])),
      reason: textIn(value, present.reason),
      policy: textIn(value, present.policy),
      durationMs: numberIn(value, present.durationMs),
      values: values.length === 0 ? undefined : mapOf(values, (key) => textIn(value, [key])),
    }
  }

  function timeOf(value: Value): readonly [string, unknown] | undefined {
    for (const name of present.time) {
      const found = value(name)
      if (found !== undefined && found !== null && !isNothing(String(found))) return [name, found]
    }
    return undefined
  }
}

function isSameList(one: readonly string[] | undefined, other: readonly string[]): boolean {
  if (one?.length !== other.length) return false
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false
  return true
}

const SENDER = ['subject', 'client', 'user', 'key', 'ip', 'tier'] as const

/**
 * A name of a sender among those of Sluice's format, which has it nowhere. API Gateway escapes nothing: it stands in a
 * path, of somebody who would be another.
 */
function foreignIn(own: readonly string[], map: FieldMap): string | undefined {
  if (!ACCESS_LOG_NAMES.every((name) => own.includes(name))) return undefined
  const given = new Set(map.given.values())
  const ofSenders = new Set(SENDER.flatMap((field) => map.namesOf(field)))
  const places = ACCESS_LOG_NAMES.map((name) => own.indexOf(name))
  return own
    .slice(Math.min(...places), Math.max(...places))
    .find((name) => ofSenders.has(name) && !given.has(name) && !ACCESS_LOG_NAMES.includes(name))
}

type Names = Readonly<Record<FieldName, readonly string[]>>

/** Of these names those that a line has. A name with a dot may be a path into a value. */
function thoseIn(names: Names, own: readonly string[]): Names {
  const present = new Set(own)
  const ofEach = FIELD_NAMES.map((field) => [
    field,
    names[field].filter((name) => name.includes('.') || present.has(name)),
  ])
  return Object.fromEntries(ofEach) as unknown as Names
}

/** What there is under these names; `undefined` for nothing. */
function mapOf<T>(
  names: readonly (readonly [string, string])[],
  read: (name: string) => T | undefined,
): ReadonlyMap<string, T> | undefined {
  let found: Map<string, T> | undefined
  for (const [field, name] of names) {
    const value = read(name)
    if (value !== undefined) found = (found ?? new Map()).set(field, value)
  }
  return found
}

function textIn(value: Value, names: readonly string[]): string | undefined {
  for (const name of names) {
    const found = value(name)
    if (typeof found === 'string' && found.length <= MAX_CHARACTERS) {
      const text = found.trim()
      if (!isNothing(text)) return text
    } else if (typeof found === 'number') return String(found)
  }
  return undefined
}

function numberIn(value: Value, names: readonly string[]): number | undefined {
  const text = textIn(value, names)
  return text !== undefined && /^\d{1,15}(\.\d+)?$/.test(text) ? Math.floor(Number(text)) : undefined
}

import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import type { Counted } from '../../cli/callers/counted'
import { isOverSlot, isSlot, slotIndex } from '../../limiter/algorithms/slots'
import { PREFIX_LENGTH } from '../../limiter/stores/attribute-prefix'
import { EXPIRY } from '../../limiter/stores/attributes'

/** The policies of a subject, by the prefix of their attributes. */
export type Prefixes = ReadonlyMap<string, Counted>

export const prefixesOf = (counted: readonly Counted[]): Prefixes =>
  new Map(counted.map((one) => [one.compiled.prefix, one]))

/** The meaning of a policy's one-letter fields, by algorithm; `''` is for all others. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'sliding-buckets': {
    w: 'the newest bucket that was written',
    n: 'units in the window, over all its buckets',
    o: 'the oldest bucket that is in the sum',
    v: 'how often the sum was recomputed',
  },
  'sliding-log': {
    l: 'the moment of each unit, in milliseconds',
    t: 'the newest entry of the log',
    v: 'how often the log was shortened',
  },
  'token-bucket': { k: 'the refill interval in which it was last written', u: 'units taken and not refilled yet' },
  concurrency: { n: 'requests that are running' },
  '': {
    w: 'the newest window that was written',
    t: 'the theoretical arrival time: until then the units are in use, in microseconds',
    e: 'the time that one unit takes to come back, in microseconds, when it was written',
    a: 'when denials began to be counted for a lock-out',
    b: 'until when the caller is locked out',
    d: 'denials since then',
  },
}

/** What an attribute of a subject's item means, in a sentence. */
export function meaningOf(name: string, prefixes: Prefixes): string {
  if (name === 'pk') return 'The key: a keyed hash of the caller, from which the caller cannot be read.'
  if (name === EXPIRY) return 'Time to live: DynamoDB may delete the item after this moment, in seconds.'
  if (name.length <= PREFIX_LENGTH)
    return 'An idempotency mark: the number of the last write of one instance. The same write sent twice counts once.'
  const one = prefixes.get(name.slice(0, PREFIX_LENGTH))
  if (!one) return 'Of a policy that is not in force any more, or of another route; it expires with the item.'
  const field = name.slice(PREFIX_LENGTH)
  return `Policy ${one.policy}${one.route ? ` of ${one.route}` : ''}: ${fieldText(field, one)}.`
}

function fieldText(field: string, { compiled }: Counted): string {
  const algorithm = algorithmOf(compiled.written.algorithm)
  if (isSlot(field)) {
    if (algorithm === 'concurrency') return 'one running request, and until when it holds its slot'
    const window = slotIndex(field)
    const units = isOverSlot(field) ? 'units past the quota' : 'units used'
    return `${units} in window number ${window}, which in base 36 is the end of the name. A new window has a new name, so nothing is ever reset`
  }
  return FIELDS[algorithm]?.[field] ?? FIELDS['']![field] ?? 'a number of the algorithm'
}

export const algorithmOf = (written: string | undefined): string => written ?? 'sliding-window'

/** A DynamoDB value in readable form. */
export function valueText(value: AttributeValue | string | undefined): string {
  if (typeof value === 'string') return value
  if (value?.N !== undefined) return value.N
  if (value?.S !== undefined) return value.S
  if (value?.L !== undefined) return `[${value.L.map((one) => valueText(one)).join(', ')}]`
  return JSON.stringify(value ?? null)
}

/** An update expression as sentences, a change each. */
export function changesInWords(update: string, values: Readonly<Record<string, string>>, prefixes: Prefixes): string[] {
  const parts = [...update.matchAll(/(SET|ADD|REMOVE) (.*?)(?= (?:SET|ADD|REMOVE) |$)/g)]
  return parts.flatMap(([, verb, list]) =>
    splitTop(list!, ',').map((one) => {
      const name = /^[\w]+/.exec(one.trim())?.[0] ?? one
      const about = subjectText(name, prefixes)
      const text = filledIn(one.trim().slice(name.length), values)
      if (verb === 'REMOVE') return `remove ${about}, which no decision reads any more`
      if (verb === 'ADD') return `add ${text.trim()} to ${about}`
      return `set ${about} to ${text.replace(/^\s*=\s*/, '')}`
    }),
  )
}

/** A condition expression as sentences: all must hold, or nothing is changed. */
export function conditionsInWords(
  condition: string,
  values: Readonly<Record<string, string>>,
  prefixes: Prefixes,
): string[] {
  return splitTop(condition.replace(/BETWEEN (\S+) AND (\S+)/g, 'BETWEEN $1 and $2'), ' AND ').map((clause) =>
    clauseInWords(clause.trim(), values, prefixes),
  )
}

/** A write of units that were admitted without DynamoDB has no limit: it has this number, less the use. */
const UNLIMITED = 1e14

function clauseInWords(clause: string, values: Readonly<Record<string, string>>, prefixes: Prefixes): string {
  if (clause.startsWith('(')) {
    const inner = clause.slice(1, -1)
    const all = splitTop(inner, ' OR ').map((one) =>
      splitTop(one, ' AND ')
        .map((each) => clauseInWords(each.trim(), values, prefixes))
        .join(', and '),
    )
    return all.join('; or ')
  }
  const value = (text: string) => values[text] ?? text
  const mark = /^(?:NOT )?(r\d+)( <>| BETWEEN|=)/.exec(clause)
  if (mark) return `this write was not applied before (its mark ${mark[1]} is absent)`
  const absent = /^attribute_not_exists\((\w+)\)$/.exec(clause)
  if (absent) return `${subjectText(absent[1]!, prefixes)} is not there`
  const size = /^size\((\w+)\)\s*<=\s*(\S+)$/.exec(clause)
  if (size) return `${subjectText(size[1]!, prefixes)} has at most ${value(size[2]!)} entries`
  const compared = /^(NOT )?(\w+)\s*(<=|>=|<>|=|<|>)\s*(\S+)$/.exec(clause)
  if (!compared) return filledIn(clause, values)
  const [, not, name, sign, right] = compared
  const about = subjectText(name!, prefixes)
  const number = Number(value(right!)) > UNLIMITED ? 'any number' : value(right!)
  if (not) return `${about} is ${sign === '>' ? 'at most' : 'at least'} ${number}, or not there`
  const words: Readonly<Record<string, string>> = { '<=': 'at most', '>=': 'at least', '=': 'exactly', '<>': 'not' }
  return `${about} is ${words[sign!] ?? sign} ${number}`
}

/** `L5AZhtccb (per-minute, window 29922491)`. */
function subjectText(name: string, prefixes: Prefixes): string {
  if (name === EXPIRY) return 'exp (time to live)'
  if (name.length <= PREFIX_LENGTH) return `${name} (idempotency mark)`
  const one = prefixes.get(name.slice(0, PREFIX_LENGTH))
  if (!one) return name
  const field = name.slice(PREFIX_LENGTH)
  const what =
    isSlot(field) && algorithmOf(one.compiled.written.algorithm) !== 'concurrency'
      ? `units in window ${slotIndex(field)}`
      : fieldText(field, one)
  return `${name} (${one.policy}: ${what})`
}

const filledIn = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/:\w+/g, (name) => values[name] ?? name)

/** Splits where no bracket is open. */
function splitTop(text: string, separator: string): string[] {
  const parts: string[] = []
  let [depth, from] = [0, 0]
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') depth++
    else if (text[i] === ')') depth--
    else if (depth === 0 && text.startsWith(separator, i)) {
      parts.push(text.slice(from, i))
      from = i + separator.length
      i = from - 1
    }
  }
  return [...parts, text.slice(from)]
}

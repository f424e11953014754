import { AlikeLines } from './alike-lines'
import { clfLine, isClf } from './clf-line'
import { gatewayCsvLine } from './csv-values'
import type { Parse, Parsed, ToRequest, Value } from './to-request'
import { isXml, xmlLine } from './xml-line'

type Fields = Readonly<Record<string, unknown>>

/**
 * Reads a JSON object: a line of an access log, an event of CloudWatch Logs with such a line as its `message`, or a row
 * of Logs Insights.
 */
export function jsonLine(toRequest: ToRequest): Parse {
  const objects = new Objects()
  const fromMessage = messageReader(toRequest)
  return (text) => {
    const read = objects.read(text)
    return typeof read === 'string' ? read : fromFields(read, toRequest, fromMessage)
  }
}

/** A row whose message is a line of the log itself, as text or, where somebody has parsed it, as an object. */
function fromFields({ value, names }: Line, toRequest: ToRequest, fromMessage: FromMessage): Parsed {
  const message = value('message') ?? value('@message')
  const time = value('timestamp') ?? value('@timestamp')
  if (typeof message === 'string') return fromMessage(message.trim(), time)
  if (names.includes('searchedCompletely')) return null // a log stream, behind the events
  return toRequest(value, undefined, names)
}

/** @param time when CloudWatch Logs says that it came, where the line itself has no time. */
type FromMessage = (message: string, time: unknown) => Parsed

/** Reads lines of a log that stand in a field of something else. */
export function messageReader(toRequest: ToRequest): FromMessage {
  const objects = new Objects()
  const [readClf, readCsv, readXml] = [clfLine(toRequest), gatewayCsvLine(toRequest), xmlLine(toRequest)]
  return (message, time) => {
    if (isXml(message)) return readXml(message)
    if (!message.startsWith('{')) return isClf(message) ? readClf(message) : readCsv(message)
    const read = objects.read(message)
    if (typeof read === 'string') return read === NO_JSON ? 'its message is not valid JSON' : read
    const stamp = typeof time === 'string' && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/.test(time) ? `${time}Z` : time
    return toRequest(read.value, stamp, read.names)
  }
}

/** The names and values of an object. */
interface Line {
  readonly names: readonly string[]
  readonly value: Value
}

const NO_JSON = 'it is not valid JSON'

/** Reads JSON objects of which most are alike. */
class Objects {
  private readonly alike = new AlikeLines()

  /** @returns why it is none. */
  read(text: string): Line | string {
    if (this.alike.read(text)) return this.alike
    let given: unknown
    try {
      given = JSON.parse(text)
    } catch {
      return NO_JSON
    }
    const row = Array.isArray(given) ? rowOf(given) : given
    if (typeof row !== 'object' || row === null || Array.isArray(row)) return 'it is not a JSON object'
    const fields = row as Fields
    const names = Object.keys(fields)
    const twice = nameTwice(text, names)
    if (twice !== undefined) return `it has ${JSON.stringify(twice.slice(0, 40))} twice`
    this.alike.learn(fields)
    return { names, value: (name) => valueAt(fields, name) }
  }
}

/** `[{ field: '@message', value: '…' }]`, as Logs Insights answers. */
function rowOf(row: readonly unknown[]): Fields | undefined {
  const entries = row.flatMap((one): [string, unknown][] => {
    const { field, value } = (one ?? {}) as { readonly field?: unknown; readonly value?: unknown }
    return typeof field === 'string' ? [[field, value]] : []
  })
  return entries.length === row.length && new Set(entries.map(([name]) => name)).size === entries.length
    ? Object.fromEntries(entries)
    : undefined
}

/** The value under a name, or where the name is a path such as `identity.user`, inside objects. */
function valueAt(fields: Fields, name: string): ReturnType<Value> {
  if (Object.hasOwn(fields, name)) return fields[name]
  if (!name.includes('.')) return undefined
  let at: unknown = fields
  for (const part of name.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined
    at = (at as Fields)[part]
  }
  return at
}

const NAME = /"((?:[^"\\]|\\.)*)"\s*:|[{}[\]]|"(?:[^"\\]|\\.)*"/g

/**
 * A name that an object has twice, however it is written. `JSON.parse` takes the last one, another reader the first:
 * somebody who can write into a value of a log that escapes nothing could be whom he likes.
 */
function nameTwice(text: string, parsed: readonly string[]): string | undefined {
  if (colons(text) === parsed.length && !/"\s+:/.test(text)) return undefined // flat, and each name once
  const open: Set<string>[] = []
  for (const [found, written] of text.matchAll(NAME)) {
    if (found === '{' || found === '[') open.push(new Set())
    else if (found === '}' || found === ']') open.pop()
    else if (written !== undefined) {
      const name = written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written
      const names = open.at(-1)!
      if (names.has(name)) return name
      names.add(name)
    }
  }
  return undefined
}

/** How often a quote and a colon follow each other, as behind each name. */
function colons(text: string): number {
  let count = 0
  for (let at = text.indexOf('":'); at >= 0; at = text.indexOf('":', at + 2)) count++
  return count
}

import { messageReader } from './json-line'
import type { Parse, ToRequest } from './to-request'

/** The values of a line, `undefined` where its quotes are wrong (RFC 4180). */
export function csvValues(text: string, comma: string): string[] | undefined {
  if (!text.includes('"')) return text.split(comma)
  const values: string[] = []
  let at = 0
  for (;;) {
    if (text[at] === '"') {
      let value = ''
      for (at++; ; at++) {
        const end = text.indexOf('"', at)
        if (end < 0) return undefined
        value += text.slice(at, end)
        at = end + 1
        if (text[at] !== '"') break
        value += '"'
      }
      values.push(value)
      if (at === text.length) return values
      if (text[at] !== comma) return undefined
      at++
    } else {
      const end = text.indexOf(comma, at)
      const value = end < 0 ? text.slice(at) : text.slice(at, end)
      if (value.includes('"')) return undefined
      values.push(value)
      if (end < 0) return values
      at = end + 1
    }
  }
}

/** Reads lines of CSV under these headings. */
export function csvLine(headings: readonly string[], comma: string, toRequest: ToRequest): Parse {
  const columns = new Map(headings.map((name, i) => [name, i]))
  const message = columns.get('@message') ?? columns.get('message')
  const fromMessage = messageReader(toRequest)
  const time = columns.get('@timestamp') ?? columns.get('timestamp')
  return (text) => {
    const values = csvValues(text, comma)
    if (!values) return 'its quotes do not end where a value does'
    if (values.length !== headings.length) return `it has ${values.length} values under ${headings.length} headings`
    if (message !== undefined)
      return fromMessage(values[message]!.trim(), time === undefined ? undefined : values[time])
    return toRequest((name) => {
      const column = columns.get(name)
      return column === undefined ? undefined : values[column]
    })
  }
}

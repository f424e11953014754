import { csvValues } from './csv-values'
import { messageReader } from './json-line'
import type { Parse, ToRequest } from './to-request'

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

import { UserError } from '../../exit'
import { clfLine, isClf } from './clf-line'
import { csvLine } from './csv-line'
import { csvValues, headingsOfGateway } from './csv-values'
import type { FieldMap } from './field-map'
import { jsonLine } from './json-line'
import { CsvSplitter, DocumentSplitter, LineSplitter, type Splitter } from './records'
import type { Parse, ToRequest } from './to-request'
import { isXml, xmlLine } from './xml-line'

/** How a log is written. */
export type Format = (typeof FORMATS)[number]
export const FORMATS = ['json', 'clf', 'csv', 'xml', 'document'] as const

/** How to take a log apart, and how to read each part. */
export interface Reader {
  readonly format: Format
  readonly splitter: Splitter
  /** @param text of the first record: of CSV its headings, which make no request. */
  parser(text: string): { readonly parse: Parse; readonly isHeading: boolean }
}

/** A document of `aws logs`, which spreads its entries over lines, has nothing but a bracket on its first line. */
const DOCUMENT = /^\s*(?:\[|\{\s*(?:\r?\n|$)|\{\s*"(?:events|results|queryLanguage|searchedLogStreams|statistics)"\s*:)/

/**
 * Finds the format of a log by how it begins.
 *
 * @param start the first lines, or the full text if it is shorter.
 * @throws UserError if the format is unknown.
 */
export function readerFor(start: string, file: string, map: FieldMap, toRequest: ToRequest, stated?: Format): Reader {
  const format = stated ?? formatOf(start, map)
  if (format === undefined) {
    throw new UserError(
      `${file} has an unknown format. Known are API Gateway's own formats, JSON lines, the Common Log Format, CSV whose first line has a heading for the time (${map.namesOf('time').join(', ')}; --map time=… names another), or what "aws logs filter-log-events" and "get-query-results" print. Its first line: ${shown(start)}`,
    )
  }
  switch (format) {
    case 'json':
      return { format, splitter: new LineSplitter(), parser: () => ({ parse: jsonLine(toRequest), isHeading: false }) }
    case 'clf':
      return { format, splitter: new LineSplitter(), parser: () => ({ parse: clfLine(toRequest), isHeading: false }) }
    case 'xml':
      return { format, splitter: new LineSplitter(), parser: () => ({ parse: xmlLine(toRequest), isHeading: false }) }
    case 'document':
      return {
        format,
        splitter: new DocumentSplitter(),
        parser: () => ({ parse: jsonLine(toRequest), isHeading: false }),
      }
    case 'csv':
      return { format, splitter: new CsvSplitter(), parser: (text) => csvParser(text, file, map, toRequest) }
  }
}

function formatOf(start: string, map: FieldMap): Format | undefined {
  if (DOCUMENT.test(start)) return 'document'
  const lines = start.split(/\r?\n/).filter((line) => line.trim() !== '')
  const headings = csvValues(lines[0] ?? '', commaIn(lines[0] ?? ''))
  if (headings && headings.length > 1 && (map.hasTime(trimmed(headings)) || headingsOfGateway(headings))) return 'csv'
  if (lines.some((line) => line.trimStart().startsWith('{'))) return 'json'
  if (lines.some(isXml)) return 'xml'
  return lines.some(isClf) ? 'clf' : undefined
}

function csvParser(text: string, file: string, map: FieldMap, toRequest: ToRequest): ReturnType<Reader['parser']> {
  const comma = commaIn(text)
  const values = csvValues(text, comma) ?? []
  const usual = headingsOfGateway(values)
  if (usual) return { parse: csvLine(usual, comma, toRequest), isHeading: false }
  const headings = trimmed(values)
  const twice = headings.find((name, i) => headings.indexOf(name) < i)
  if (twice !== undefined) throw new UserError(`${file}: two columns have the heading ${JSON.stringify(twice)}`)
  if (!map.hasTime(headings) && !headings.includes('@message'))
    throw new UserError(
      `${file}: no column is the time (${map.namesOf('time').join(', ')}): name it with --map time=…, the headings are ${headings.join(', ')}`,
    )
  for (const [field, name] of map.given)
    if (!headings.includes(name) && !headings.includes('@message'))
      throw new UserError(
        `${file}: there is no column "${name}", which --map takes for ${field}: the headings are ${headings.join(', ')}`,
      )
  return { parse: csvLine(headings, comma, toRequest), isHeading: true }
}

const commaIn = (heading: string): string => (heading.includes('\t') && !heading.includes(',') ? '\t' : ',')

const trimmed = (headings: readonly string[]) => headings.map((name) => name.trim())

/** The beginning of a text, for an error. */
const shown = (text: string): string => JSON.stringify(text.trimStart().split(/\r?\n/)[0]!.slice(0, 80))

import type { ItemKey } from '../../provisioning/documents'
import { UserError } from '../exit'
import { parseClientItem } from '../facade/callers'
import type { Mistake } from '../facade/values'
import { csvValues } from '../simulate/lines/csv-values'
import { textOf } from '../simulate/lines/log-file'
import { CsvSplitter, type Record as Line } from '../simulate/lines/records'
import { fromCell } from './cells'
import { CellError, type Cells, columnsOf, FIELDS, type Field, fieldsOf, recordKeyOf } from './columns'

/** What a row of the file says. */
export interface Row {
  /** Counted from 1. */
  readonly line: number
  readonly key: ItemKey
  readonly id: string
  /** Those of its columns; `undefined` removes one. */
  readonly fields: Partial<Readonly<Record<Field, unknown>>>
}

/** Mistakes that are told one by one. */
const MAX_SHOWN = 20

/** Gathers mistakes by their line, and ends with all of them. */
export class Mistakes {
  private readonly shown: string[] = []
  private count = 0

  add(line: number, column: string | undefined, message: string): void {
    this.count++
    if (this.shown.length < MAX_SHOWN)
      this.shown.push(`line ${line}${column === undefined ? '' : `, ${column}`}: ${message}`)
  }

  /** @throws UserError where there are any. */
  end(): void {
    if (this.count === 0) return
    const others = this.count - this.shown.length
    const lines = [...this.shown, ...(others > 0 ? [`and ${others} more mistakes`] : [])]
    throw new UserError(['nothing was written:', ...lines])
  }
}

/** Between values: what spreadsheets of some countries write is taken too, as far as the headings are read with it. */
const SEPARATORS = [',', ';', '\t'] as const

/**
 * Reads a CSV file of clients, which may be gzipped, piece by piece: what is kept of a row are its fields, and of a key
 * its hash.
 *
 * @throws UserError with all mistakes by line and column.
 */
export async function readRows(file: string, stdin: NodeJS.ReadableStream, mistakes: Mistakes): Promise<Row[]> {
  const rows = new Map<string, Row>()
  let read: ((line: Line) => Cells | undefined) | undefined
  for await (const line of linesOf(file, stdin)) {
    if (!read) {
      read = readerOf(line, mistakes)
      continue
    }
    const cells = read(line)
    const row = cells && toRow(line.line, cells, mistakes)
    const same = row && rows.get(row.key.pk)
    if (same) mistakes.add(row.line, undefined, `it has the same credential as line ${same.line}`)
    else if (row) rows.set(row.key.pk, row)
  }
  if (!read) throw new UserError(`${file === '-' ? 'standard input' : file} is empty: its first line names the columns`)
  return [...rows.values()]
}

async function* linesOf(file: string, stdin: NodeJS.ReadableStream): AsyncGenerator<Line, void> {
  const splitter = new CsvSplitter()
  for await (const text of textOf(file, stdin, { bytes: 0, total: undefined })) yield* splitter.push(text)
  yield* splitter.end()
}

/** Reads lines under these headings. */
function readerOf(headings: Line, mistakes: Mistakes): (line: Line) => Cells | undefined {
  const separator =
    SEPARATORS.find((one) => csvValues(headings.text, one)?.some((name) => name.trim() === 'id')) ?? SEPARATORS[0]
  const names = columnsOf(headings.tooLong ? [] : (csvValues(headings.text, separator) ?? []))
  return ({ text, line, tooLong }) => {
    const values = tooLong ? undefined : csvValues(text, separator)
    if (!values) {
      mistakes.add(line, undefined, tooLong ? 'a quote is not closed' : 'its quotes do not end where a value does')
      return undefined
    }
    if (values.length !== names.length) {
      mistakes.add(line, undefined, `it has ${values.length} values under ${names.length} headings`)
      return undefined
    }
    const broken = values.findIndex((value) => value.includes('\ufffd'))
    if (broken >= 0) {
      mistakes.add(line, names[broken], 'it is not UTF-8: save the file as CSV UTF-8')
      return undefined
    }
    return Object.fromEntries(names.map((name, i) => [name, fromCell(values[i]!)]))
  }
}

function toRow(line: number, cells: Cells, mistakes: Mistakes): Row | undefined {
  try {
    const key = recordKeyOf(cells)
    const fields = fieldsOf(cells)
    const issues: Mistake[] = []
    const client = parseClientItem(fields, issues)
    for (const { message } of issues) mistakes.add(line, columnOf(message), message.replace(/ \(client\)$/, ''))
    return client && { line, key, id: client.id, fields }
  } catch (error) {
    if (!(error instanceof CellError)) throw error
    mistakes.add(line, error.column, error.message)
    return undefined
  }
}

/** Sentences about a field begin with its name; the others are about an override. */
const columnOf = (message: string): string => FIELDS.find((name) => message.startsWith(`${name} `)) ?? 'overrides'

import { UserError } from '../../exit'
import type { LoggedRequest } from '../requests/logged-request'
import type { FieldMap } from './field-map'
import { type Format, type Reader, readerFor } from './format'
import { type Progress, textOf } from './log-file'
import { type Record, UnfinishedError } from './records'
import { Reorder } from './reorder'
import type { Parse, ToRequest } from './to-request'

/** How logs are read. */
export interface LogOptions {
  readonly stdin: NodeJS.ReadableStream
  readonly map: FieldMap
  readonly toRequest: ToRequest
  /** @default by how the log begins */
  readonly format?: Format
  /** How much out of order lines may be, in milliseconds. */
  readonly reorderMs: number
}

/** What was read beside requests. */
export interface LogStats extends Progress {
  lines: number
  unreadable: number
  /** The first few that could not be read. */
  readonly examples: { readonly file: string; readonly line: number; readonly why: string; readonly text: string }[]
  /** Requests whose time is in whole seconds. */
  wholeSeconds: number
}

const MAX_EXAMPLES = 5
/** How much of a log its format is found by. */
const START = 16 * 1024

/**
 * The requests of several logs in the order of their times, in pieces.
 *
 * @throws UserError where a log cannot be read to its end, or is further out of order than allowed.
 */
export async function* readLogs(
  files: readonly string[],
  stats: LogStats,
  options: LogOptions,
): AsyncGenerator<readonly LoggedRequest[], void> {
  if (files.length === 1) return yield* readLog(files[0]!, stats, options)
  yield* merged(files.map((file) => readLog(file, stats, options)))
}

async function* readLog(
  file: string,
  stats: LogStats,
  options: LogOptions,
): AsyncGenerator<readonly LoggedRequest[], void> {
  const name = file === '-' ? 'standard input' : file
  const reorder = new Reorder<LoggedRequest>(options.reorderMs, name)
  let start = ''
  let reader: Reader | undefined
  let parse: Parse | undefined
  const take = (records: readonly Record[]) => {
    for (const { text, line, tooLong } of records) {
      if (!parse) {
        const made = reader!.parser(text)
        parse = made.parse
        if (made.isHeading) continue
      }
      const parsed = tooLong ? 'it is too long, or a quote in it is never closed' : parse(text)
      if (parsed === null) continue
      stats.lines++
      if (typeof parsed === 'string') {
        stats.unreadable++
        if (stats.examples.length < MAX_EXAMPLES)
          stats.examples.push({ file: name, line, why: parsed, text: text.slice(0, 80) })
        continue
      }
      if (parsed.wholeSecond) stats.wholeSeconds++
      reorder.push(parsed, line)
    }
  }
  const open = () => {
    reader = readerFor(start, name, options.map, options.toRequest, options.format)
    take(reader.splitter.push(start))
  }

  for await (const text of textOf(file, options.stdin, stats)) {
    if (reader) take(reader.splitter.push(text))
    else {
      start += text
      if (start.length < START) continue
      open()
    }
    yield* reorder.released()
  }
  if (!reader && start.trim() !== '') open()
  try {
    take(reader?.splitter.end() ?? [])
  } catch (error) {
    if (!(error instanceof UnfinishedError)) throw error
    throw new UserError(`${name} is truncated JSON, so nothing is reported`)
  }
  yield* reorder.rest()
}

/** Several sequences in the order of their times; of the same time, that of the first sequence first. */
async function* merged(
  sources: readonly AsyncGenerator<readonly LoggedRequest[], void>[],
): AsyncGenerator<readonly LoggedRequest[], void> {
  const heads: { list: readonly LoggedRequest[]; next: number; source: (typeof sources)[number] }[] = []
  for (const source of sources) heads.push({ list: [], next: 0, source })
  const refill = async (head: (typeof heads)[number]) => {
    while (head.next >= head.list.length) {
      const { value, done } = await head.source.next()
      if (done) return heads.splice(heads.indexOf(head), 1)
      head.list = value
      head.next = 0
    }
    return undefined
  }
  for (const head of [...heads]) await refill(head)
  let out: LoggedRequest[] = []
  while (heads.length > 0) {
    let first = heads[0]!
    for (const head of heads) if (head.list[head.next]!.at < first.list[first.next]!.at) first = head
    out.push(first.list[first.next++]!)
    if (out.length >= 1000) {
      yield out
      out = []
    }
    if (first.next >= first.list.length) await refill(first)
  }
  yield out
}

/** A piece of a log that stands for one request, and where it begins. */
export interface Record {
  readonly text: string
  /** Counted from 1. */
  readonly line: number
  /** Longer than any line of a log. */
  readonly tooLong?: true
}

/** The longest line that is read, in characters. A line of an access log has some hundred. */
const MAX_LINE_LENGTH = 256 * 1024

/** Takes a log apart as its text comes in. */
export interface Splitter {
  /** The records that end in this piece of text. */
  push(text: string): Record[]
  /** The last one. @throws UnfinishedError where the text ends in the middle of something. */
  end(): Record[]
}

/** The text ends in the middle of a value. */
export class UnfinishedError extends Error {}

/** One record a line, whatever ends it: `\n`, `\r\n`. Empty lines are none. */
export class LineSplitter implements Splitter {
  private rest = ''
  private line = 1
  private skipping = false

  /** @param keepAll whether empty lines are records too, and `\r` is a part of a line. */
  constructor(private readonly keepAll = false) {}

  push(text: string): Record[] {
    const records: Record[] = []
    let from = 0
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      this.take(this.rest + text.slice(from, at), records)
      this.rest = ''
      from = at + 1
      this.line++
    }
    this.rest += text.slice(from)
    if (this.rest.length > MAX_LINE_LENGTH) {
      if (!this.skipping) records.push({ text: this.rest.slice(0, 200), line: this.line, tooLong: true })
      this.skipping = true
      this.rest = ''
    }
    return records
  }

  end(): Record[] {
    const records: Record[] = []
    this.take(this.rest, records)
    this.rest = ''
    return records
  }

  private take(text: string, records: Record[]): void {
    const { line, skipping } = this
    this.skipping = false
    if (skipping) return
    const one = this.keepAll ? text : withoutReturn(text)
    if (one.length > MAX_LINE_LENGTH) records.push({ text: one.slice(0, 200), line, tooLong: true })
    else if (this.keepAll || one.trim() !== '') records.push({ text: one, line })
  }
}

/**
 * The entries of JSON documents, which may be spread over many lines: of `{ "events": [ … ] }`, as `aws logs
 * filter-log-events` prints it, of `{ "results": [ … ] }`, as `aws logs get-query-results` does, or of an array.
 */
export class DocumentSplitter implements Splitter {
  private depth = 0
  private inText = false
  private escaped = false
  private line = 1
  /** Depth at which entries stand, in the document at hand. */
  private entryDepth = 0
  /** The entry at hand, as far as it has come. */
  private entry: string | undefined
  private entryLine = 1
  private tooLong = false

  push(text: string): Record[] {
    const records: Record[] = []
    let from = this.entry === undefined ? -1 : 0
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i)
      if (code === 10) this.line++
      if (this.inText) {
        if (this.escaped) this.escaped = false
        else if (code === 92) this.escaped = true
        else if (code === 34) this.inText = false
        continue
      }
      if (code === 34) this.inText = true
      else if (code === 123 || code === 91) {
        if (this.depth === 0) this.entryDepth = code === 91 ? 1 : 2
        if (this.depth === this.entryDepth && this.entry === undefined) {
          this.entry = ''
          this.entryLine = this.line
          from = i
        }
        this.depth++
      } else if (code === 125 || code === 93) {
        this.depth--
        if (this.entry !== undefined && this.depth === this.entryDepth) {
          this.finish(this.entry + text.slice(from, i + 1), records)
          from = -1
        }
      }
    }
    if (this.entry !== undefined) {
      this.entry += text.slice(from)
      if (this.entry.length > MAX_LINE_LENGTH) {
        this.tooLong = true
        this.entry = this.entry.slice(0, 200)
      }
    }
    return records
  }

  end(): Record[] {
    if (this.depth !== 0 || this.inText) throw new UnfinishedError()
    return []
  }

  private finish(text: string, records: Record[]): void {
    const isTooLong = this.tooLong || text.length > MAX_LINE_LENGTH
    records.push({
      text: isTooLong ? text.slice(0, 200) : text,
      line: this.entryLine,
      ...(isTooLong && { tooLong: true }),
    })
    this.entry = undefined
    this.tooLong = false
  }
}

/** One record a line, but where a quoted value of CSV spans several (RFC 4180). */
export class CsvSplitter implements Splitter {
  private readonly lines = new LineSplitter(true)
  private open: { text: string; line: number } | undefined

  push(text: string): Record[] {
    return this.lines.push(text).flatMap((one) => this.joined(one))
  }

  end(): Record[] {
    const records = this.lines.end().flatMap((one) => this.joined(one))
    if (this.open) records.push({ ...this.open, tooLong: true })
    this.open = undefined
    return records
  }

  private joined(record: Record): Record[] {
    const { open } = this
    const text = open ? `${open.text}\n${record.text}` : record.text
    const line = open?.line ?? record.line
    this.open = undefined
    if (record.tooLong || text.length > MAX_QUOTED) return [{ text: text.slice(0, 200), line, tooLong: true }]
    if (!open && text.trim() === '') return []
    if (isBalanced(text)) return [{ text: withoutReturn(text), line }]
    this.open = { text, line }
    return []
  }
}

const withoutReturn = (text: string): string => (text.endsWith('\r') ? text.slice(0, -1) : text)

/** A quote that is never closed must not swallow the rest of a log. */
const MAX_QUOTED = 64 * 1024

function isBalanced(text: string): boolean {
  let balanced = true
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) balanced = !balanced
  return balanced
}

import { randomInt } from 'node:crypto'
import { inspect } from 'node:util'
import Table from 'cli-table3'
import type { Io } from './io'

/** Of a table: one line, or several. */
type Cell = string | readonly string[]

type Format = 'bold' | 'dim' | 'red' | 'yellow' | 'green'

/**
 * Prints for people, in colours where there is a terminal that wants them. Data goes to standard output, all else to
 * standard error.
 *
 * Whatever a text contains, it is one line, and shows as it is: see `printable`. Only `style` gives colours.
 */
export class Printer {
  private readonly coloured: boolean
  private held: Set<string> | undefined
  /** What begins a colour of `style` in a text: a name cannot contain it, since nobody can guess it. */
  private readonly mark = `\u001b[${Array.from({ length: 3 }, () => `${randomInt(1000, 10_000)};`).join('')}`
  private readonly ownColours = new RegExp(`(${this.mark.replace('[', '\\[')}\\d{1,2}m)`)

  constructor(private readonly io: Pick<Io, 'stdout' | 'stderr' | 'env'>) {
    const { stdout, env } = io
    this.coloured = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  }

  /** Whether standard output is a terminal, which can be drawn over. */
  get isTerminal(): boolean {
    return this.io.stdout.isTTY === true
  }

  line(text = ''): void {
    this.io.stdout.write(`${this.shown(text)}\n`)
  }

  lines(texts: readonly string[]): void {
    for (const text of texts) this.line(text)
  }

  /** Goes back up, so that the next lines replace the last ones. */
  rewind(lines: number): void {
    if (this.isTerminal && lines > 0) this.io.stdout.write(`\u001b[${lines}A\u001b[J`)
  }

  /** A file as it is; on a terminal its lines show as others do. */
  file(text: string): void {
    this.records(text.split(/(?<=\n)/))
  }

  /** The same in records, each of which ends in a line end and may contain others. */
  records(texts: readonly string[]): void {
    if (this.isTerminal) this.lines(texts.map((text) => text.replace(/\r?\n$/, '')))
    else this.io.stdout.write(texts.join(''))
  }

  /** @param indent spaces; 0 for a single line. */
  json(value: unknown, indent = 2): void {
    this.io.stdout.write(`${printableJson(JSON.stringify(value, undefined, indent))}\n`)
  }

  /** For whoever watches, not for what reads standard output. */
  note(text: string): void {
    if (this.held) this.held.add(text)
    else this.io.stderr.write(`${this.shown(text)}\n`)
  }

  notes(texts: readonly string[]): void {
    for (const text of texts) this.note(text)
  }

  /** Keeps notes while a screen is drawn, over which they would be written, each once. */
  holdNotes(): { readonly notes: ReadonlySet<string>; readonly release: () => void } {
    const notes = new Set<string>()
    this.held = notes
    const release = () => {
      this.held = undefined
      for (const text of notes) this.note(text)
    }
    return { notes, release }
  }

  style(format: Format, text: string): string {
    const [on, off] = inspect.colors[format]!
    return this.coloured ? `${this.mark}${on}m${text}${this.mark}${off}m` : text
  }

  table(head: readonly string[], rows: readonly (readonly Cell[])[]): void {
    this.lines(this.tableLines(head, rows))
  }

  /** Columns without borders, headed by words. A text in a cell takes one line, whatever it contains. */
  tableLines(head: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
    const table = new Table({
      head: head.map((word) => this.style('bold', word)),
      chars: NO_BORDERS,
      style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    })
    const shown = (cell: Cell) => [cell].flat().map((text) => this.escaped(text))
    table.push(...rows.map((row) => row.map((cell) => shown(cell).join('\n')))) // before widths are measured
    const lines = table.toString().split('\n')
    return lines.map((line) => line.trimEnd())
  }

  /** A line as it is written to a terminal. */
  shown(text: string): string {
    return this.escaped(text).replaceAll(this.mark, '\u001b[')
  }

  /** All but our own colours, which stand between. */
  private escaped(text: string): string {
    const parts = text.split(this.ownColours)
    return parts.map((part, i) => (i % 2 === 0 ? printable(part) : part)).join('')
  }

  /** `█████░░░░░` for a part of a whole, in red where nothing is left. */
  bar(used: number, whole: number, width = 20): string {
    const part = whole > 0 ? Math.min(1, used / whole) : 1
    const filled = used > 0 ? Math.max(1, Math.floor(part * width)) : 0
    const colour = part >= 1 ? 'red' : part >= 0.8 ? 'yellow' : 'green'
    return this.style(colour, '█'.repeat(filled)) + '░'.repeat(width - filled)
  }
}

/**
 * What a terminal or a page would not show as it is: control characters, line ends, direction marks (bidi), characters
 * without width, unpaired surrogates.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const UNSEEN_IN_JSON = new RegExp(`(?!\\n)${UNSEEN.source}`, 'gu')

/** `\u202e` for each UTF-16 unit, as in JSON. */
const codeUnits = (text: string): string =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/**
 * Text on one line that shows what it contains. Names come from tables and logs that others write: what would end a
 * line, move the cursor, colour, hide or reorder text is written as in JSON, `\n` or `\u202e`.
 */
export const printable = (text: string): string => text.replace(UNSEEN, (one) => SHORT[one] ?? codeUnits(one))

/** The same JSON, in which a terminal shows every character of a text. */
const printableJson = (json: string): string => json.replace(UNSEEN_IN_JSON, codeUnits)

const NO_BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
} as const

/** `60 per 1m`; of a policy without a window, which counts running requests, `3 at once`. */
export const limitText = (limit: string | number, window: string | undefined): string =>
  `${limit} ${window === undefined ? 'at once' : `per ${window}`}`

/** `1 route`, `2 routes`. */
export const counted = (count: number, one: string): string =>
  `${count.toLocaleString('en-US')} ${one}${count === 1 ? '' : 's'}`

/** `45 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`: two units at most, rounded up. */
export function duration(ms: number): string {
  if (ms === Infinity) return 'never'
  let seconds = Math.ceil(ms / 1000)
  if (seconds <= 0) return '-'
  const parts: string[] = []
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3600],
    ['min', 60],
    ['s', 1],
  ] as const) {
    const count = Math.floor(seconds / length)
    seconds -= count * length
    if (count > 0) parts.push(`${count} ${unit}`)
  }
  return parts.slice(0, 2).join(' ')
}

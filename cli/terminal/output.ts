import { styleText } from 'node:util'
import Table from 'cli-table3'
import type { Io } from './io'

type Format = 'bold' | 'dim' | 'red' | 'yellow' | 'green'

/**
 * Prints for people, in colours where there is a terminal that wants them. Data goes to standard output, all else to
 * standard error.
 */
export class Printer {
  private readonly coloured: boolean
  private held: Set<string> | undefined

  constructor(private readonly io: Pick<Io, 'stdout' | 'stderr' | 'env'>) {
    const { stdout, env } = io
    this.coloured = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  }

  /** Whether standard output is a terminal, which can be drawn over. */
  get isTerminal(): boolean {
    return this.io.stdout.isTTY === true
  }

  line(text = ''): void {
    this.io.stdout.write(`${printable(text)}\n`)
  }

  /** Text as it is, without a line's end. */
  raw(text: string): void {
    this.io.stdout.write(text)
  }

  json(value: unknown): void {
    this.raw(`${JSON.stringify(value, undefined, 2)}\n`)
  }

  /** For whoever watches, not for what reads standard output. */
  note(text: string): void {
    if (this.held) this.held.add(text)
    else this.io.stderr.write(`${printable(text)}\n`)
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
    return this.coloured ? styleText(format, text, { validateStream: false }) : text
  }

  table(head: readonly string[], rows: readonly (readonly string[])[]): void {
    this.line(this.tableText(head, rows))
  }

  /** Columns without borders, headed by words; no line's end at the end. */
  tableText(head: readonly string[], rows: readonly (readonly string[])[]): string {
    const table = new Table({
      head: head.map((word) => this.style('bold', word)),
      chars: NO_BORDERS,
      style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    })
    table.push(...rows.map((row) => row.map(printable))) // before widths are measured
    const lines = table.toString().split('\n')
    return lines.map((line) => line.trimEnd()).join('\n')
  }

  /** `█████░░░░░` for a part of a whole, in red where nothing is left. */
  bar(used: number, whole: number, width = 20): string {
    const part = whole > 0 ? Math.min(1, used / whole) : 1
    const filled = used > 0 ? Math.max(1, Math.floor(part * width)) : 0
    const colour = part >= 1 ? 'red' : part >= 0.8 ? 'yellow' : 'green'
    return this.style(colour, '█'.repeat(filled)) + '░'.repeat(width - filled)
  }
}

/** Names come from tables that others write: what would move the cursor or colour the terminal is shown as `�`. */
export const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for escape sequences other than our own colours
  text.replace(/\u001b(?!\[\d{1,2}m)|[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f-\u009f]/g, '�')

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

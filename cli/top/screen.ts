import type { Io } from '../terminal/io'

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const CTRL_C = '\u0003'

/** A terminal's other screen, on which one text follows another, until somebody presses q or Ctrl-C. */
export class Screen {
  /** @param quit is called for q and for Ctrl-C. */
  constructor(
    private readonly io: Pick<Io, 'stdin' | 'stdout'>,
    private readonly quit: () => void,
  ) {
    io.stdout.write(ENTER)
    if (io.stdin.isTTY === true && io.stdin.setRawMode) {
      io.stdin.setRawMode(true)
      io.stdin.on('data', this.onKeys).resume()
    }
  }

  /** How many lines fit. */
  get rows(): number {
    return this.io.stdout.rows || 24 // 0 where nobody has said how large it is
  }

  /** Shows lines, as the printer shows them, in place of those before. What does not fit is cut off. */
  show(all: readonly string[]): void {
    const columns = (this.io.stdout.columns || 80) - 1 // a full line would wrap
    const lines = all.slice(0, this.rows)
    this.io.stdout.write(`\u001b[H${lines.map((line) => `${clipped(line, columns)}\u001b[K`).join('\r\n')}\u001b[J`)
  }

  /** Leaves the terminal as it was. */
  close(): void {
    const { stdin, stdout } = this.io
    if (stdin.isTTY === true && stdin.setRawMode) {
      stdin.off('data', this.onKeys)
      stdin.setRawMode(false)
      stdin.pause() // or the process would wait for more keys
    }
    stdout.write(LEAVE)
  }

  private readonly onKeys = (keys: Buffer | string): void => {
    if (/[qQ]/.test(String(keys)) || String(keys).includes(CTRL_C)) this.quit()
  }
}

/** The first columns of a line, whose colours take none. */
function clipped(line: string, columns: number): string {
  let left = columns
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are escape sequences
  return line.replace(/(\u001b\[\d{1,2}m)|[\s\S]/gu, (character, colour) => (colour || left-- > 0 ? character : ''))
}

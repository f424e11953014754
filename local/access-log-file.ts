import { close, closeSync, openSync, readSync, statSync, write } from 'node:fs'
import { promisify } from 'node:util'
import { reasonOf, StartError } from './start-error'

/** Lines that wait for a file that is slower than the requests. */
const MAX_WAITING = 10_000

/**
 * Appends lines to a file in the background. A line that cannot be written is dropped: this is reported once, and the
 * number of dropped lines once the file can be written again.
 */
export class AccessLogFile {
  private waiting: string[] = []
  private writing: Promise<void> = Promise.resolve()
  private isWriting = false
  private isClosed = false
  private missing = 0
  /** Whether the file ends within a line. */
  private isTorn: boolean
  private readonly fd: number

  /**
   * @param note gets a sentence for the user.
   * @throws StartError where the file cannot be opened.
   */
  constructor(
    private readonly path: string,
    private readonly note: (text: string) => void,
  ) {
    this.isTorn = endsWithinLine(path)
    this.fd = tried(path, () => openSync(path, 'a'))
  }

  add(line: string): void {
    if (this.isClosed) return
    if (this.waiting.length < MAX_WAITING) this.waiting.push(line)
    else this.failed(1, 'it is slower than the requests')
    if (this.isWriting) return
    this.isWriting = true
    this.writing = this.writeAll()
  }

  /** Writes what waits, and closes the file. */
  async close(): Promise<void> {
    await this.writing
    this.isClosed = true
    if (this.missing > 0) this.note(`${this.path}: ${this.missingText()}`)
    await promisify(close)(this.fd)
  }

  private async writeAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const lines = this.waiting
      this.waiting = []
      await this.append(lines)
    }
    this.isWriting = false
  }

  private async append(lines: readonly string[]): Promise<void> {
    let left = Buffer.from(`${this.isTorn ? '\n' : ''}${lines.join('\n')}\n`)
    try {
      while (left.length > 0) {
        const { bytesWritten } = await promisify(write)(this.fd, left)
        if (bytesWritten === 0) throw new Error('nothing more can be written')
        this.isTorn = left[bytesWritten - 1] !== NEWLINE
        left = left.subarray(bytesWritten)
      }
    } catch (error) {
      const unwritten = left.filter((byte) => byte === NEWLINE).length
      return this.failed(Math.min(lines.length, unwritten), reasonOf(error))
    }
    if (this.missing > 0) this.note(`${this.path} can be written again: ${this.missingText()}`)
    this.missing = 0
  }

  private failed(count: number, why: string): void {
    if (this.missing === 0)
      this.note(`warning: the access log ${this.path} cannot be written: ${why}; requests are answered all the same`)
    this.missing += count
  }

  private missingText(): string {
    return `${this.missing} ${this.missing === 1 ? 'request is' : 'requests are'} not in it`
  }
}

const NEWLINE = 0x0a

/** Whether an existing file does not end with a line break. @throws StartError for something other than a file */
function endsWithinLine(path: string): boolean {
  const stat = tried(path, () => statSync(path, { throwIfNoEntry: false }))
  if (stat?.isDirectory()) throw new StartError(`--access-log must be a file, and ${path} is a folder`)
  if (stat?.isFIFO()) throw new StartError(`--access-log must be a file, and ${path} is a pipe`)
  if (!stat?.isFile() || stat.size === 0) return false
  const fd = tried(path, () => openSync(path, 'r'))
  try {
    const last = Buffer.alloc(1)
    readSync(fd, last, 0, 1, stat.size - 1)
    return last[0] !== NEWLINE
  } finally {
    closeSync(fd)
  }
}

function tried<T>(path: string, open: () => T): T {
  try {
    return open()
  } catch (error) {
    throw new StartError(`the access log ${path} cannot be opened: ${reasonOf(error)}`)
  }
}

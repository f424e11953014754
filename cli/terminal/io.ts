import { EXIT } from '../exit'
import type { Clock } from '../facade/values'

/** A stream to print on. */
interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** A stream to read from; a terminal can pass on each key as it is pressed. */
type Input = NodeJS.ReadableStream & {
  readonly isTTY?: boolean
  setRawMode?(mode: boolean): unknown
}

/** Everything that a command sees of its process, so that tests can replace it. */
export interface Io {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly interrupts: Interrupts
}

/**
 * Ctrl-C reaches this process twice when npx passes it on as well: what follows the first within this time is the same
 * key press.
 */
const SAME_KEY_PRESS_MS = 300

/** Handles Ctrl-C: it ends the process, except during work that must stop at a safe point. */
export class Interrupts {
  private working = 0
  private firstAt: number | undefined
  private controller = new AbortController()

  /** @param end ends the process, with exit code 130. */
  constructor(
    private readonly end: () => void = () => {},
    private readonly clock: Clock = Date.now,
  ) {}

  /** Somebody pressed Ctrl-C. A second press ends the process whatever it is doing. */
  press(): void {
    const now = this.clock()
    const again = this.firstAt !== undefined && now - this.firstAt > SAME_KEY_PRESS_MS
    this.firstAt ??= now
    if (this.working === 0 || again) this.end()
    else this.controller.abort()
  }

  /** Does work that is told of Ctrl-C and stops where it is safe. */
  async during<T>(work: (pressed: AbortSignal) => Promise<T>): Promise<T> {
    this.working++
    try {
      return await work(this.controller.signal)
    } finally {
      this.working--
    }
  }
}

/** The process itself. */
export function processIo(): Io {
  const interrupts = new Interrupts(() => process.exit(EXIT.interrupted))
  // A terminal that is closed and whoever stops a process mean the same as Ctrl-C.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupts.press())
  if (process.env.npm_lifecycle_event !== undefined) pressWhenOrphaned(interrupts)
  process.stdout.on('error', () => {}) // the reader of a pipe may go away, `head` for one
  const { stdin, stdout, stderr, env } = process
  return { stdin, stdout, stderr, env, clock: Date.now, interrupts }
}

const LOOK_FOR_PARENT_MS = 250

/**
 * npm and npx start commands through a shell, which need not pass on the signal that ends it: that it is gone means the
 * same.
 */
function pressWhenOrphaned(interrupts: Interrupts): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    interrupts.press()
  }, LOOK_FOR_PARENT_MS)
  timer.unref()
}

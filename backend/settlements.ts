import type { UsedUnits } from '../limiter/options'

/** What settlements need of a `Settler`. */
interface RequestSettler {
  settle(reservation: string, used: UsedUnits | undefined): Promise<boolean>
  releaseSlots(reservation: string): Promise<boolean>
}

/** Where settlements go. */
export interface SettlerSource {
  /** Loads it if the function has a table to settle in; `undefined` if it has none. */
  load(): Promise<RequestSettler | undefined>
  /** Takes a warning for operators. @default a line of JSON on stderr */
  warn?(event: string, message: string): void
}

/** Settlements that failed are sent again with later requests: at most so many, each at most so often. */
const MAX_UNFINISHED = 100
const MAX_TRIES = 3
/** Between two warnings of one kind, in milliseconds. */
const WARN_EVERY_MS = 60_000

/** How a request ends. */
export interface Ending {
  /** What was really used. @default what is reserved */
  readonly used?: UsedUnits
  /** Another process settles its units. @default false */
  readonly isHandedOn?: boolean
}

interface Unfinished {
  readonly ending: Ending
  tries: number
}

/**
 * Settles requests, and never makes a response fail. A settlement that takes longer than its request may wait continues
 * in the background; Lambda freezes it after the response and resumes it with the function's next request.
 */
export class Settlements {
  private readonly unfinished = new Map<string, Unfinished>()
  private readonly warnedAt = new Map<string, number>()

  constructor(private readonly source: SettlerSource) {}

  /** Loads what settling needs, while the function starts or its handler works. */
  prepare(): void {
    this.source.load().catch((error) => this.warn('settler_unavailable', error))
  }

  /** Settles a request, and earlier ones whose settlement failed. Never rejects. */
  async settle(reservation: string, ending: Ending): Promise<void> {
    await Promise.all([this.attempt(reservation, { ending, tries: 0 }), this.retry()])
  }

  /** Sends failed settlements again, for which an earlier request had no time. Never rejects. */
  async retry(): Promise<void> {
    const again = [...this.unfinished]
    this.unfinished.clear()
    await Promise.all(again.map(([reservation, one]) => this.attempt(reservation, one)))
  }

  private async attempt(reservation: string, one: Unfinished): Promise<void> {
    one.tries++
    try {
      const settler = await this.source.load()
      if (settler) await endWith(settler, reservation, one.ending)
      else this.warn('not_granted', 'the function has no SLUICE_STATE_TABLE: grantSettle() of the construct sets it')
    } catch (error) {
      const { code, reason } = (error ?? {}) as { readonly code?: string; readonly reason?: string }
      this.warn('settlement_failed', error)
      const isPassing = code === 'store_unavailable' && reason !== 'refused' && reason !== 'missing-table'
      if (isPassing && one.tries < MAX_TRIES && this.unfinished.size < MAX_UNFINISHED)
        this.unfinished.set(reservation, one)
      // how many units it used is unknown, but it is over
      else if (one.ending.used !== undefined && code !== 'store_unavailable') {
        const { used: _, ...ending } = one.ending
        await this.attempt(reservation, { ending, tries: MAX_TRIES })
      }
    }
  }

  /** Warns operators, at most once a minute for each kind. */
  warn(event: string, error: unknown): void {
    const now = Date.now()
    if (Math.abs(now - (this.warnedAt.get(event) ?? -Infinity)) < WARN_EVERY_MS) return
    this.warnedAt.set(event, now)
    const { warn = toStderr } = this.source
    warn(event, textOf(error))
  }
}

const toStderr = (event: string, message: string) =>
  void process.stderr.write(`${JSON.stringify({ level: 'warn', event, message, source: 'sluice/backend' })}\n`)

const endWith = (settler: RequestSettler, reservation: string, { used, isHandedOn }: Ending): Promise<boolean> =>
  isHandedOn && used === undefined ? settler.releaseSlots(reservation) : settler.settle(reservation, used)

/** Anything may be thrown, also what cannot be converted to a string. */
function textOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error)
  } catch {
    return 'an error without a message'
  }
}

/** What the promise resolves with, or `late` after so many milliseconds. */
export async function within<T, Late>(ms: number, promise: Promise<T>, late: Late): Promise<T | Late> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<Late>((resolve) => {
    timer = setTimeout(() => resolve(late), ms)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}

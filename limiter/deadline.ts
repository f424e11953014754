import type { EpochMs } from './clock'
import { StoreUnavailableError } from './errors'

/** Options of a single call over the network. */
export interface CallOptions {
  /** Ends the call when it takes too long. Whether a write then happened is not known. */
  readonly signal?: EndSignal | undefined
  /**
   * Told when the store answered by its own clock, cut to the second, where it says so: the system's clock is compared
   * with it.
   */
  readonly onServerTime?: ((at: EpochMs) => void) | undefined
}

/**
 * Tells a call to end. Any `AbortSignal` is one; `Deadline` makes plainer ones, because listening to an
 * `AbortSignal` costs a tenth of a whole call. A call that does not look at it is left behind when its time is over.
 */
export interface EndSignal {
  readonly aborted: boolean
  onabort: ((this: never, event: never) => unknown) | null
}

/** The time that one decision may take, in real milliseconds; the limiter's own clock may be simulated. */
export class Deadline {
  private readonly endsAt: number

  constructor(ms: number) {
    this.endsAt = performance.now() + ms
  }

  get leftMs(): number {
    return this.endsAt - performance.now()
  }

  /**
   * Runs a call with a share of what is left, and ends it when that has passed, whether the store heeds the signal or
   * not.
   */
  bound<T>(share: number, call: (signal: EndSignal) => Promise<T>): Promise<T> {
    const ms = Math.max(1, this.leftMs * share)
    const signal = new Timeout()
    return within(ms, call(signal), () => {
      signal.end()
      throw new StoreUnavailableError('timeout', `the store did not answer within ${Math.round(ms)} ms`)
    })
  }
}

class Timeout implements EndSignal {
  aborted = false
  onabort: (() => unknown) | null = null

  end(): void {
    this.aborted = true
    this.onabort?.()
  }
}

/** Waits for what is under way, for so many milliseconds at most; it goes on by itself. */
export async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  await within(ms, work, () => undefined)
}

/**
 * What `work` comes to, or what `late` says if that takes longer. The work goes on by itself; nobody hears of its
 * failure then, not even where `late` ends it.
 *
 * @param ms in real milliseconds.
 * @param late the answer that is given in its place, or what it throws.
 */
export function within<T>(ms: number, work: Promise<T>, late: () => T): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = () => {
      try {
        resolve(late())
      } catch (error) {
        reject(error)
      }
    }
    const timer = setTimeout(expire, Math.max(0, ms))
    work.then(
      (result) => {
        clearTimeout(timer)
        resolve(result)
      },
      (error) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}

/** Who wants to know of each signal: one listener for all of them, since Node warns of more than ten. */
const callsOf = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls back once when the signal is aborted, which it must not be yet.
 *
 * @returns a function that calls it off. Once nobody waits for a signal, it has no listener.
 */
export function onAbort(signal: AbortSignal | undefined, call: () => void): () => void {
  if (!signal) return () => {}
  const calls = callsOf.get(signal) ?? new Set()
  if (calls.size === 0) {
    callsOf.set(signal, calls)
    signal.addEventListener('abort', notifyAll)
  }
  calls.add(call)
  return () => {
    if (calls.delete(call) && calls.size === 0) signal.removeEventListener('abort', notifyAll)
  }
}

function notifyAll(this: AbortSignal): void {
  for (const call of callsOf.get(this)!) call()
}

/** Sleeps until a time has passed or somebody wakes it. */
export class Alarm {
  private ring = () => {}

  /** @returns whether that time has passed; not if it was woken before. */
  async sleep(ms: number): Promise<boolean> {
    const hasPassed = await new Promise<boolean>((resolve) => {
      // A referenced timer: a program that waits does not exit.
      const timer = setTimeout(() => resolve(true), Math.max(1, Math.ceil(ms)))
      this.ring = () => {
        clearTimeout(timer)
        resolve(false)
      }
    })
    this.ring = () => {}
    return hasPassed
  }

  wake(): void {
    this.ring()
  }
}

import type { EndSignal } from './call-options'
import { StoreUnavailableError } from './errors'

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

/** Waits for what is under way and never rejects, for so many milliseconds at most; it goes on by itself. */
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

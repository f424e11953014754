import { StoreUnavailableError } from './errors'
import type { EndSignal } from './stores/store'

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
  async bound<T>(share: number, call: (signal: EndSignal) => Promise<T>): Promise<T> {
    const ms = Math.max(1, this.leftMs * share)
    const signal = new Timeout()
    let timer: NodeJS.Timeout | undefined
    const expiry = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new StoreUnavailableError('timeout', `the store did not answer within ${Math.round(ms)} ms`))
        signal.end()
      }, ms)
    })
    try {
      return await Promise.race([call(signal), expiry])
    } finally {
      clearTimeout(timer)
    }
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
  let timer: NodeJS.Timeout | undefined
  const expiry = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms))
  })
  await Promise.race([work, expiry])
  clearTimeout(timer)
}

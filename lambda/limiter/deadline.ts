import { StoreUnavailableError } from '../errors'

/** The time that one decision may take, in real milliseconds; the limiter's own clock may be simulated. */
export class Deadline {
  private readonly endsAt: number

  constructor(ms: number) {
    this.endsAt = performance.now() + ms
  }

  get leftMs(): number {
    return this.endsAt - performance.now()
  }

  /** Runs a call with a share of what is left, and ends it when that has passed, whether the store heeds the signal or not. */
  async bound<T>(share: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ms = Math.max(1, this.leftMs * share)
    const controller = new AbortController()
    let timer: NodeJS.Timeout | undefined
    const expiry = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new StoreUnavailableError('timeout', `the store did not answer within ${Math.round(ms)} ms`))
        controller.abort()
      }, ms)
    })
    try {
      return await Promise.race([call(controller.signal), expiry])
    } finally {
      clearTimeout(timer)
    }
  }
}

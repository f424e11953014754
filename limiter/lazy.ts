import type { Meter } from './reservations/meter'

/** A value whose code is loaded when it is first needed. A load that failed is tried again at the next call. */
export class Lazy<T> {
  /** The value, once it was loaded. */
  loaded: T | undefined
  private loading: Promise<T> | undefined

  constructor(private readonly load: () => Promise<T>) {}

  get(): Promise<T> {
    this.loading ??= this.load().then(
      (value) => {
        this.loaded = value
        return value
      },
      (error) => {
        this.loading = undefined
        throw error
      },
    )
    return this.loading
  }

  /** Loads it while nothing needs it. */
  preload(): void {
    this.get().catch(() => {})
  }
}

/** A meter that is loaded meanwhile. What is wrong with it is an error of its first call. */
export function lazyMeter(loading: Promise<Meter>): Meter {
  loading.catch(() => {}) // its calls throw it
  return {
    debit: async (units) => (await loading).debit(units),
    settle: async (used) => (await loading).settle(used),
  }
}

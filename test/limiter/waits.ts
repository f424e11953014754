import { type Decision, type Limiter, MemoryStore, type PolicyInput, type WaitOptions } from '../../limiter'
import { limiterOn, MIDNIGHT, TestClock } from './limiters'

export const PER_SECOND = { name: 'per-second', algorithm: 'fixed-window', limit: 5, window: '1s' } as const
export const PER_HOUR = { name: 'per-hour', algorithm: 'fixed-window', limit: 5, window: '1h' } as const
export const QUEUE = {
  name: 'queue',
  algorithm: 'leaky-bucket',
  mode: 'queue',
  limit: 5,
  window: '1s',
  burst: 50,
} as const

/** Each test of the file begins at midnight, and leaves no timer behind. */
export function simulateTime(): void {
  beforeEach(() => jest.useFakeTimers({ now: MIDNIGHT }))
  afterEach(() => {
    expect(jest.getTimerCount()).toBe(0)
    jest.useRealTimers()
  })
}

/** A limiter on the simulated system clock. */
export const limiterWith = (policies: readonly PolicyInput[], more: Parameters<typeof limiterOn>[3] = {}): Limiter =>
  limiterOn(more.store ?? new MemoryStore(), new TestClock(), policies, { clock: undefined, ...more })

export const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms)

/** What came of waits, in the order in which they ended. */
export class Ends {
  readonly list: { readonly name: string; readonly atMs: number; readonly allowed?: boolean; error?: unknown }[] = []
  readonly decisions: Record<string, Decision> = {}

  constructor(private readonly limiter: Limiter) {}

  start(name: string, options?: WaitOptions, subject = 'vendor'): void {
    this.limiter.waitFor(subject, options).then(
      (decision) => {
        this.decisions[name] = decision
        this.list.push({ name, atMs: Date.now() - MIDNIGHT, allowed: decision.allowed })
      },
      (error) => this.list.push({ name, atMs: Date.now() - MIDNIGHT, error }),
    )
  }

  /** `name@ms`, and `!` for a denial or an error. */
  get story(): string {
    return this.list.map(({ name, atMs, allowed }) => `${name}@${atMs}${allowed ? '' : '!'}`).join(' ')
  }
}

import { createLimiter, type Limiter, type LimiterOptions, MemoryStore, type PolicyInput } from '../../limiter'
import { Deadline } from '../../limiter/deadline'
import { Decider } from '../../limiter/decider'
import type { StoreCalls } from '../../limiter/store-calls'
import type { ItemWrite, StateStore, WriteOutcome } from '../../limiter/stores/store'

/** A store that counts its calls. */
export class CountingStore implements StateStore {
  writes = 0
  reads = 0

  constructor(private readonly inner: StateStore = new MemoryStore()) {}

  get calls(): number {
    return this.writes + this.reads
  }

  write(key: string, write: ItemWrite, options?: { signal?: AbortSignal }): Promise<WriteOutcome> {
    this.writes++
    return this.inner.write(key, write, options)
  }

  read(key: string, options?: { signal?: AbortSignal }) {
    this.reads++
    return this.inner.read(key, options)
  }

  delete(...args: Parameters<StateStore['delete']>) {
    return this.inner.delete(...args)
  }
}

/** Makes a store keep its next write back until `arrive` is called. */
export function holdNextWrite(store: StateStore): { readonly arrive: () => void } {
  let arrive = () => {}
  const held = new Promise<void>((resolve) => {
    arrive = resolve
  })
  const write = store.write.bind(store)
  jest.spyOn(store, 'write').mockImplementationOnce(async (...call) => {
    await held
    return write(...call)
  })
  return { arrive }
}

/** 2025-11-21T00:00:00Z: on the edge of every epoch window up to a day. */
export const MIDNIGHT = 1_763_683_200_000

/** A clock that stands still until it is moved. */
export class TestClock {
  constructor(public at = MIDNIGHT) {}
  readonly read = (): number => this.at
}

export function limiterOn(
  store: StateStore,
  clock: TestClock,
  policies: readonly PolicyInput[],
  more: Partial<LimiterOptions> = {},
): Limiter {
  const deadlineMs = 5000 // on a busy machine, too
  return createLimiter({ store, clock: clock.read, policies, onStoreError: 'throw', deadlineMs, ...more })
}

/** One policy for each way of counting, with `limit` units per window. */
export const everyAlgorithm = (limit: number, window = '1m'): PolicyInput[] => [
  { name: 'fixed-window', algorithm: 'fixed-window', limit, window },
  { name: 'calendar', algorithm: 'fixed-window', limit, window: 'day', timezone: 'Europe/Berlin' },
  { name: 'anchored-window', algorithm: 'anchored-window', limit, window },
  { name: 'sliding-window', algorithm: 'sliding-window', limit, window },
  { name: 'sliding-buckets', algorithm: 'sliding-buckets', limit, window },
  { name: 'sliding-log', algorithm: 'sliding-log', limit, window },
  { name: 'token-bucket', algorithm: 'token-bucket', limit, window },
  { name: 'token-bucket-interval', algorithm: 'token-bucket', refill: 'interval', limit, window },
  { name: 'leaky-bucket', algorithm: 'leaky-bucket', limit, window },
  { name: 'leaky-bucket-queue', algorithm: 'leaky-bucket', mode: 'queue', limit, window },
  { name: 'gcra', algorithm: 'gcra', limit, window },
]

/** The items of a subject, read and written by calls that a test makes up. */
export function itemsOf(calls: StoreCalls, at: number): Decider {
  const times = { deadlineMs: 1000, firstDeadlineMs: 1000, denialTtlMs: 5000 }
  const options = { ...times, store: new MemoryStore(), clock: () => at, maxSubjects: 10, onEvent: () => {} }
  return Object.assign(new Decider(options), { calls, now: () => at, deadline: () => new Deadline(1000) })
}

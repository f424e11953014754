import { createLimiter, type Limiter, type LimiterOptions, type PolicyInput } from '../../limiter'
import type { LimiterEvent } from '../../limiter/options'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { CountingStore, MIDNIGHT } from './limiters'

/** An instance, its clock and its events. */
export interface Instance {
  limiter: Limiter
  skewMs: number
  readonly events: LimiterEvent[]
}

/** Instances with one store. The test moves the time. */
export class Fleet {
  now = MIDNIGHT
  readonly store = new CountingStore(new MemoryStore())
  readonly instances: Instance[]

  constructor(
    readonly policies: readonly PolicyInput[],
    size: number,
    private readonly options: Partial<LimiterOptions> = {},
    skews: readonly number[] = [],
  ) {
    this.instances = Array.from({ length: size }, (_, i) => this.made(skews[i] ?? 0))
  }

  /** Replaces an instance by a new one that has seen nothing. */
  crash(i: number): void {
    this.instances[i] = this.made(this.instances[i]!.skewMs)
  }

  private made(skewMs: number): Instance {
    const events: LimiterEvent[] = []
    const instance = { skewMs, events } as unknown as Instance
    instance.limiter = createLimiter({
      store: this.store,
      policies: this.policies,
      clock: () => this.now + instance.skewMs,
      onStoreError: 'throw',
      onEvent: (event) => events.push(event),
      ...this.options,
    })
    return instance
  }
}

/** A generator of numbers from 0 to 1, the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

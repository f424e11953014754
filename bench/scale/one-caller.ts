import {
  type Item,
  type ItemWrite,
  MemoryStore,
  type PolicyInput,
  StoreUnavailableError,
  type WriteOutcome,
} from '../../limiter'
import { compile } from '../../limiter/compiled-policy'
import { ConfigError, type Mistake } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import { CountingStore } from '../counting-store'
import { below, exponential, seeded } from '../random'
import { PerSecond } from './allowance'
import { PUBLISHED } from './published-limits'

export interface OneCaller {
  readonly instances: number
  readonly policy: Omit<PolicyInput, 'name'>
  /** Requests a second, at random moments, each on any instance. */
  readonly perSecond: number
  /** Seconds that are not counted: after them, the instances know the caller. */
  readonly warmUp: number
  readonly measured: number
  /** Whether the requests are ones that are never held back: the limiter without that rule. */
  readonly isPaced?: boolean
  /** Whether the caller's item takes no more calls than DynamoDB's does. @default as many as are sent */
  readonly isLimited?: boolean
  /** What a request takes. @default 1 */
  readonly costOf?: (random: () => number) => number
}

export interface OneCallerOutcome {
  /** Units admitted in a second by the store, on average. */
  readonly admitted: number
  /** Asks of the store a second that ended in a denial, on average and at most. */
  readonly refused: number
  readonly mostRefused: number
  readonly calls: number
  readonly requests: number
  /** Requests that were decided without the store. */
  readonly degraded: number
}

/** One caller on many instances, in virtual time, with calls that take none. */
export async function simulateOneCaller(load: OneCaller, seed = 1): Promise<OneCallerOutcome> {
  const { instances, policy, perSecond, warmUp, measured, isPaced, isLimited, costOf = () => 1 } = load
  const random = seeded(seed)
  const own = Math.random
  Math.random = seeded(seed + 1)
  try {
    let now = Date.UTC(2026, 0, 15, 12)
    const from = now + warmUp * 1000
    const store = new CountingStore(isLimited ? new OneItem(() => now) : new MemoryStore())
    const mistakes: Mistake[] = []
    const policies = parsePolicies([{ name: 'own', ...policy }], [], mistakes).map((parsed) => compile(parsed))
    if (mistakes.length > 0) throw new ConfigError(mistakes)
    const clock = () => Math.floor(now)
    const fleet = Array.from({ length: instances }, () => new RateLimiter({ store, clock, maxSubjects: 2 }))
    const refused = new Array<number>(measured).fill(0)
    let [admitted, calls, requests, degraded] = [0, 0, 0, 0]
    for (;;) {
      now += exponential(random, 1000 / perSecond)
      if (now >= from + measured * 1000) break
      const before = store.calls
      const cost = costOf(random)
      const { allowed, degraded: isDegraded } = await fleet[below(random, instances)]!.decide([
        { key: 'caller', policies, cost, isPaced },
      ])
      if (now < from) continue
      requests++
      calls += store.calls - before
      if (isDegraded) degraded++
      else if (allowed) admitted += cost
      else if (store.calls > before) refused[Math.floor((now - from) / 1000)]!++
    }
    return {
      admitted: admitted / measured,
      refused: refused.reduce((sum, ofSecond) => sum + ofSecond, 0) / measured,
      mostRefused: Math.max(...refused),
      calls: calls / measured,
      requests,
      degraded,
    }
  } finally {
    Math.random = own
  }
}

/** A store whose only item takes as many calls a second as one of DynamoDB's. */
class OneItem extends MemoryStore {
  private readonly writes = new PerSecond(PUBLISHED.item)
  private readonly reads = new PerSecond(3 * PUBLISHED.item)

  constructor(private readonly now: () => number) {
    super()
  }

  override async write(key: string, write: ItemWrite): Promise<WriteOutcome> {
    if (!this.writes.take(this.now())) throw hotKey()
    return super.write(key, write)
  }

  override async read(key: string): Promise<Item> {
    if (!this.reads.take(this.now())) throw hotKey()
    return super.read(key)
  }
}

const hotKey = () => new StoreUnavailableError('hot-key', 'the caller’s item gets more calls than it takes')

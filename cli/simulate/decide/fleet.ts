import { shareName } from '../../facade/counters'
import type { Charge, Decision } from '../../facade/decisions'
import {
  type CallOptions,
  type DeleteOutcome,
  type Item,
  type ItemWrite,
  MemoryStore,
  RateLimiter,
  type SeenMarks,
  type StateStore,
  type WriteOutcome,
} from '../../facade/simulation'
import type { EpochMs } from '../../facade/values'
import type { Answer, Calls, PolicyAnswer, SimulatedLimiter } from './limiter'
import { type Running, RunningRequests, runningOf } from './running'

/** More than any log has; what no longer matters is forgotten before. */
const MOST_SUBJECTS = 20_000_000

/**
 * Instances of the limiter itself over one store in memory, on the clock of the log: for policies that are leased or
 * counted in memory, whose decisions depend on what each instance holds. Requests go to instances at random, the same
 * ones in each run.
 */
export class Fleet implements SimulatedLimiter {
  private now: EpochMs = 0
  private readonly instances: readonly RateLimiter[]
  private readonly running = new RunningRequests()
  private state = 0x2545f491

  constructor(instances: number, calls: Calls) {
    const store = new CountingStore(new MemoryStore({ maxSubjects: MOST_SUBJECTS }), calls)
    const clock = () => this.now
    // memory answers at once: an instance that waits was only held up by this machine
    const options = { store, clock, deadlineMs: 600_000, onStoreError: 'throw' as const }
    this.instances = Array.from({ length: instances }, () => new RateLimiter(options))
  }

  async decide(parts: readonly Charge[], now: EpochMs, durationMs?: number): Promise<Answer> {
    for (let ended = this.running.endedBy(now); ended; ended = this.running.endedBy(now)) await this.end(ended)
    this.now = now
    const decision = await this.instances[this.next()]!.decide(parts)
    await afterSyncs()
    if (decision.allowed && durationMs !== undefined)
      for (const one of runningOf(parts, now, durationMs)) this.running.add(one)
    return answerOf(decision, parts)
  }

  /** Writes down what is only in memory. */
  async close(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.close()))
  }

  private async end({ key, policies, holds, startedAt, endsAt }: Running): Promise<void> {
    this.now = Math.max(this.now, endsAt)
    await this.instances[0]!.items.refund({ key, policies, cost: 1, holds }, { at: startedAt })
  }

  /** The next instance, by xorshift. */
  private next(): number {
    if (this.instances.length === 1) return 0
    let x = this.state
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    this.state = x
    return (x >>> 0) % this.instances.length
  }
}

/** What goes on beside a request is done before the next one comes. */
const afterSyncs = () => new Promise<void>((resolve) => setImmediate(resolve))

function answerOf({ allowed, policies: standings, policy: named }: Decision, parts: readonly Charge[]): Answer {
  const asked = parts.flatMap(({ policies }) => policies)
  const policies = asked.flatMap((policy): PolicyAnswer[] =>
    Object.hasOwn(standings, policy.name) ? [{ policy, verdict: standings[policy.name]! }] : [],
  )
  if (allowed) return { allowed, deniedBy: undefined, policies }
  const deniedBy = policies.find(({ policy }) => policy.name === named)?.policy
  const shared = deniedBy ? undefined : asked.find(({ name, fair }) => fair && shareName(name) === named)
  if (!shared) return { allowed, deniedBy, policies }
  const { limit, written } = shared
  return {
    allowed,
    deniedBy: { name: shareName(shared.name), limit, written },
    policies: [...policies, { policy: shared, verdict: standings[shareName(shared.name)]!, isShare: true }],
  }
}

class CountingStore implements StateStore {
  constructor(
    private readonly store: MemoryStore,
    private readonly calls: Calls,
  ) {}

  write(key: string, write: ItemWrite): Promise<WriteOutcome> {
    this.calls.writes++
    this.calls.writeUnits++
    return this.store.write(key, write)
  }

  read(key: string, _options?: CallOptions): Promise<Item> {
    this.calls.reads++
    return this.store.read(key)
  }

  delete(key: string, whileMarks: SeenMarks): Promise<DeleteOutcome> {
    return this.store.delete(key, whileMarks)
  }
}

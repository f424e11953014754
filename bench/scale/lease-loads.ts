import { createLimiter, type Limiter, type PolicyInput } from '../../limiter'
import { below, seeded } from '../random'
import { atRandomMoments, VirtualTime } from '../virtual-time'
import { SimulatedTable, TOGETHER_MS } from './simulated-table'

const CALL_MS = 5
/** The beginning of a window of any length up to a day. */
const START = Date.UTC(2026, 0, 15)

/** A leased limit in virtual time: instances with one item in common, which takes 1,000 writes a second, 5 ms each. */
class LeasedFleet {
  readonly time = new VirtualTime(START, { togetherMs: TOGETHER_MS })
  readonly table: SimulatedTable
  readonly random: () => number
  instances: Limiter[] = []
  readonly tally = { requests: 0, allowed: 0, denied: 0, degraded: 0 }
  /** Requests before the first that was denied. */
  firstDenied: number | undefined
  private readonly begun = new Set<Limiter>()

  constructor(
    private readonly policies: readonly PolicyInput[],
    seed: number,
  ) {
    this.random = seeded(seed)
    this.table = new SimulatedTable({
      time: this.time,
      random: this.random,
      writesPerSecond: Number.POSITIVE_INFINITY,
      latencyMs: CALL_MS,
    })
  }

  /** @param aheadMs how far its clock is ahead. @default 0 */
  limiter(aheadMs = 0): Limiter {
    return createLimiter({ store: this.table, policies: this.policies, clock: () => this.time.now + aheadMs })
  }

  /** Instances whose clocks are up to so many milliseconds ahead or behind. */
  add(count: number, skewMs: number): void {
    for (let i = 0; i < count; i++) this.instances.push(this.limiter(skewMs && skewMs * (2 * this.random() - 1)))
  }

  /** @returns what the time waits for: the first request of an instance loads code. */
  begin(limiter: Limiter): Promise<unknown> | undefined {
    void this.take(limiter)
    if (this.begun.has(limiter)) return undefined
    this.begun.add(limiter)
    return codeLoaded()
  }

  async take(limiter: Limiter): Promise<void> {
    const number = this.tally.requests++
    const { allowed, degraded } = await limiter.take('everybody')
    this.tally[degraded ? 'degraded' : allowed ? 'allowed' : 'denied']++
    if (!allowed) this.firstDenied = Math.min(number, this.firstDenied ?? Number.POSITIVE_INFINITY)
  }

  /** Requests at random moments, to any instance, until `until`. */
  stream(perMs: number, until: number): void {
    const { time, random } = this
    atRandomMoments(time, random, 1 / perMs, until, () =>
      this.take(this.instances[below(random, this.instances.length)]!),
    )
  }

  /** @throws Error if a request was not answered by then: nothing would have been measured. */
  async end(ms: number): Promise<undefined> {
    await this.time.runUntil(ms)
    const { requests, allowed, denied, degraded } = this.tally
    const unanswered = requests - allowed - denied - degraded
    if (unanswered > 0) throw new Error(`${unanswered} of ${requests} simulated requests were not answered`)
  }

  get calls(): number {
    return this.table.writes + this.table.reads
  }
}

/** Resolves once the code is there that limiters have asked for: one file, and then another. */
async function codeLoaded(): Promise<void> {
  await import('../../limiter/rate-limiter.ts')
  await import('../../limiter/consistency/leased.ts')
}

/** What was admitted of a load, and the calls that it took. */
export interface LoadOutcome {
  readonly requests: number
  readonly allowed: number
  readonly denied: number
  /** Decided by the failure mode, since the item was throttled. */
  readonly degraded: number
  readonly firstDenied: number | undefined
  readonly calls: number
  readonly mostWritesPerSecond: number
}

async function inVirtualTime(
  policies: readonly PolicyInput[],
  seed: number,
  run: (fleet: LeasedFleet) => Promise<Partial<LoadOutcome> | undefined>,
): Promise<LoadOutcome> {
  const fleet = new LeasedFleet(policies, seed)
  const uninstall = fleet.time.install(seed)
  try {
    const found = await run(fleet)
    const { firstDenied, calls } = fleet
    return { ...fleet.tally, firstDenied, calls, mostWritesPerSecond: fleet.table.mostWritesPerSecond, ...found }
  } finally {
    uninstall()
  }
}

export interface EvenLoad {
  readonly policies: readonly PolicyInput[]
  readonly perSecond: number
  readonly instances: number
  /** How far clocks are ahead or behind, at most, in milliseconds. @default 0 */
  readonly skewMs?: number
  readonly warmUpMs: number
  readonly measuredMs: number
  readonly seed?: number
}

/** Requests at random moments, to any of the instances; measured once these have learnt their pace. */
export const evenLoad = ({
  policies,
  perSecond,
  instances,
  skewMs = 0,
  warmUpMs,
  measuredMs,
  seed = 1,
}: EvenLoad): Promise<LoadOutcome> =>
  inVirtualTime(policies, seed, async (fleet) => {
    fleet.add(instances, skewMs)
    fleet.stream(perSecond / 1000, warmUpMs + measuredMs)
    await fleet.time.runUntil(warmUpMs)
    const before = { ...fleet.tally, calls: fleet.calls }
    fleet.table.mostWritesPerSecond = 0
    await fleet.time.runUntil(warmUpMs + measuredMs)
    const { requests, allowed, denied, degraded } = fleet.tally
    return {
      requests: requests - before.requests,
      allowed: allowed - before.allowed,
      denied: denied - before.denied,
      degraded: degraded - before.degraded,
      calls: fleet.calls - before.calls,
    }
  })

export interface Burst {
  readonly policies: readonly PolicyInput[]
  readonly requests: number
  readonly withinMs: number
  readonly instances: number
  readonly seed?: number
}

/** Requests at even intervals, each to any of the instances, all of which are new. */
export const burst = ({ policies, requests, withinMs, instances, seed = 1 }: Burst): Promise<LoadOutcome> =>
  inVirtualTime(policies, seed, async (fleet) => {
    fleet.add(instances, 0)
    for (let i = 0; i < requests; i++) {
      fleet.time.after(700 + (i * withinMs) / requests, () =>
        fleet.begin(fleet.instances[below(fleet.random, instances)]!),
      )
    }
    return fleet.end(withinMs + 10_000)
  })

export interface Bursts {
  readonly policies: readonly PolicyInput[]
  readonly bursts: number
  readonly size: number
  readonly withinMs: number
  /** Requests that each instance gets once more, a minute after its burst. @default none: it never comes back */
  readonly thawed?: number
  readonly seed?: number
}

/** One burst a minute, each on an instance of its own, which is then frozen. */
export const burstsOnFrozenInstances = ({
  policies,
  bursts,
  size,
  withinMs,
  thawed = 0,
  seed = 1,
}: Bursts): Promise<LoadOutcome> =>
  inVirtualTime(policies, seed, async (fleet) => {
    for (let b = 0; b < bursts; b++) {
      const limiter = fleet.limiter()
      for (let i = 0; i < size; i++)
        fleet.time.after(1000 + b * 60_000 + (i * withinMs) / size, () => fleet.begin(limiter))
      for (let i = 0; i < thawed; i++) fleet.time.after(61_500 + b * 60_000 + i * 10, () => fleet.begin(limiter))
    }
    return fleet.end(bursts * 60_000 + 120_000)
  })

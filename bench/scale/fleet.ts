import { createLimiter, type Limiter } from '../../limiter'
import { exponential, seeded } from '../random'
import { VirtualTime } from '../virtual-time'
import { TokenBucket } from './allowance'
import { popularity } from './popularity'
import { PUBLISHED } from './published-limits'
import type { Scenario } from './scenarios'
import type { Point, Second } from './second'
import { SimulatedTable, TOGETHER_MS } from './simulated-table'

/**
 * Callers that an instance remembers: few, so that tens of thousands of instances fit in memory. Where all are alike,
 * hardly any comes to the same instance again.
 */
const remembered = ({ skew }: Scenario): number => (skew > 0 ? 500 : 20)

/** Instances start as fast as Lambda starts them where growth is measured, and elsewhere so many times as fast, */
const TIMES_AS_FAST = 10
/** or faster, so that there are enough of them after this time. */
const STARTED_WITHIN_MS = 3500
/** Requests a second for which one instance is enough, where all wait for the first units of each window. */
const PER_INSTANCE = 30
/** Requests grow as fast as instances do, from so many a second, or from a tenth of fewer. */
const GROWS_FROM = 10_000
/** Then instances learn how many units to lease. */
const SETTLING_MS = 8000
const MEASURED_MS = 1000
/** Where windows are minutes, requests come for so long before and after the last one begins, and pause then. */
const BEGINNING_MS = 1000
/** They come again so long before the measured one begins. */
const RESUMED_MS = 4000
/** The second that is measured is the first of a window, whether windows are seconds or minutes. */
const MEASURED_AT = Date.UTC(2026, 0, 15, 12, 31)

/** Instances that start in a millisecond where requests grow to `most` a second. */
function startedPerMs({ grows }: Scenario, most: number): number {
  const byLambda = PUBLISHED.instancesPerTenSeconds / 10_000
  return grows ? byLambda : Math.max(TIMES_AS_FAST * byLambda, most / PER_INSTANCE / STARTED_WITHIN_MS)
}
const firstRate = (most: number): number => Math.min(GROWS_FROM, most / 10)
const growthPerMs = (scenario: Scenario, most: number): number => startedPerMs(scenario, most) * PER_INSTANCE
/** When there are so many requests a second, of `most` in the end, in whole seconds after the start. */
const reachedMs = (scenario: Scenario, rps: number, most = rps): number =>
  1000 * Math.ceil((rps - firstRate(most)) / growthPerMs(scenario, most) / 1000)

/** Runs a scenario: each instance a limiter of its own, one request at a time, as in Lambda. */
export async function simulateSecond(scenario: Scenario, rps: number, seed = 1): Promise<Second> {
  const { minutes } = scenario
  const measuredMs = reachedMs(scenario, rps) + (minutes ? BEGINNING_MS + 60_000 : SETTLING_MS)
  return inVirtualTime(scenario, rps, measuredMs, seed, async (fleet) => {
    await fleet.runUntil(measuredMs)
    return fleet.measured(measuredMs + MEASURED_MS)
  })
}

/** The seconds that begin when growing requests have come to these rates; they grow on, up to the highest. */
export async function simulateGrowth(
  scenario: Scenario,
  rates: readonly number[],
  most = rates.at(-1)!,
  seed = 1,
): Promise<Point[]> {
  return inVirtualTime(scenario, most, reachedMs(scenario, most), seed, async (fleet) => {
    const points: Point[] = []
    for (const rps of rates) {
      await fleet.runUntil(reachedMs(scenario, rps, most))
      points.push({ rps, second: await fleet.measured(reachedMs(scenario, rps, most) + MEASURED_MS) })
    }
    return points
  })
}

async function inVirtualTime<T>(
  scenario: Scenario,
  rps: number,
  measuredMs: number,
  seed: number,
  run: (fleet: Fleet) => Promise<T>,
): Promise<T> {
  const time = new VirtualTime(MEASURED_AT - measuredMs, { togetherMs: TOGETHER_MS })
  const uninstall = time.install(seed)
  try {
    const fleet = new Fleet(scenario, rps, time, seeded(seed + 1))
    if (scenario.minutes) fleet.pause(measuredMs - 60_000 + BEGINNING_MS, measuredMs - RESUMED_MS)
    fleet.open()
    return await run(fleet)
  } finally {
    uninstall()
  }
}

interface Instance {
  readonly limiter: Limiter
  readonly vanishesAt: number
}

class Fleet {
  private readonly table: SimulatedTable
  private readonly gateway: TokenBucket
  private readonly starts: TokenBucket
  private readonly nextClient: (random: () => number) => number
  private readonly idle: Instance[] = []
  private readonly tally = {
    offered: 0,
    allowed: 0,
    denied: 0,
    degraded: 0,
    refusedByGateway: 0,
    refusedByLambda: 0,
    busyMs: 0,
  }
  private paused = { fromMs: Number.POSITIVE_INFINITY, untilMs: Number.POSITIVE_INFINITY }
  private instances = 0
  private busy = 0
  private busiest = 0

  constructor(
    private readonly scenario: Scenario,
    private readonly rps: number,
    private readonly time: VirtualTime,
    private readonly random: () => number,
  ) {
    const { account, clients, skew, trouble } = scenario
    this.table = new SimulatedTable({
      time,
      random,
      writesPerSecond: account.tableWrites,
      partitions: account.partitions,
      throttled: trouble && { ...trouble.throttled, from: MEASURED_AT, until: MEASURED_AT + MEASURED_MS },
    })
    this.gateway = new TokenBucket(account.gateway.perSecond, account.gateway.burst)
    this.starts = new TokenBucket(1000 * startedPerMs(scenario, rps), PUBLISHED.instancesPerTenSeconds)
    this.nextClient = popularity(clients, skew)
  }

  /** No requests come between these times, in milliseconds after the start; instances stay. */
  pause(fromMs: number, untilMs: number): void {
    this.paused = { fromMs, untilMs }
  }

  /** Requests come at random moments from now on. */
  open(): void {
    const { time, random, rps, scenario, paused } = this
    const perSecond = Math.min(rps, firstRate(rps) + growthPerMs(scenario, rps) * time.sinceStart)
    const isPaused = time.sinceStart >= paused.fromMs && time.sinceStart < paused.untilMs
    const pauseMs = isPaused ? paused.untilMs - time.sinceStart : 0
    time.after(pauseMs + exponential(random, 1000 / perSecond), () => {
      this.open()
      this.arrive(this.nextClient(random))
    })
  }

  runUntil(ms: number): Promise<void> {
    return this.time.runUntil(ms)
  }

  /** What happens from now on until then. */
  async measured(untilMs: number): Promise<Second> {
    this.busiest = this.busy
    const before = this.counts()
    await this.runUntil(untilMs)
    const after = this.counts()
    const names = Object.keys(after) as (keyof typeof after)[]
    const counts = Object.fromEntries(
      names.map((name) => [name, after[name] - before[name]]),
    ) as unknown as typeof after
    return { ...counts, instances: this.instances, busiest: this.busiest }
  }

  private counts(): Omit<Second, 'instances' | 'busiest'> {
    const { writes, refused, reads, throttled } = this.table
    const throttles = { throttledItem: throttled.item, throttledTable: throttled.table }
    return { ...this.tally, ...throttles, writes, refusedWrites: refused, reads }
  }

  private arrive(client: number): void {
    this.tally.offered++
    if (!this.gateway.take(this.time.now)) {
      this.tally.refusedByGateway++
      return
    }
    const instance = this.instance()
    if (!instance) this.tally.refusedByLambda++
    else void this.serve(instance, client)
  }

  /** Any idle instance, or a new one: Lambda does not publish which one it takes. */
  private instance(): Instance | undefined {
    const { idle, time } = this
    while (idle.length > 0) {
      const place = Math.floor(this.random() * idle.length)
      const chosen = idle[place]!
      idle[place] = idle.at(-1)!
      idle.pop()
      if (chosen.vanishesAt > time.now) return chosen
    }
    const isAllowed = this.busy < this.scenario.account.concurrency && this.starts.take(time.now)
    return isAllowed ? this.started() : undefined
  }

  private started(): Instance {
    this.instances++
    const { scenario, time, random, table } = this
    const { policies, autoLease, trouble } = scenario
    const aheadMs = trouble ? trouble.skewMs * (2 * random() - 1) : 0
    const clock = () => time.now + aheadMs
    return {
      limiter: createLimiter({ store: table, policies, autoLease, maxSubjects: remembered(scenario), clock }),
      vanishesAt: trouble ? time.now + exponential(random, 1000 / trouble.vanishing) : Number.POSITIVE_INFINITY,
    }
  }

  private async serve(instance: Instance, client: number): Promise<void> {
    const { time, tally } = this
    const begun = time.now
    this.busy++
    this.busiest = Math.max(this.busiest, this.busy)
    const { allowed, degraded } = await instance.limiter.takeAll(this.scenario.subjectsOf(client))
    tally[degraded ? 'degraded' : allowed ? 'allowed' : 'denied']++
    time.after(this.scenario.invocationMs, () => {
      this.busy--
      tally.busyMs += time.now - begun
      this.idle.push(instance)
    })
  }
}

import { createLimiter, type Limiter } from '../../limiter'
import { exponential, seeded } from '../random'
import { VirtualTime } from '../virtual-time'
import { TokenBucket } from './allowance'
import { popularity } from './popularity'
import type { Scenario } from './scenarios'
import { SimulatedTable, TOGETHER_MS } from './simulated-table'

/** What an invocation takes beside its calls to DynamoDB, in milliseconds. */
const OVERHEAD_MS = 1.5

const MEASURED_MS = 1000
/** Instances start in the first quarter of a second; whole seconds begin after it. */
const FIRST_MS = 250
/** With leases, instances start ten times as fast as Lambda starts them, and learn how many units to lease. */
const STARTED_PER_MS = 1
const LEARNING_MS = 4000
/** Instances for a request a second: a call takes 4 ms, and all wait for the first units of each second. */
const INSTANCES = 0.025

/** How long instances start before requests have their full rate. */
const startMs = ({ learns }: Scenario, rps: number): number =>
  learns ? 1000 * Math.ceil((rps * INSTANCES) / STARTED_PER_MS / 1000) : 0
/** How long a simulation runs before the second that is measured. */
const warmUpMs = (scenario: Scenario, rps: number): number =>
  FIRST_MS + startMs(scenario, rps) + (scenario.learns ? LEARNING_MS : 0)
/** Long after any window in which units were charged. */
const START = Date.UTC(2026, 0, 15, 12, 30, 1) - FIRST_MS

/** One whole second of a scenario at one rate. */
export interface Second {
  readonly offered: number
  /** Allowed and denied by an exact decision: by the store, by a cached denial, by a lease. */
  readonly allowed: number
  readonly denied: number
  /** Decided without the store, and marked so. */
  readonly degraded: number
  /** Not decided at all: 429 by API Gateway, 500 where Lambda has no instance left. */
  readonly refusedByGateway: number
  readonly refusedByLambda: number
  /** Calls that DynamoDB refused: for an item's sake, for the table's. */
  readonly throttledItem: number
  readonly throttledTable: number
  readonly writes: number
  readonly reads: number
  /** Instances there were at the end, and the most that were busy at a time. */
  readonly instances: number
  readonly busiest: number
}

/** Runs a scenario: each instance a limiter of its own, one request at a time, as in Lambda. */
export async function simulateSecond(scenario: Scenario, rps: number, seed = 1): Promise<Second> {
  const time = new VirtualTime(START, { togetherMs: TOGETHER_MS })
  const uninstall = time.install(seed)
  try {
    const fleet = new Fleet(scenario, rps, time, seeded(seed + 1))
    fleet.open()
    await time.runUntil(warmUpMs(scenario, rps))
    const before = fleet.counts()
    await time.runUntil(warmUpMs(scenario, rps) + MEASURED_MS)
    return difference(fleet.counts(), before)
  } finally {
    uninstall()
  }
}

class Fleet {
  private readonly table: SimulatedTable
  private readonly gateway: TokenBucket
  private readonly nextClient: (random: () => number) => number
  private readonly startedMs: number
  private readonly idle: Limiter[] = []
  private readonly tally = { offered: 0, allowed: 0, denied: 0, degraded: 0, refusedByGateway: 0, refusedByLambda: 0 }
  private instances = 0
  private busy = 0
  private busiest = 0

  constructor(
    private readonly scenario: Scenario,
    private readonly rps: number,
    private readonly time: VirtualTime,
    private readonly random: () => number,
  ) {
    const { account, clients, skew } = scenario
    this.table = new SimulatedTable({
      time,
      random,
      writesPerSecond: account.tableWrites,
      partitions: account.partitions,
    })
    this.gateway = new TokenBucket(account.gateway.perSecond, account.gateway.burst)
    this.nextClient = popularity(clients, skew)
    this.startedMs = startMs(scenario, rps)
  }

  /** Requests come at random moments from now on. */
  open(): void {
    const { time, random, rps, startedMs } = this
    const share = Math.min(1, (time.sinceStart + 1) / startedMs)
    const wanted = startedMs > 0 ? Math.floor(share * rps * INSTANCES) : 0
    while (this.instances < wanted) this.idle.push(this.started())
    time.after(exponential(random, 1000 / rps / share), () => {
      this.open()
      this.arrive(this.nextClient(random))
    })
  }

  counts(): Second {
    const { writes, reads, throttled } = this.table
    const { instances, busiest } = this
    return {
      ...this.tally,
      throttledItem: throttled.item,
      throttledTable: throttled.table,
      writes,
      reads,
      instances,
      busiest,
    }
  }

  private arrive(client: number): void {
    this.tally.offered++
    if (!this.gateway.take(this.time.now)) {
      this.tally.refusedByGateway++
      return
    }
    const limiter = this.instance()
    if (!limiter) this.tally.refusedByLambda++
    else void this.serve(limiter, client)
  }

  /** Any idle instance, or a new one: Lambda does not publish which one it takes. */
  private instance(): Limiter | undefined {
    const { idle, scenario } = this
    if (idle.length > 0) {
      const place = Math.floor(this.random() * idle.length)
      const chosen = idle[place]!
      idle[place] = idle.at(-1)!
      idle.pop()
      return chosen
    }
    return this.instances < scenario.account.concurrency ? this.started() : undefined
  }

  private started(): Limiter {
    this.instances++
    const { policies, autoLease } = this.scenario
    return createLimiter({ store: this.table, policies, autoLease, clock: () => this.time.now })
  }

  private async serve(limiter: Limiter, client: number): Promise<void> {
    this.busy++
    this.busiest = Math.max(this.busiest, this.busy)
    const { allowed, degraded } = await limiter.takeAll(this.scenario.subjectsOf(client))
    this.tally[degraded ? 'degraded' : allowed ? 'allowed' : 'denied']++
    this.time.after(OVERHEAD_MS, () => {
      this.busy--
      this.idle.push(limiter)
    })
  }
}

function difference(end: Second, start: Second): Second {
  const rates = Object.fromEntries(
    Object.entries(end).map(([name, value]) => [name, value - start[name as keyof Second]]),
  )
  return { ...(rates as unknown as Second), instances: end.instances, busiest: end.busiest }
}

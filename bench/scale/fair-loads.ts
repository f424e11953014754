import { createLimiter, type Limiter, type PolicyInput } from '../../limiter'
import { below, seeded } from '../random'
import { atRandomMoments, VirtualTime } from '../virtual-time'
import { SimulatedTable, TOGETHER_MS } from './simulated-table'

const START = Date.UTC(2026, 0, 15)

export interface FairLoad {
  readonly instances: number
  /** The limit that all callers share: units in a window of so many seconds. */
  readonly limit: number
  readonly seconds: number
  readonly policy?: Partial<PolicyInput>
  /** What callers ask for in a window on average, in units of an equal share; the same one has the same name. */
  readonly callers: readonly { readonly asks: number; readonly weight?: number }[]
  readonly windows: number
  /** How far clocks are ahead or behind at most, in milliseconds. @default 0 */
  readonly skewMs?: number
  readonly seed?: number
  /** @default true */
  readonly fair?: boolean
}

/** One window of a load. */
export interface FairWindow {
  /** Requests of each caller, and those that were admitted. */
  readonly asked: readonly number[]
  readonly got: readonly number[]
  /** Denied by a share. */
  readonly byShare: number
  readonly degraded: number
  readonly calls: number
}

/** Callers that share a limit, in virtual time: each instance a limiter of its own, calls of 5 ms. */
export async function fairLoad(load: FairLoad): Promise<FairWindow[]> {
  const { instances, limit, seconds, policy, callers, windows, skewMs = 0, seed = 1, fair = true } = load
  const time = new VirtualTime(START, { togetherMs: TOGETHER_MS })
  const random = seeded(seed)
  const table = new SimulatedTable({ time, random, writesPerSecond: Number.POSITIVE_INFINITY, latencyMs: 5 })
  const uninstall = time.install(seed)
  try {
    const policies: PolicyInput[] = [
      { name: 'all', algorithm: 'fixed-window', limit, window: `${seconds}s`, consistency: 'leased', fair, ...policy },
      { name: 'own', algorithm: 'fixed-window', limit: 1_000_000_000, window: `${seconds}s` },
    ]
    const fleet: Limiter[] = Array.from({ length: instances }, () => {
      const aheadMs = skewMs * (2 * random() - 1)
      return createLimiter({ store: table, policies, clock: () => time.now + aheadMs })
    })
    const found = Array.from({ length: windows }, () => ({
      asked: callers.map(() => 0),
      got: callers.map(() => 0),
      byShare: 0,
      degraded: 0,
      calls: 0,
    }))
    const take = async (caller: number) => {
      const window = found[Math.floor(time.sinceStart / 1000 / seconds)]!
      window.asked[caller]!++
      const name = `caller:${caller}`
      const {
        allowed,
        degraded,
        policy: named,
      } = await fleet[below(random, instances)]!.takeAll([
        { subject: 'everybody', policies: ['all'], caller: name, weight: callers[caller]!.weight },
        { subject: name, policies: ['own'] },
      ])
      if (allowed) window.got[caller]!++
      if (degraded) window.degraded++
      if (named === 'all.share' && !allowed) window.byShare++
    }
    const share = limit / callers.length
    const endMs = windows * seconds * 1000
    for (const [i, { asks }] of callers.entries())
      atRandomMoments(time, random, (seconds * 1000) / (asks * share), endMs, () => take(i))
    for (const [i, window] of found.entries()) {
      const before = table.writes + table.reads
      await time.runUntil((i + 1) * seconds * 1000)
      window.calls = table.writes + table.reads - before
    }
    await time.runUntil(endMs + 1000)
    return found
  } finally {
    uninstall()
  }
}

/** So many callers that ask for the same. */
export const alike = (count: number, asks: number) => Array.from({ length: count }, () => ({ asks }))

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

import { type CompiledPolicy, fieldsOf, lockedOutMs, type RateLimiter, runningIn } from '../facade/limiter'
import { NO_ITEM, type StateStore } from '../facade/tables'
import type { EpochMs } from '../facade/values'
import type { Counted } from './counted'
import { allowsOverage, isoTime, type Period, periodsOf } from './periods'

/** How one policy stands. */
export interface Usage {
  readonly policy: string
  readonly route: string | null
  /** The cost that it counts; null where it counts requests. */
  readonly cost: string | null
  /** Units per window. */
  readonly limit: number
  /**
   * Units that are gone of those that a whole quota has, which with a burst may be another number than the limit; where
   * overage is allowed, all that the current window was charged.
   */
  readonly used: number
  readonly remaining: number
  readonly resetAfterMs: number
  /** For how long the caller is locked out. Absent where it is not. */
  readonly lockedOutMs?: number
  /** Requests that are running, the oldest first. Absent where the policy does not count them. */
  readonly running?: readonly RunningRequest[]
  /** The windows on record, newest first. Absent where what is past the quota is denied. */
  readonly periods?: readonly Period[]
}

/** A request that has a slot. */
interface RunningRequest {
  /** When it got it, as ISO 8601 in UTC. */
  readonly since: string
  /** How long it has it yet, unless somebody releases it. */
  readonly leftMs: number
}

/** What is asked how a subject stands. */
interface Asked {
  readonly limiter: Pick<RateLimiter, 'peek'>
  readonly store: Pick<StateStore, 'read'>
}

/**
 * Policies that allow overage are read from the item itself, which has what no decision tells: earlier windows, and
 * each one's units past the quota. So are those that lock out, whose units are told whoever is locked out, and those
 * that count running requests.
 */
export async function usageOf({ limiter, store }: Asked, counted: readonly Counted[], now: EpochMs): Promise<Usage[]> {
  const keys = [...new Set(counted.map(({ key }) => key))]
  const of = (key: string) => counted.filter((one) => one.key === key)
  const { policies } = await limiter.peek(
    keys.map((key) => ({ key, policies: of(key).map(({ compiled }) => compiled), cost: 0 })),
  )
  const items = new Map(
    await Promise.all(
      keys.map(
        async (key) =>
          [key, of(key).some(({ compiled }) => isReadFromItem(compiled)) ? await store.read(key) : NO_ITEM] as const,
      ),
    ),
  )
  return counted.map(({ policy, route, compiled, key }) => {
    const item = items.get(key)!
    const { unlocked } = compiled.counter
    const fields = fieldsOf(item, compiled)!
    const { limit } = compiled
    const { remaining, resetAfterMs } = unlocked?.step(fields, 0, now).verdict ?? policies[compiled.name]!
    const lockedMs = unlocked ? lockedOutMs(fields, now) : 0
    const whole = compiled.counter.step({}, 0, 0).verdict.remaining
    const periods = periodsOf(item, compiled)
    const current = periods?.find(({ end }) => Date.parse(end) > now)
    const used = current?.used ?? Math.max(0, whole - remaining)
    const { counter, costName = null, windowMs } = compiled
    const cost = counter.isEndedByOthers ? null : costName
    const running = counter.isEndedByOthers && runningIn(fields, windowMs, now)
    return {
      ...{ policy, route: route ?? null, cost, limit, used, remaining, resetAfterMs },
      ...(lockedMs > 0 && { lockedOutMs: lockedMs }),
      ...(running && { running: running.map(({ sinceMs, leftMs }) => ({ since: isoTime(sinceMs), leftMs })) }),
      ...(periods && { periods }),
    }
  })
}

const isReadFromItem = (compiled: CompiledPolicy): boolean =>
  allowsOverage(compiled) || compiled.counter.unlocked !== undefined || compiled.counter.isEndedByOthers

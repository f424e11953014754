/** The counters of a subject: how they stand, what is reserved, and what refunds give back. */

import { emissionUs } from '../../limiter/algorithms/arrival'
import { LONGEST_KEPT_MS, openIn, runningIn } from '../../limiter/algorithms/holds'
import { lockedOutMs } from '../../limiter/algorithms/lockout'
import { usageOf as meteredUsage } from '../../limiter/algorithms/metered-window'
import { unitsReturned } from '../../limiter/algorithms/units-returned'
import type { EpochMs } from '../../limiter/clock'
import { type CompiledPolicy, fieldsOf } from '../../limiter/compiled-policy'
import { gridOf } from '../../limiter/policies/quota'
import type { Charge, RateLimiter } from '../../limiter/rate-limiter'
import { RESERVATIONS } from '../../limiter/reservations/reserved'
import {
  type CallOptions,
  type DeleteOutcome,
  type Item,
  type ItemWrite,
  NO_ITEM,
  type SeenMarks,
  type StateStore,
  type WriteOutcome,
} from '../../limiter/stores/store'
import { chargedTo, withPools } from './pools'

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

/** A policy in the state of one subject. */
export interface Counter {
  readonly policy: string
  /** Where it counts each route apart. */
  readonly route: string | undefined
  /** Its name tells it from all others of the subject. */
  readonly compiled: CompiledPolicy
  readonly key: string
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
export async function usageOf({ limiter, store }: Asked, counted: readonly Counter[], now: EpochMs): Promise<Usage[]> {
  const keys = [...new Set(counted.map(({ key }) => key))]
  const policiesOf = (key: string) => counted.flatMap((one) => (one.key === key ? [one.compiled] : []))
  const { policies } = await limiter.peek(keys.map((key) => ({ key, policies: policiesOf(key), cost: 0 })))
  const items = new Map(await Promise.all(keys.map(async (key) => [key, await withPools(store, key, now)] as const)))
  return counted.map(({ policy, route, compiled, key }) => {
    const { item, unspentOf } = items.get(key)!
    const { unlocked } = compiled.counter
    const fields = fieldsOf(item, compiled)!
    const { limit } = compiled
    const standing = unlocked?.step(fields, 0, now).verdict ?? policies[compiled.name]!
    const lockedMs = unlocked ? lockedOutMs(fields, now) : 0
    const whole = compiled.counter.step({}, 0, 0).verdict.remaining
    const over = Math.max(0, chargedTo(compiled, fields, now) - whole)
    const remaining = Math.min(whole, Math.max(0, standing.remaining - over + unspentOf(compiled)))
    const periods = periodsOf(item, compiled)
    const current = periods?.find(({ end }) => Date.parse(end) > now)
    const used = current?.used ?? Math.max(0, whole - remaining)
    const { counter, costName = null, windowMs } = compiled
    const cost = counter.isEndedByOthers ? null : costName
    const running = counter.isEndedByOthers && runningIn(fields, windowMs, now)
    return {
      ...{ policy, route: route ?? null, cost, limit, used, remaining, resetAfterMs: standing.resetAfterMs },
      ...(lockedMs > 0 && { lockedOutMs: lockedMs }),
      ...(running && { running: running.map(({ sinceMs, leftMs }) => ({ since: isoTime(sinceMs), leftMs })) }),
      ...(periods && { periods }),
    }
  })
}

/** How decisions name a caller's share of a fair policy. */
export const shareName = (policy: string): string => `${policy}.share`

/** The shares of a caller that hold now, of the fair policies that it is charged with others. */
export async function sharesOf({ limiter }: Pick<Asked, 'limiter'>, charges: readonly Charge[]): Promise<Usage[]> {
  const each = charges.map(async (charge) => {
    const { policies } = await limiter.peek([charge])
    return charge.policies.flatMap(({ name, costName = null }): Usage[] => {
      const share = policies[shareName(name)]
      if (!share) return []
      const { limit, remaining, resetAfterMs } = share
      const used = Math.max(0, limit - remaining)
      return [{ policy: shareName(name), route: null, cost: costName, limit, used, remaining, resetAfterMs }]
    })
  })
  return (await Promise.all(each)).flat()
}

/** What a policy that allows overage has on record of one of its windows. */
interface Period {
  /** Its first instant, as ISO 8601 writes it in UTC. */
  readonly start: string
  /** The first instant that is no longer in it. */
  readonly end: string
  /** Units charged, those past the quota included. */
  readonly used: number
  /** Those that were past the quota. */
  readonly overage: number
}

/** The windows on record, newest first; `undefined` for a policy that denies what is past its quota. */
function periodsOf(item: Item, compiled: CompiledPolicy): Period[] | undefined {
  const { written } = compiled
  if (written.overage !== 'allow') return undefined
  const recorded = meteredUsage(fieldsOf(item, compiled)!, { grid: gridOf(written) })
  return recorded.map(({ startAt, endsAt, used, overage }) => ({
    start: isoTime(startAt),
    end: isoTime(endsAt),
    used,
    overage,
  }))
}

/** As ISO 8601 in UTC, to the second where it is a whole one. */
const isoTime = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')

/** Requests of a caller whose units are reserved, and not settled. */
export interface OpenReservations {
  readonly open: number
  /** Of how many; one more is denied. */
  readonly limit: number
  /** How long the last of them stays reserved, in milliseconds; 0 where the time of all is over. */
  readonly lastMs: number
}

/** What a caller holds; `undefined` where it holds nothing. Subjects that callers share hold nothing themselves. */
export async function reservationsOf(
  store: Pick<StateStore, 'read'>,
  key: string,
  now: EpochMs,
): Promise<OpenReservations | undefined> {
  const fields = fieldsOf(await store.read(key), RESERVATIONS)!
  const { open, lastMs } = openIn(fields, LONGEST_KEPT_MS, now)
  return open > 0 ? { open, limit: RESERVATIONS.limit, lastMs } : undefined
}

/** A write that was tried, and the item over which it was planned. */
interface Attempt {
  readonly key: string
  readonly write: ItemWrite
  readonly seen: Item
}

/**
 * A store that notes what refunds through it gave back. A write whose answer was lost counts once its mark is seen in
 * the item.
 */
export class RefundRecorder implements StateStore {
  private readonly seen = new Map<string, Item>()
  private attempts: Attempt[] = []
  private readonly applied: Attempt[] = []

  constructor(private readonly store: StateStore) {}

  async read(key: string, options?: CallOptions): Promise<Item> {
    return this.noted(key, await this.store.read(key, options))
  }

  async write(key: string, write: ItemWrite, options?: CallOptions): Promise<WriteOutcome> {
    const attempt = { key, write, seen: this.seen.get(key) ?? NO_ITEM }
    this.attempts = [...this.attempts.filter((one) => one.write.id.value !== write.id.value), attempt]
    const outcome = await this.store.write(key, write, options)
    if (outcome.kind === 'applied') this.settle(attempt, outcome.item)
    else this.noted(key, outcome.item)
    return outcome
  }

  delete(key: string, whileMarks: SeenMarks, options?: CallOptions): Promise<DeleteOutcome> {
    return this.store.delete(key, whileMarks, options)
  }

  /** Units that a policy got back in the state under a key. */
  unitsOf(key: string, { prefix, limit, windowMs }: CompiledPolicy): number {
    const parts = this.applied.flatMap((one) =>
      one.key === key ? one.write.parts.filter((part) => part.prefix === prefix).map((part) => ({ ...one, part })) : [],
    )
    return parts.reduce(
      (sum, { seen, part }) =>
        sum + unitsReturned(seen.policies[prefix] ?? {}, part.write, emissionUs(limit, windowMs)),
      0,
    )
  }

  private noted(key: string, item: Item): Item {
    this.seen.set(key, item)
    for (const attempt of this.attempts) {
      const { id } = attempt.write
      if (attempt.key === key && item.marks[id.mark] === id.value) this.settle(attempt, attempt.seen)
    }
    return item
  }

  /** @param before the item as the write found it. */
  private settle(attempt: Attempt, before: Item): void {
    this.applied.push({ ...attempt, seen: before })
    this.attempts = this.attempts.filter((one) => one !== attempt)
  }
}

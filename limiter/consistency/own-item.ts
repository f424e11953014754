import type { Verdicts } from '../algorithms/algorithm'
import {
  type Assignment,
  type Fields,
  numberOf,
  remove,
  replace,
  set,
  stillAt,
  when,
} from '../algorithms/conditional-write'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import type { Deadline } from '../deadline'
import type { Decider } from '../decider'
import { isHotKey } from '../errors'
import { type KnownItems, type Plan, READ, writing } from '../plan'
import type { Subject } from '../request'
import { allAllow } from '../steps'
import { POOL_PREFIX } from '../stores/attribute-prefix'
import { estimateCapacity, remainingOf } from './capacity'
import { type ItemKind, type LeaseState, throttledNow, throwIfThrottled, UNSEEN } from './lease'
import type { Capacity } from './lease-size'
import { countingMs, LONGEST_COUNTED_MS } from './pool-plans'
import {
  asNumber,
  countOf,
  FIRST_POOLS,
  hasPace,
  isCounted,
  MANY_PER_SECOND,
  mostPools,
  type Pool,
  type PoolCount,
  poolFieldsIn,
  poolNamesIn,
  poolsOf,
  writesPerSecond,
} from './pools'
import type { WriteCoalescer } from './write-coalescer'

/** So often an instance asks for what it wishes. */
const WISHES = 2
/** Above so many writes a second there are four times as many pools. */
const TOO_MANY_PER_SECOND = 800
/** A pool with so many writes in a window, which begins with one by every instance, is needed. */
const NEEDED_PER_WINDOW = 160
/** So many of them, on the average, say so at a time. */
const NOTED_BY = 4
/** Lists of policies whose pools an item names at most; then those in use are written down again when filled. */
const MOST_NAMES = 16

/** What is asked of a subject for a lease. */
export interface Ask {
  readonly state: LeaseState
  readonly policies: readonly CompiledPolicy[]
  /** Units that the request itself takes. */
  readonly least: number
  readonly deadline: Deadline
}

/** Units that are charged, or why there are none. */
export interface Grant {
  /** 0 where it is a denial. */
  readonly units: number
  readonly verdicts: Verdicts
  readonly takenAt: EpochMs
  /** When they were charged to the subject's own item: earlier where they come from a pool. */
  readonly chargedAt: EpochMs
  readonly expiresAt: EpochMs
}

/** Charges leases, and deposits in pools, to a subject's own item. */
export class OwnItem {
  constructor(
    private readonly items: Decider,
    private readonly writes: WriteCoalescer,
  ) {}

  /**
   * Charges as many units as are wished for. Where others take them first it tries once more, in the size that the
   * fuller view suggests, and then with those of the request alone.
   *
   * @param pauseMs how long an instance would wait for units to come back.
   * @param sizeOf how many units to wish for, by what is known of the policies.
   */
  async charge(ask: Ask, pauseMs: number, sizeOf: (of: Capacity, now: EpochMs) => number): Promise<Grant> {
    const { state, policies, least } = ask
    const { key } = state
    for (let tries = 1; ; tries++) {
      const now = this.items.now()
      const available = estimateCapacity(this.items.view(key), policies, now, pauseMs)
      const wish = sizeOf(available, now)
      const units = tries <= WISHES ? Math.max(least, wish) : least
      const verdicts = await this.charged(ask, units, now)
      const isAllowed = allAllow(verdicts)
      if (!isAllowed && units > least) continue
      const view = this.items.view(key)
      state.pools = poolsOf(view?.item, policies, now)
      // others may have begun the next window between the charge and its answer
      const expiresAt = now + Math.min(available.endsInMs, estimateCapacity(view, policies, now, 0).endsInMs)
      return { units: isAllowed ? units : 0, verdicts, takenAt: now, chargedAt: now, expiresAt }
    }
  }

  /** Reads how many pools there are, and changes that where a pool, or the own item, had too many or too few writes. */
  async decidePools({ state, policies, deadline }: Ask, pool: Pool): Promise<PoolCount> {
    const { key, poolName } = state
    const evidence = state.pools.stamp === UNSEEN ? 'throttled' : pool
    const deciding = () => this.items.run(key, decidePools(this.items, { key, policies }, poolName, evidence), deadline)
    state.pools = await this.unlessThrottled(state, 'own', deciding)
    return state.pools
  }

  /** Makes a call, unless one of this kind was throttled a moment ago. */
  async unlessThrottled<T>(state: LeaseState, kind: ItemKind, call: () => Promise<T>): Promise<T> {
    const { throttled, size } = state
    throwIfThrottled(throttled[kind], this.items.now())
    try {
      const answer = await call()
      throttled[kind] = undefined
      return answer
    } catch (error) {
      if (isHotKey(error)) {
        const now = this.items.now()
        size.onThrottled(now)
        throttled[kind] = throttledNow(error, throttled[kind], now)
      }
      throw error
    }
  }

  private charged({ state, policies, least, deadline }: Ask, cost: number, now: EpochMs): Promise<Verdicts> {
    const { key, size } = state
    return this.unlessThrottled(state, 'own', async () => {
      const before = this.items.view(key)
      const charge = { key, policies, cost, isPaced: true, isSentOnce: cost > least }
      const verdicts = await this.writes.take(charge, deadline)
      if (before) {
        const [expected, found] = [before, this.items.view(key)].map((view) => remainingOf(view, policies, now))
        const taken = Math.max(...expected!.map((left, i) => left - found![i]!)) - (allAllow(verdicts) ? cost : 0)
        size.othersTook(Math.max(0, taken), now - before.seenAt)
      }
      return verdicts
    })
  }
}

/**
 * Who has claimed a pool reads the own item, and writes down how many there should be, and whose units they hold.
 *
 * @param name of the pools of these policies.
 * @param evidence the pool as it was then, or that the own item had more writes than it takes.
 * @returns how many of them these policies draw from.
 */
export function* decidePools(
  items: KnownItems,
  { key, policies }: Subject,
  name: string,
  evidence: Pool | 'throttled',
): Plan<PoolCount> {
  const { item } = yield READ
  const now = items.now()
  const fields = poolFieldsIn(item)
  const names = poolNamesIn(item)
  const isNamed = names.includes(name)
  const changes = numberChanges(fields, evidence, policies, now)
  if (changes.length === 0 && isNamed) return poolsOf(item, policies, now)
  const guard = ['s', 'o'].map((field) => stillAt(field, numberOf(fields, field)))
  const others = isNamed || names.length < MOST_NAMES ? [] : names.map(remove)
  const write = when(guard, ...changes, ...others, replace(name, policies.map(asNumber)))
  yield writing(items.fit([{ prefix: POOL_PREFIX, write }], policies, item, now))
  return poolsOf(items.view(key)?.item, policies, now)
}

/** What changes of the number of pools: one of many may have few, so they are halved once none was needed lately. */
function numberChanges(
  fields: Fields | undefined,
  evidence: Pool | 'throttled',
  policies: readonly CompiledPolicy[],
  now: EpochMs,
): Assignment[] {
  const { count, stamp } = countOf(fields)
  const most = Math.max(count, mostPools(policies, now)) // others of the subject may have more
  const windowMs = countingMs(policies)
  const needed = set('o', now + 2 * windowMs)
  const next = Math.max(stamp + 1, now) // larger than before the item was deleted, too
  const become = (wanted: number) => [set('s', Math.min(most, wanted)), set('d', next), needed]
  if (evidence === 'throttled') return count === 1 && most > 1 ? become(FIRST_POOLS) : []
  if (!isCounted(evidence, stamp)) return []
  const perSecond = writesPerSecond(evidence, now)
  if (perSecond > MANY_PER_SECOND && count < most) return become(count * (perSecond > TOO_MANY_PER_SECOND ? 4 : 2))
  const [countedMs, saidMs] = [now - evidence.since, numberOf(fields, 'o') - now]
  const neededMs = saidMs > 2 * LONGEST_COUNTED_MS ? 0 : saidMs // by a clock that was wrong
  if (evidence.writes >= NEEDED_PER_WINDOW * Math.max(1, countedMs / windowMs))
    return neededMs <= windowMs && Math.random() < NOTED_BY / count ? [needed] : []
  const isOver = neededMs <= 0 && hasPace(evidence, stamp) && countedMs >= windowMs
  return isOver && count > 1 ? become(count / 2) : []
}

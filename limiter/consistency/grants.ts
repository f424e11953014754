import type { Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import type { Deadline } from '../deadline'
import type { Decider } from '../decider'
import { contention, StoreUnavailableError } from '../errors'
import { allAllow } from '../steps'
import { estimateCapacity, remainingOf } from './capacity'
import { type LeaseState, termsOf } from './lease'
import { pauseThrottled, throwIfThrottled } from './lease-pauses'
import { type Capacity, unitsAtTry } from './lease-size'
import {
  allowedBy,
  claim,
  decidePools,
  deniedBy,
  deposit,
  draw,
  isClaimed,
  mostPools,
  type Pool,
  poolKey,
  poolsOf,
} from './pools'
import type { WriteCoalescer } from './write-coalescer'

/** A deposit is this share of what is left of the limit, divided by the number of pools. */
const DEPOSITED = 3 / 4
/** It is no more than what is drawn in this time, in milliseconds; of a pool that is new, so many times a draw. */
const DEPOSITED_MS = 10_000
const FIRST_DEPOSIT = 64
/** Nor is it less than what is drawn in this time, in milliseconds: who draws would wait for the next one. */
const SOON_MS = 50
const TURN_MS = 250
/** Below this share of what it had after the last deposit, a pool gets the next. */
const LOW = 1 / 8
/** Writes that pools together may send to the own item of a limit whose units trickle back, in a millisecond. */
const DEPOSITS_PER_MS = 0.4
/** How often an instance looks whether a deposit was made, and how long it waits for one, in milliseconds. */
const LOOK_MS = 8
const ABANDONED_MS = 60

/** Units that are charged already, or why there are none. */
export interface Grant {
  readonly units: number
  readonly verdicts: Verdicts
  readonly takenAt: EpochMs
  readonly chargedAt: EpochMs
  readonly expiresAt: EpochMs
  /** Whether units of the own item that come back by themselves are asked for too soon. */
  readonly isScarce?: boolean
}

/** How many units to ask for, by what is known of the policies. */
type Wish = (available: Capacity, now: EpochMs) => { readonly units: number; readonly isScarce: boolean }

/** Where the units of leases come from: the subject's own item, or one of the pools that were filled from it. */
export class Grants {
  constructor(
    private readonly items: Decider,
    private readonly writes: WriteCoalescer,
  ) {}

  /**
   * @param least units of the request itself; more are leased as its instance will need them.
   * @returns `least` units or more, or none and a denial.
   */
  async take(
    state: LeaseState,
    policies: readonly CompiledPolicy[],
    least: number,
    deadline: Deadline,
  ): Promise<Grant> {
    try {
      if (state.pools === 1) return await this.fromItem(state, policies, least, leased(state, least), deadline)
    } catch (error) {
      if (!isHot(error) || mostPools(policies, this.items.now()) === 1) throw error
      await this.decidePools(state, policies, undefined, deadline)
      if (state.pools === 1) throw error
    }
    return this.fromPool(state, policies, least, deadline)
  }

  /** The denial of a request for which its pool had no units a moment ago. */
  cachedDenial(state: LeaseState, policies: readonly CompiledPolicy[], units: number): Verdicts | undefined {
    const { empty } = state
    const now = this.items.now()
    if (!empty || units < empty.units || now >= empty.until) return undefined
    return empty.until - now > this.items.options.denialTtlMs
      ? undefined
      : deniedBy(empty.pool, policies, now, empty.until)
  }

  /** The units of this instance's pool, for who only looks. */
  async pooled(state: LeaseState | undefined, policies: readonly CompiledPolicy[]): Promise<number> {
    if (!state || state.pools === 1) return 0
    const { pool } = await this.items.run(
      this.poolKey(state, policies),
      draw(this.items, { key: this.poolKey(state, policies), policies }, () => 0),
    )
    return this.items.now() < pool.endsAt ? Math.max(0, pool.left) : 0
  }

  private async fromItem(
    state: LeaseState,
    policies: readonly CompiledPolicy[],
    least: number,
    wishOf: Wish,
    deadline: Deadline,
  ): Promise<Grant> {
    const { key, size } = state
    for (let tries = 1; ; tries++) {
      const now = this.items.now()
      const available = estimateCapacity(this.items.view(key), policies, now, size.pauseMs(now))
      const { units: wish, isScarce } = wishOf(available, now)
      const units = unitsAtTry(tries, least, wish, available.left)
      const verdicts = await this.charged(state, policies, units, now, deadline)
      const isAllowed = allAllow(verdicts)
      if (!isAllowed && units > least) continue
      const view = this.items.view(key)
      state.pools = poolsOf(view?.item)
      const expiresAt = now + estimateCapacity(view, policies, now, 0).endsInMs
      return { units: isAllowed ? units : 0, verdicts, takenAt: now, chargedAt: now, expiresAt, isScarce }
    }
  }

  private async fromPool(
    state: LeaseState,
    policies: readonly CompiledPolicy[],
    least: number,
    deadline: Deadline,
  ): Promise<Grant> {
    for (;;) {
      const key = this.poolKey(state, policies)
      const { units, pool } = await this.drawn(state, policies, key, least, deadline)
      const now = this.items.now()
      if (pool.count > 0) state.pools = pool.count
      if (units > 0) {
        if (this.isLow(state, policies, pool, now))
          await this.filled(state, policies, key, 0, pool, deadline).catch(ignored)
        const { chargedAt, endsAt: expiresAt } = pool
        return { units, verdicts: allowedBy(pool, policies, now), takenAt: now, chargedAt, expiresAt }
      }
      const isAwaited = isClaimed(pool) && !isAbandoned(state, pool)
      state.empty = emptyFor(least, pool, isAwaited, now)
      const denial = this.cachedDenial(state, policies, least)
      if (denial) return { units: 0, verdicts: denial, takenAt: now, chargedAt: now, expiresAt: now }
      if (state.pools === 1) return this.fromItem(state, policies, least, leased(state, least), deadline)
      if (deadline.leftMs <= LOOK_MS) throw contention()
      if (isAwaited) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS * (0.5 + Math.random())))
        continue
      }
      const grant = await this.filled(state, policies, key, least, pool, deadline)
      if (grant) return grant
    }
  }

  private async drawn(
    state: LeaseState,
    policies: readonly CompiledPolicy[],
    key: string,
    least: number,
    deadline: Deadline,
  ): Promise<{ readonly units: number; readonly pool: Pool }> {
    const unitsOf = (pool: Pool) => {
      if (pool.left < least) return 0
      const now = this.items.now()
      const others = pool.writes > 0 ? Math.floor(pool.drawn / pool.writes) : 0
      const wish = Math.max(least + state.awaited, state.size.untilEnd(now, spentWithinMs(pool, now), others))
      return Math.min(pool.left, wish)
    }
    return this.guarded(
      state,
      () => this.items.run(key, draw(this.items, { key, policies }, unitsOf), deadline),
      () => this.decidePools(state, policies, undefined, deadline),
    )
  }

  /** Claims a pool, charges units to the own item and puts them into the pool, but for what this instance takes itself. */
  private async filled(
    state: LeaseState,
    policies: readonly CompiledPolicy[],
    key: string,
    least: number,
    seen: Pool,
    deadline: Deadline,
  ): Promise<Grant | undefined> {
    const subject = { key, policies }
    const claimed = await this.guarded(state, () => this.items.run(key, claim(this.items, subject, seen), deadline))
    if (!claimed) return undefined
    const count = await this.decidePools(state, policies, claimed, deadline)
    let isTrickling = false
    const own = (now: EpochMs, endsInMs: number) =>
      Math.max(least + state.awaited, state.size.untilEnd(now, endsInMs, 0))
    const wishOf: Wish = ({ left, endsInMs, refill }, now) => {
      isTrickling = refill > 0
      const perMs = claimed.drawn / Math.max(1000, now - claimed.since)
      const most = Math.max(perMs * DEPOSITED_MS, FIRST_DEPOSIT * own(now, endsInMs))
      const soonMs = isTrickling ? 2 * Math.max(SOON_MS, count / DEPOSITS_PER_MS) : SOON_MS
      const few = Math.min(left, perMs * Math.min(soonMs, endsInMs))
      const units = Math.floor(Math.max(few, Math.min((left * DEPOSITED) / count, most)))
      return { units: Math.max(least, units), isScarce: false }
    }
    const grant = await this.fromItem(state, policies, Math.max(1, least), wishOf, deadline)
    const now = this.items.now()
    const { units, chargedAt, expiresAt, verdicts } = grant
    const mine = least === 0 ? 0 : Math.min(units, own(now, expiresAt - now))
    const denied = Math.max(0, ...verdicts.map(({ retryAfterMs }) => retryAfterMs))
    const pauseMs = units === 0 ? Math.min(denied, this.items.options.denialTtlMs) : 0
    const spacingMs = isTrickling ? count / DEPOSITS_PER_MS : 0
    const waitMs = Math.max(pauseMs, spacingMs)
    const made = {
      units: units - mine,
      chargedAt,
      endsAt: expiresAt,
      count,
      verdicts,
      emptyUntil: waitMs > 0 ? Math.ceil(now + waitMs) : 0,
      refused: units === 0 ? Math.max(1, least) : 1,
    }
    await this.items.run(key, deposit(this.items, subject, claimed, made), deadline).catch(ignored)
    return { ...grant, units: mine }
  }

  /** Whether a pool is to be filled before it is empty: what it has left must be worth as much as what comes. */
  private isLow({ key }: LeaseState, policies: readonly CompiledPolicy[], pool: Pool, now: EpochMs): boolean {
    if (isClaimed(pool) || pool.left >= pool.level * LOW || now < pool.emptyUntil) return false
    return now + estimateCapacity(this.items.view(key), policies, now, 0).endsInMs === pool.endsAt
  }

  private poolKey({ key, pools, place }: LeaseState, policies: readonly CompiledPolicy[]): string {
    return poolKey(key, termsOf(policies), Math.floor(place * 2 ** 16) % pools)
  }

  private async decidePools(
    state: LeaseState,
    policies: readonly CompiledPolicy[],
    pool: Pool | undefined,
    deadline: Deadline,
  ): Promise<number> {
    const { key } = state
    state.pools = await this.items.run(key, decidePools(this.items, { key, policies }, pool), deadline)
    return state.pools
  }

  private async charged(
    state: LeaseState,
    policies: readonly CompiledPolicy[],
    units: number,
    now: EpochMs,
    deadline: Deadline,
  ): Promise<Verdicts> {
    const { key, size } = state
    const before = this.items.view(key)
    return this.guarded(state, async () => {
      const verdicts = await this.writes.take({ key, policies, cost: units, isPaced: true }, deadline)
      if (before) {
        const [expected, found] = [before, this.items.view(key)].map((view) => remainingOf(view, policies, now))
        const taken = Math.max(...expected!.map((left, i) => left - found![i]!)) - (allAllow(verdicts) ? units : 0)
        size.othersTook(Math.max(0, taken), now - before.seenAt)
      }
      return verdicts
    })
  }

  /** Makes a call, unless an item of the subject was throttled a moment ago. */
  private async guarded<T>(
    state: LeaseState,
    call: () => Promise<T>,
    onHot = async (): Promise<unknown> => undefined,
  ): Promise<T> {
    throwIfThrottled(state, this.items.now())
    try {
      return await call()
    } catch (error) {
      if (isHot(error)) {
        const now = this.items.now()
        state.size.onThrottled(now)
        pauseThrottled(state, error, now)
        await onHot().catch(ignored)
      }
      throw error
    }
  }
}

const leased =
  ({ size, awaited }: LeaseState, least: number): Wish =>
  (available, now) => {
    const { units, isScarce } = size.next(now, available)
    return { units: Math.max(least + awaited, units), isScarce }
  }

/** Units of the limit come back one by one, and so does its own item have some again. */
const trickles = ({ emptyUntil, endsAt }: Pool): boolean => emptyUntil > 0 && emptyUntil < endsAt

/** For how long an instance takes units: until they end, or where some come back, until others had their turn. */
const spentWithinMs = (pool: Pool, now: EpochMs): number =>
  Math.min(pool.endsAt - now, trickles(pool) ? Math.max(TURN_MS, (2 * pool.count) / DEPOSITS_PER_MS) : Infinity)

/** Whether the instance that has claimed a pool has not made its deposit for too long. */
function isAbandoned(state: LeaseState, { generation }: Pool): boolean {
  const now = performance.now()
  if (state.claim?.generation !== generation) state.claim = { generation, seenAt: now }
  return now - state.claim.seenAt >= ABANDONED_MS
}

/**
 * Until when an instance does not ask a pool again that has no units for it. Where units trickle back, the instances of
 * a pool take turns, so that one of them makes the next deposit and few wait for it.
 */
function emptyFor(units: number, pool: Pool, isAwaited: boolean, now: EpochMs): LeaseState['empty'] {
  const { emptyUntil, count, refused } = pool
  if (units < refused) return undefined
  const spreadMs = trickles(pool) ? (Math.random() * count) / DEPOSITS_PER_MS : 0
  return { units, until: (trickles(pool) && isAwaited ? Math.max(now, emptyUntil) : emptyUntil) + spreadMs, pool }
}

const isHot = (error: unknown): error is StoreUnavailableError =>
  error instanceof StoreUnavailableError && error.reason === 'hot-key'

/** What is not known to have happened is lost. @throws what is no failure of the store. */
function ignored(error: unknown): undefined {
  if (!(error instanceof StoreUnavailableError)) throw error
  return undefined
}

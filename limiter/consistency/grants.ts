import type { Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import type { Decider } from '../decider'
import { ignoreUnavailable, isHotKey } from '../errors'
import { contention } from '../items'
import type { Subject } from '../request'
import { estimateCapacity } from './capacity'
import { type LeaseState, learnCount, pauseLeftMs, throwIfThrottled, UNSEEN } from './lease'
import { type Ask, type Grant, OwnItem } from './own-item'
import { claim, deposit, depositOf, draw, drawMsOf, isAbandoned, isLow, isNew, poolKey, seePool } from './pool-plans'
import {
  allowedBy,
  deniedBy,
  FIRST_POOLS,
  hasEnough,
  isAmple,
  isClaimed,
  mostPools,
  type Pool,
  type PoolCount,
  pauseOfEmpty,
  poolKeyOf,
  spendableIn,
  standingOf,
  takesTurns,
  turnMs,
} from './pools'
import type { WriteCoalescer } from './write-coalescer'

/** Writes that have failed, at most, that an instance adds to those that its pool counts. */
const MOST_FAILED = 8
/** After how long an instance looks whether a deposit was made, in milliseconds; then each time twice as long after. */
const LOOK_MS = 8

/** Where the units of leases come from: the subject's own item, or one of the pools that were filled from it. */
export class Grants {
  private readonly own: OwnItem

  constructor(
    private readonly items: Decider,
    writes: WriteCoalescer,
  ) {
    this.own = new OwnItem(items, writes)
  }

  /**
   * The units of the request at least, and as many more as its instance will need; or none and a denial.
   *
   * Where the own item takes no more writes, its units are in pools, or should be. Who fills a pool reads in the own
   * item how many there are, and the others learn it from pools: if thousands asked the own item, deposits would fail.
   */
  async take(ask: Ask): Promise<Grant> {
    const { state, policies } = ask
    const most = mostPools(policies, this.items.now())
    if (most > 1 && isNew(state, policies, this.items.now())) state.pools = await this.firstSeen(ask)
    if (state.pools.count > 1) return this.fromPool(ask)
    return this.fromItem(ask).catch((error) => {
      if (!isHotKey(error) || most === 1) throw error
      state.pools = { count: Math.min(FIRST_POOLS, most), stamp: UNSEEN }
      state.throttled.own = undefined // for a deposit, the item is asked at once
      return this.fromPool(ask)
    })
  }

  /** The denial of a request that comes while its instance leaves the pool alone. */
  cachedDenial(state: LeaseState, policies: readonly CompiledPolicy[], units: number): Verdicts | undefined {
    const { pause } = state
    const now = this.items.now()
    if (!pause || units < pause.units) return undefined
    const leftMs = pause.until - now
    if (leftMs <= 0 || leftMs > this.items.options.denialTtlMs) return undefined
    return deniedBy(pause.pool, policies, now, pause.until)
  }

  /** The denial of a request that would ask the own item too soon. */
  paused(state: LeaseState | undefined, subject: Subject): Verdicts | undefined {
    const waitMs = pauseLeftMs(state, this.items.now())
    if (waitMs === 0) return undefined
    return this.items.standing(subject)?.map((verdict) => ({ ...verdict, allowed: false, retryAfterMs: waitMs }))
  }

  /** What the pool has from which this instance draws. */
  async pooled(state: LeaseState): Promise<number> {
    const key = poolKey(state)!
    return spendableIn(await this.items.run(key, seePool(this.items, key)), this.items.now())
  }

  /** What an instance that is new to the subject sees in one of its first pools. */
  private async firstSeen({ state, deadline }: Ask): Promise<PoolCount> {
    const key = poolKeyOf(state.key, state.poolName, state.place % FIRST_POOLS)
    const pool = await this.toPool(state, () => this.items.run(key, seePool(this.items, key), deadline))
    const [count, stamp] = isClaimed(pool) ? [FIRST_POOLS, UNSEEN] : [1, 0] // some are about to be filled
    return pool.since > 0 ? pool.pools : { count, stamp }
  }

  private async fromItem(ask: Ask): Promise<Grant> {
    const { state, policies, least } = ask
    let isScarce = false
    const grant = await this.own.charge(ask, state.size.pauseMs(this.items.now()), (available, now) => {
      const size = state.size.next(now, available)
      isScarce = size.isScarce
      return Math.max(least + state.awaited, size.units)
    })
    if (grant.units === 0 || isScarce) this.pause(state, policies, grant.takenAt)
    return grant
  }

  /** Where units trickle back to a limit that is used up, an instance waits until there are some for it, too. */
  private pause(state: LeaseState, policies: readonly CompiledPolicy[], now: EpochMs): void {
    const view = this.items.view(state.key)
    const { left, refill, refillMs } = estimateCapacity(view, policies, now, state.size.pauseMs(now))
    if (refill > left) state.pausedUntil = now + refillMs
  }

  private async fromPool(ask: Ask): Promise<Grant> {
    const { state, policies, least, deadline } = ask
    for (let usualMs = LOOK_MS; ; usualMs = 2 * LOOK_MS) {
      const key = poolKey(state)
      if (key === undefined) return this.fromItem(ask)
      const { units, pool } = await this.drawn(key, ask)
      const now = this.items.now()
      learnCount(state, pool, units > 0)
      if (units > 0) {
        if (poolKey(state) === key && isLow(this.items, state, policies, pool))
          await this.fill(key, { ...ask, least: 0 }, pool).catch(ignoreUnavailable)
        const { chargedAt, endsAt: expiresAt } = pool
        return { units, verdicts: allowedBy(pool, policies, now), takenAt: now, chargedAt, expiresAt }
      }
      const isAwaited = isClaimed(pool) && !isAbandoned(state, pool)
      if (poolKey(state) !== key) continue
      throwIfThrottled(state.throttled.own, now)
      throwIfThrottled({ until: pool.throttledUntil }, now)
      state.pause = pauseOfEmpty(least, pool, now)
      const denial = this.cachedDenial(state, policies, least)
      if (denial) return { units: 0, verdicts: denial, takenAt: now, chargedAt: now, expiresAt: now }
      const lookMs = usualMs * (0.5 + Math.random())
      if (deadline.leftMs <= lookMs) throw contention()
      if (isAwaited) await new Promise((resolve) => setTimeout(resolve, lookMs))
      const grant = isAwaited ? undefined : await this.fill(key, ask, pool)
      if (grant) return grant
    }
  }

  private async drawn(key: string, ask: Ask): Promise<{ readonly units: number; readonly pool: Pool }> {
    const { state, policies, least, deadline } = ask
    const unitsOf = (pool: Pool) => {
      if (pool.left < least) return 0
      const now = this.items.now()
      const forMs = Math.min(pool.endsAt - now, pool.drawMs || Infinity)
      const usual = pool.writes > 0 ? Math.floor(pool.drawn / pool.writes) : 0
      const wish = state.size.untilEnd(now, forMs, hasEnough(pool, now), usual)
      return Math.min(pool.left, Math.max(least + state.awaited, wish))
    }
    const writes = 1 + Math.min(state.failedWrites, MOST_FAILED)
    const drawing = () => this.items.run(key, draw(this.items, { key, policies }, unitsOf, writes), deadline)
    const found = await this.toPool(state, drawing)
    if (found.units > 0) state.failedWrites = 0
    return found
  }

  /**
   * Claims a pool, charges units to the own item, and puts them into the pool but for what the request and its instance
   * take themselves. Where anything fails in between, units are lost until their window ends.
   *
   * @returns what is left for the request; `undefined` where another instance was faster.
   */
  private async fill(key: string, ask: Ask, seen: Pool): Promise<Grant | undefined> {
    const { state, policies, least, deadline } = ask
    const pool = { key, policies }
    const claimed = await this.toPool(state, () => this.items.run(key, claim(this.items, pool, seen), deadline))
    if (!claimed) {
      state.failedWrites++
      return undefined
    }
    const onError = async (error: unknown): Promise<never> => {
      const until = Math.min(state.throttled.own?.until ?? 0, this.items.now() + turnMs(state.pools.count))
      if (isHotKey(error)) await this.giveUp(key, ask, claimed, Math.ceil(until)).catch(ignoreUnavailable)
      throw error
    }
    const pools = await this.own.decidePools(ask, claimed).catch(onError)
    if (poolKey(state) !== key) {
      await this.giveUp(key, ask, claimed)
      return undefined
    }
    let [ample, drawMs] = [false, 0]
    const ownUnits = (now: EpochMs, forMs: number) =>
      Math.max(least + state.awaited, state.size.untilEnd(now, Math.min(forMs, drawMs || Infinity), ample, 0))
    const wanted = Math.max(1, least)
    const grant = await this.own
      .charge({ ...ask, least: wanted }, turnMs(pools.count), (available, now) => {
        drawMs = drawMsOf(available, pools.count)
        ample = isAmple(claimed, available, pools, now)
        const demand = { pools, own: ownUnits(now, available.endsInMs), isEnough: ample, drawMs }
        return depositOf(claimed, available, demand, now)
      })
      .catch(onError)
    const now = this.items.now()
    const { units, chargedAt, expiresAt, verdicts } = grant
    const taken = least === 0 ? 0 : Math.min(units, ownUnits(now, expiresAt - now))
    const deniedMs = units > 0 ? 0 : Math.max(...verdicts.map(({ retryAfterMs }) => retryAfterMs))
    const waitMs = Math.max(
      Math.min(deniedMs, this.items.options.denialTtlMs),
      takesTurns({ drawMs }) ? turnMs(pools.count) : 0,
    )
    const made = {
      units: units - taken,
      chargedAt,
      // pools to which units come back do not end at the same time
      endsAt: drawMs > 0 ? Math.floor(expiresAt - (Math.random() * (expiresAt - chargedAt)) / 4) : expiresAt,
      drawMs,
      pools,
      standing: standingOf(verdicts, now),
      emptyUntil: waitMs > 0 ? Math.ceil(now + waitMs) : 0,
      refused: units > 0 ? 1 : wanted,
      throttledUntil: 0,
    }
    await this.items.run(key, deposit(this.items, pool, claimed, made), deadline).catch(ignoreUnavailable)
    return { ...grant, units: taken }
  }

  /**
   * Gives a claim up without a deposit. Where that is since the own item was throttled, all who draw from the pool are
   * told, and do not wait for one.
   */
  private async giveUp(key: string, ask: Ask, claimed: Pool, throttledUntil = claimed.throttledUntil): Promise<void> {
    const { state, policies, deadline } = ask
    const made = { ...claimed, pools: state.pools, units: 0, throttledUntil }
    await this.items.run(key, deposit(this.items, { key, policies }, claimed, made), deadline)
  }

  /** Makes a call to a pool, and counts those that were throttled. */
  private toPool<T>(state: LeaseState, call: () => Promise<T>): Promise<T> {
    return this.own.unlessThrottled(state, 'pools', call).catch((error) => {
      if (isHotKey(error)) state.failedWrites++
      throw error
    })
  }
}

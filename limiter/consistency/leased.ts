import { isCharged, type Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import { type CompiledPolicy, idOf } from '../compiled-policy'
import type { Deadline } from '../deadline'
import type { Decider } from '../decider'
import { contention } from '../items'
import type { OnEvent } from '../options'
import type { Charge, ChargeTime, Subject } from '../request'
import { allAllow } from '../steps'
import { prefixOf } from '../stores/attribute-prefix'
import { beside, estimateCapacity, mostUnits } from './capacity'
import { Grants } from './grants'
import { isSpendable, type Lease, type LeaseState, UNSEEN, withMore } from './lease'
import { LeaseSize } from './lease-size'
import { type PoolsSeen, poolsSeen } from './pool-plans'
import { countOf, MAX_POOLS, poolFieldsIn } from './pools'
import type { Strategy } from './strategy'
import type { WriteCoalescer } from './write-coalescer'

/** Fewer units are not worth the calls that it takes to give them back. */
const WORTH_GIVING_BACK = 4

/**
 * Charges units ahead of use, many in one conditional write, and spends them from memory: for limits that many callers
 * share, whose item could not take a write for each request.
 *
 * Units are charged before they are used, and those not spent in time are forfeited. So the bound is the limit and,
 * within a window, what was leased before it and not yet spent; on a grid of windows that do not slide that is nothing,
 * but for what clocks differ. What an instance may lose is bounded by what it spent lately (`LeaseSize`).
 */
export class Leased implements Strategy {
  /** Units that are on their way back to the store. */
  private readonly returning = new Set<Promise<void>>()
  private readonly grants: Grants

  constructor(
    private readonly items: Decider,
    private readonly writes: WriteCoalescer,
    private readonly onEvent: OnEvent,
  ) {
    this.grants = new Grants(items, writes)
  }

  cachedDenial(charge: Charge): Verdicts | undefined {
    const short = charge.cost - this.leftOf(charge)
    if (short <= 0) return undefined
    const state = this.stateIn(charge)
    if (state && state.pools.count > 1) return this.grants.cachedDenial(state, charge.policies, short)
    return this.items.cachedDenial({ ...charge, cost: short, isPaced: true }) ?? this.grants.paused(state, charge)
  }

  /** Whether units of a subject are in pools, by what its item said last, and whether those are busy. */
  poolsFor(subject: Subject): PoolsSeen {
    const areThere = countOf(poolFieldsIn(this.items.view(subject.key)?.item)).count > 1
    return areThere ? poolsSeen(this.items, this.stateOf(subject), subject.policies) : 'none'
  }

  async take(charge: Charge): Promise<Verdicts> {
    const { cost } = charge
    const state = this.stateOf(charge)
    let deadline: Deadline | undefined
    for (;;) {
      // While a lease is on its way, what is left of the last one belongs to the request that asks for it.
      const answer = (state.granting ? undefined : this.spend(state, cost)) ?? this.cachedDenial(charge)
      if (answer) return answer
      if (cost > mostUnits(charge.policies, this.items.now())) return this.writes.take(charge) // no lease is so large
      deadline ??= this.items.deadline()
      // who has waited for so long would begin a grant that it cannot end
      if (deadline.leftMs < this.items.options.deadlineMs / 2) throw contention()
      if (!state.granting) break
      state.awaited += cost
      await state.granting.catch(() => {}) // the request that began it fails; the others try again
      state.awaited -= cost
    }
    state.granting = this.grant(state, charge, deadline)
    try {
      return await state.granting
    } finally {
      state.granting = undefined
    }
  }

  async peek(charge: Charge): Promise<Verdicts> {
    const { cost } = charge
    const state = this.stateIn(charge)
    const pooled = state && state.pools.count > 1 ? await this.grants.pooled(state) : 0
    const left = this.leftOf(charge)
    const short = Math.max(0, cost - left)
    const verdicts = await this.items.peek({ ...charge, cost: short <= pooled ? 0 : short })
    return this.withHeld(verdicts, charge, Math.max(0, left - cost))
  }

  /**
   * Units of the lease at hand go back to the memory that they came from, no more than were spent of it; older ones may
   * belong to a window that is over, and go to the store.
   */
  async giveBack(charge: Charge, charged: ChargeTime): Promise<void> {
    const { cost: units } = charge
    const state = this.stateIn(charge)
    const lease = state?.granting ? undefined : state?.lease // one that is on its way replaces it
    const isOfLease = isSpendable(lease, this.items.now()) && charged.at >= lease.chargedAt
    const here = isOfLease ? Math.min(units, lease.units - lease.left) : 0
    if (here > 0) lease!.left += here
    if (here < units) await this.items.refund({ ...charge, cost: units - here }, charged)
  }

  standing(subject: Subject): Verdicts | undefined {
    const verdicts = this.items.standing(subject)
    return verdicts && this.withHeld(verdicts, subject, this.leftOf(subject))
  }

  /** Gives back what is not spent, as far as the store can be asked: for a program that stops. */
  async close(): Promise<void> {
    const states: LeaseState[] = []
    for (const [, record] of this.items.subjects) {
      states.push(...(record.leases?.values() ?? []))
      delete record.leases
    }
    const returned = states.map(async (state) => {
      while (state.granting) await state.granting.catch(() => {}) // the next is for requests that waited for it
      const { lease } = state
      if (isSpendable(lease, this.items.now()) && lease.left > 0) await this.returned(state, lease, lease.left)
    })
    await Promise.allSettled([...returned, ...this.returning])
  }

  private withHeld(verdicts: Verdicts, { policies }: Subject, units: number): Verdicts {
    return withMore(beside(verdicts, policies, units, this.items.now()), units, 0)
  }

  private leftOf(subject: Subject): number {
    return leftAt(this.stateIn(subject), this.items.now())
  }

  private stateIn({ key, policies }: Subject): LeaseState | undefined {
    return this.items.subjects.get(key)?.leases?.get(termsOf(policies))
  }

  private stateOf({ key, policies }: Subject): LeaseState {
    const record = this.items.subjects.of(key)
    record.leases ??= new Map()
    const terms = termsOf(policies)
    const state = record.leases.get(terms) ?? newState(key, policies, terms)
    record.leases.set(terms, state)
    return state
  }

  /** Takes a lease, of which this request's cost is spent at once. */
  private async grant(state: LeaseState, charge: Charge, deadline: Deadline): Promise<Verdicts> {
    const { size } = state
    const { policies, cost } = charge
    const now = this.items.now()
    const least = cost - leftAt(state, now)
    const grant = await this.grants.take({ state, policies, least, deadline }).catch((error) => {
      size.spent(cost, now) // a rate that is not learnt from requests without a lease would never get one
      throw error
    })
    const { units, takenAt, chargedAt, expiresAt } = grant
    if (!allAllow(grant.verdicts)) return grant.verdicts
    const verdicts = beside(grant.verdicts, policies, units, takenAt)
    if (units > least) this.onEvent({ kind: 'lease', units })
    // requests that pass uncharged go one by one
    const isLeased = verdicts.some(isCharged) && !state.forgotten
    const held = leftAt(state, takenAt)
    const left = isLeased ? held + units : cost
    const since = held > 0 ? state.lease!.chargedAt : Infinity
    state.lease = { left, units, takenAt, chargedAt, usedAt: takenAt, expiresAt, policies, verdicts }
    if (left < cost) return this.grant(state, charge, deadline) // what was held before could be spent no longer
    state.lease.left -= cost
    size.spent(cost, takenAt)
    return chargedFrom(since, withMore(verdicts, leftAt(state, this.items.now()), 0))
  }

  private spend(state: LeaseState, cost: number): Verdicts | undefined {
    const { lease, size } = state
    const now = this.items.now()
    if (!isSpendable(lease, now)) return undefined
    const wasIdle = now - lease.usedAt > size.spanMs
    if (wasIdle && state.pools.count === 1) this.giveBackSurplus(state, lease, cost, now)
    if (lease.left < cost) return undefined
    lease.left -= cost
    lease.usedAt = now
    size.spent(cost, now)
    return withMore(lease.verdicts, lease.left, now - lease.takenAt)
  }

  /**
   * What an instance that was idle, or frozen, would not lease now is for the others. Not where there are pools: those
   * of thousands that go on would leave the own item no deposit.
   */
  private giveBackSurplus(state: LeaseState, lease: Lease, cost: number, now: EpochMs): void {
    const { size, key } = state
    const available = estimateCapacity(this.items.view(key), lease.policies, now, size.pauseMs(now))
    const surplus = lease.left - Math.max(cost, size.next(now, available).units)
    if (surplus < WORTH_GIVING_BACK) return
    const work = this.returned(state, lease, surplus)
      .catch(() => {}) // they stay charged
      .finally(() => this.returning.delete(work))
    this.returning.add(work)
  }

  /** Gives units of a lease back to the store: they leave memory first, so they are never both spent and given back. */
  private async returned({ key }: LeaseState, lease: Lease, units: number): Promise<void> {
    lease.left -= units // also for a lease that is on its way and counts on it
    lease.units -= units
    const policies = lease.policies.filter((_, i) => isCharged(lease.verdicts[i]!))
    await this.items.refund({ key, policies, cost: units }, { at: lease.chargedAt })
  }
}

/** All that is spent of two leases is given back as of the first. */
const chargedFrom = (since: EpochMs, verdicts: Verdicts): Verdicts =>
  verdicts.map((verdict) => ((verdict.chargedAt ?? 0) > since ? { ...verdict, chargedAt: since } : verdict))

const leftAt = (state: LeaseState | undefined, now: EpochMs): number =>
  isSpendable(state?.lease, now) ? state!.lease!.left : 0

const newState = (key: string, policies: readonly CompiledPolicy[], terms: string): LeaseState => ({
  key,
  poolName: prefixOf('pool', terms),
  size: new LeaseSize(Math.min(...policies.map(({ windowMs }) => windowMs))),
  pools: { count: 1, stamp: UNSEEN },
  throttled: {},
  failedWrites: 0,
  place: Math.floor(MAX_POOLS * Math.random()),
  awaited: 0,
})

const terms = new WeakMap<readonly CompiledPolicy[], string>()

/**
 * Units that were leased under one limit are not spent under another, such as a lower one of now; and a policy that
 * observes waits for nothing that others wait for.
 */
function termsOf(policies: readonly CompiledPolicy[]): string {
  const found =
    terms.get(policies) ??
    `${idOf(policies)} ${JSON.stringify(policies.map(({ quota, nonBlocking }) => [quota, nonBlocking]))}`
  terms.set(policies, found)
  return found
}

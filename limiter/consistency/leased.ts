import type { EpochMs } from '../clock'
import { type CompiledPolicy, idOf } from '../compiled-policy'
import type { Deadline } from '../deadline'
import { StoreUnavailableError } from '../errors'
import type { OnEvent } from '../events'
import { allAllow, isCharged, type Verdicts } from '../plan'
import type { TakeLoop } from '../take-loop'
import type { SharedWrites } from '../write-coalescer'
import { leftsOf, outlookOf } from './capacity'
import { LeaseSize } from './lease-size'
import type { Charged, Way } from './strategy'

/** Units that are charged already, and how the policies stood just after. */
interface Lease {
  left: number
  /** Units charged, but for those that were given back. */
  units: number
  readonly takenAt: EpochMs
  usedAt: EpochMs
  readonly until: EpochMs
  readonly policies: readonly CompiledPolicy[]
  readonly verdicts: Verdicts
}

interface Account {
  readonly key: string
  readonly size: LeaseSize
  lease?: Lease
  granting?: Promise<Verdicts>
  /** Units of the requests that wait for the lease that is on its way. */
  awaited: number
  /** The subject was reset while a lease was on its way: what that has beyond its request is not spent. */
  forgotten?: boolean
  /** Units trickle back to the limit, and are asked for again then. */
  pausedUntil?: EpochMs
  /** Why nothing can be taken until then: the item gets more writes than the store takes. */
  throttled?: { readonly error: StoreUnavailableError; readonly until: EpochMs }
}

/**
 * A lease that does not fit is tried once more in the size that the fuller view suggests, of what is left at most so
 * much, and then the request alone.
 */
const SHARE_OF_LEFT = 1 / 8

/** Fewer units are not worth the calls that it takes to give them back. */
const WORTH_GIVING_BACK = 4

/** No pause is longer, in milliseconds: a later end was set before the clock was. */
const LONGEST_PAUSE_MS = 2000

/** Between two tries of an item that is throttled, on the average: each request's own try would keep it so. */
const PAUSE_MS = 50

/**
 * Takes units ahead, many in one conditional write, and spends them from memory: for limits that many callers share,
 * whose item could not take a write for each request.
 *
 * Units are charged before they are used, and those not spent in time are forfeited. So the bound is the limit and,
 * within a window, what was taken before it and not yet spent; on a grid of windows that do not slide that is nothing,
 * but for what clocks differ. What an instance may lose is bounded by what it spent lately (`LeaseSize`).
 */
export class Leases implements Way {
  /** The subject used longest ago first. */
  private readonly accounts = new Map<string, Account>()
  /** Units that are on their way back to the store. */
  private readonly returning = new Set<Promise<void>>()

  constructor(
    private readonly loop: TakeLoop,
    private readonly writes: SharedWrites,
    private readonly onEvent: OnEvent,
    private readonly maxSubjects: number,
  ) {}

  foreseen(key: string, policies: readonly CompiledPolicy[], cost: number): Verdicts | undefined {
    const short = cost - this.leftOf(key, policies)
    return short > 0 ? (this.loop.foreseen(key, policies, short) ?? this.paused(key, policies)) : undefined
  }

  async take(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const account = this.accountOf(key, policies)
    for (;;) {
      // While a batch is on its way, what is left of the last one is spoken for by whoever asks for it.
      const spent = account.granting ? undefined : this.spend(account, cost)
      const answer = spent ?? this.foreseen(key, policies, cost)
      if (answer) return answer
      if (!account.granting) break
      account.awaited += cost
      await account.granting.catch(() => {}) // whoever began it is told; the others may have more luck
      account.awaited -= cost
    }
    account.granting = this.grant(account, key, policies, cost)
    try {
      return await account.granting
    } finally {
      account.granting = undefined
    }
  }

  async look(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const left = this.leftOf(key, policies)
    const verdicts = await this.loop.look(key, policies, Math.max(0, cost - left))
    return withMore(verdicts, Math.max(0, left - cost), 0)
  }

  /**
   * Units of the lease at hand go back to the memory that they came from, where the next request finds them, and no
   * more than were spent of it; older ones may belong to a window that is over, and go to the store.
   */
  async giveBack(key: string, policies: readonly CompiledPolicy[], units: number, charged: Charged): Promise<void> {
    const account = this.accounts.get(accountId(key, policies))
    const lease = account?.granting ? undefined : account?.lease // one that is on its way replaces it
    const here =
      isGood(lease, this.loop.now()) && charged.at >= lease.takenAt ? Math.min(units, lease.units - lease.left) : 0
    if (here > 0) lease!.left += here
    if (here < units) await this.loop.refund(key, policies, units - here, charged)
  }

  standing(key: string, policies: readonly CompiledPolicy[]): Verdicts | undefined {
    const verdicts = this.loop.standing(key, policies)
    return verdicts && withMore(verdicts, this.leftOf(key, policies), 0)
  }

  forget(key: string): void {
    for (const [id, account] of this.accounts) {
      if (account.key !== key) continue
      if (account.lease) account.lease.left = 0 // also for a lease that is on its way and counts on it
      account.forgotten = true
      this.accounts.delete(id)
    }
  }

  /** Gives back what is not spent, as far as the store can be asked: for a program that stops. */
  async close(): Promise<void> {
    const accounts = [...this.accounts.values()]
    this.accounts.clear()
    const returned = accounts.map(async (account) => {
      await account.granting?.catch(() => {})
      const { lease } = account
      if (isGood(lease, this.loop.now()) && lease.left > 0) await this.returned(account, lease, lease.left)
    })
    await Promise.allSettled([...returned, ...this.returning])
  }

  private leftOf(key: string, policies: readonly CompiledPolicy[]): number {
    const lease = this.accounts.get(accountId(key, policies))?.lease
    return isGood(lease, this.loop.now()) ? lease.left : 0
  }

  private accountOf(key: string, policies: readonly CompiledPolicy[]): Account {
    const id = accountId(key, policies)
    const account = this.accounts.get(id) ?? {
      key,
      size: new LeaseSize(Math.min(...policies.map(({ windowMs }) => windowMs))),
      awaited: 0,
    }
    this.accounts.delete(id)
    this.accounts.set(id, account)
    if (this.accounts.size > this.maxSubjects) this.accounts.delete(this.accounts.keys().next().value!)
    return account
  }

  /** Takes a lease, of which this request's cost is spent at once. */
  private async grant(
    account: Account,
    key: string,
    policies: readonly CompiledPolicy[],
    cost: number,
  ): Promise<Verdicts> {
    const { size } = account
    const kept = isGood(account.lease, this.loop.now()) ? account.lease : undefined
    const least = cost - (kept?.left ?? 0)
    const deadline = this.loop.deadline()

    for (let tries = 1; ; tries++) {
      const now = this.loop.now()
      const outlook = outlookOf(this.loop.view(key), policies, now, size.pauseMs(now))
      const { units: more, isScarce } = size.next(now, outlook)
      const wish = Math.max(least + account.awaited, more)
      const most = [wish, Math.min(wish, Math.floor(outlook.left * SHARE_OF_LEFT))][tries - 1] ?? least
      const units = Math.max(least, most)
      const verdicts = await this.charged(account, policies, units, now, deadline).catch((error) => {
        size.spent(cost, now) // a pace that is not learnt from requests without a lease would never get one
        throw error
      })
      if (!allAllow(verdicts)) {
        if (units > least) continue
        this.pause(account, policies, now)
        return verdicts
      }
      if (isScarce) this.pause(account, policies, now)
      size.spent(cost, now)
      // what was held before is spent on this request
      const until = now + outlookOf(this.loop.view(key), policies, now, 0).endsInMs
      // what is let through uncharged goes one by one
      const surplus = verdicts.some(isCharged) && !account.forgotten ? units - least : 0
      account.lease = { left: surplus, units, takenAt: now, usedAt: now, until, policies, verdicts }
      if (units > least) this.onEvent({ kind: 'lease', units })
      return withMore(verdicts, surplus, 0)
    }
  }

  private spend(account: Account, cost: number): Verdicts | undefined {
    const { lease, size } = account
    const now = this.loop.now()
    if (!isGood(lease, now)) return undefined
    if (now - lease.usedAt > size.spanMs) this.giveBackSurplus(account, lease, cost, now)
    if (lease.left < cost) return undefined
    lease.left -= cost
    lease.usedAt = now
    size.spent(cost, now)
    return withMore(lease.verdicts, lease.left, now - lease.takenAt)
  }

  /**
   * An instance that was idle, or frozen, holds units for a pace that is over: what it would not lease now is for the
   * others.
   */
  private giveBackSurplus(account: Account, lease: Lease, cost: number, now: EpochMs): void {
    const { size, key } = account
    const { units } = size.next(now, outlookOf(this.loop.view(key), lease.policies, now, size.pauseMs(now)))
    const surplus = lease.left - Math.max(cost, units)
    if (surplus < WORTH_GIVING_BACK) return
    const work = this.returned(account, lease, surplus)
      .catch(() => {}) // they stay charged
      .finally(() => this.returning.delete(work))
    this.returning.add(work)
  }

  /** Gives units of a lease back to the store: they leave memory first, so they are never both spent and given back. */
  private async returned({ key }: Account, lease: Lease, units: number): Promise<void> {
    lease.left -= units // also for a lease that is on its way and counts on it
    lease.units -= units
    const charged = lease.policies.filter((_, i) => isCharged(lease.verdicts[i]!))
    await this.loop.refund(key, charged, units, { at: lease.takenAt })
  }

  /** Where units trickle back to a limit that is used up, an instance waits until there are some for it, too. */
  private pause(account: Account, policies: readonly CompiledPolicy[], now: EpochMs): void {
    const { left, refill, refillMs } = outlookOf(this.loop.view(account.key), policies, now, account.size.pauseMs(now))
    if (refill > left) account.pausedUntil = now + refillMs
  }

  /** The denial of a request that would ask for units too soon. */
  private paused(key: string, policies: readonly CompiledPolicy[]): Verdicts | undefined {
    const { pausedUntil = 0 } = this.accounts.get(accountId(key, policies)) ?? {}
    const waitMs = pausedUntil - this.loop.now()
    if (waitMs <= 0 || waitMs > LONGEST_PAUSE_MS) return undefined
    return this.loop.standing(key, policies)?.map((verdict) => ({ ...verdict, allowed: false, retryAfterMs: waitMs }))
  }

  private async charged(
    account: Account,
    policies: readonly CompiledPolicy[],
    units: number,
    now: EpochMs,
    deadline: Deadline,
  ): Promise<Verdicts> {
    const { key, throttled } = account
    if (throttled && now < throttled.until && throttled.until - now <= 2 * PAUSE_MS) throw throttled.error
    const before = this.loop.view(key)
    try {
      const verdicts = await this.writes.take(key, policies, units, deadline)
      if (before) {
        const [foretold, found] = [leftsOf(before, policies, now), leftsOf(this.loop.view(key), policies, now)]
        const taken = Math.max(...foretold.map((left, i) => left - found[i]!)) - (allAllow(verdicts) ? units : 0)
        account.size.othersTook(Math.max(0, taken), now - before.seenAt)
      }
      return verdicts
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.reason === 'hot-key') {
        account.size.throttled(now)
        account.throttled = { error, until: now + PAUSE_MS * (0.5 + Math.random()) }
      }
      throw error
    }
  }
}

const termsOf = new WeakMap<readonly CompiledPolicy[], string>()

/**
 * Units that were taken under one limit are not spent under another, such as a lower one of now; and what observes
 * waits for nothing that others wait for.
 */
function accountId(key: string, policies: readonly CompiledPolicy[]): string {
  const terms =
    termsOf.get(policies) ??
    `${idOf(policies)} ${JSON.stringify(policies.map(({ quota, lenient }) => [quota, lenient]))}`
  termsOf.set(policies, terms)
  return `${key} ${terms}`
}

/** A clock that was set back makes no lease last longer. */
const isGood = (lease: Lease | undefined, now: EpochMs): lease is Lease =>
  lease !== undefined && now >= lease.takenAt && now < lease.until

/** Verdicts of a while ago, with units that are held on top. */
const withMore = (verdicts: Verdicts, units: number, elapsedMs: number): Verdicts =>
  verdicts.map((verdict) => ({
    ...verdict,
    // a batch that overran a limit leaves nothing of the limit
    remaining: verdict.exceeded ? verdict.remaining : verdict.remaining + units,
    resetAfterMs: Math.max(0, verdict.resetAfterMs - elapsedMs),
  }))

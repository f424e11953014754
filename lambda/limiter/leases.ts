import type { EpochMs } from '../clock'
import { StoreUnavailableError } from '../errors'
import { BatchSize } from './batch-size'
import { type CompiledPolicy, fieldsOf, idOf } from './compiled-policy'
import type { Deadline } from './deadline'
import type { OnEvent } from './events'
import { allAllow, isCharged, type Verdicts } from './plan'
import type { SharedWrites } from './shared-writes'
import type { TakeLoop } from './take-loop'
import type { Way } from './way'

/** Units that are charged already, and how the policies stood just after. */
interface Lease {
  left: number
  readonly units: number
  readonly takenAt: EpochMs
  /** When the last of them was spent. */
  drainedAt?: EpochMs
  readonly until: EpochMs
  readonly policies: readonly CompiledPolicy[]
  readonly verdicts: Verdicts
}

interface Account {
  readonly key: string
  readonly batch: BatchSize
  lease?: Lease
  /** The lease from whose pace the size of the next has been learnt. */
  learnt?: Lease
  granting?: Promise<Verdicts>
  /** Why nothing can be taken until then: the item gets more writes than the store takes. */
  throttled?: { readonly error: StoreUnavailableError; readonly until: EpochMs }
}

/** A batch that does not fit is tried once more in the size that the fuller view suggests, and then the request alone. */
const TRIES = 3

/** Between two tries of an item that is throttled, on the average: each request's own try would keep it so. */
const PAUSE_MS = 50

/**
 * Takes units ahead, many in one conditional write, and spends them from memory: for limits that many callers share, whose item could not take a write for
 * each request.
 *
 * Units are charged before they are used, and those not spent in time are forfeited. So the bound is the limit and, within a window, what was taken before it
 * and not yet spent; on a grid of windows that is nothing, but for what clocks differ.
 */
export class Leases implements Way {
  /** The subject used longest ago first. */
  private readonly accounts = new Map<string, Account>()

  constructor(
    private readonly loop: TakeLoop,
    private readonly writes: SharedWrites,
    private readonly onEvent: OnEvent,
    private readonly maxSubjects: number,
  ) {}

  foreseen(key: string, policies: readonly CompiledPolicy[], cost: number): Verdicts | undefined {
    const short = cost - this.leftOf(key, policies)
    return short > 0 ? this.loop.foreseen(key, policies, short) : undefined
  }

  async take(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const account = this.accountOf(key, policies)
    for (;;) {
      // While a batch is on its way, what is left of the last one is spoken for by whoever asks for it.
      const spent = account.granting ? undefined : spend(account.lease, cost, this.loop.now())
      const answer = spent ?? this.foreseen(key, policies, cost)
      if (answer) return answer
      if (!account.granting) break
      await account.granting.catch(() => {}) // whoever began it is told; the others may have more luck
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

  /** A unit of the lease at hand goes back to the memory that it came from, where the next request finds it; an older one may belong to a window that is over. */
  async giveBack(key: string, policies: readonly CompiledPolicy[], cost: number, chargedAt: EpochMs): Promise<void> {
    const lease = this.accounts.get(accountId(key, policies))?.lease
    if (!isGood(lease, this.loop.now()) || chargedAt < lease.takenAt) return this.loop.refund(key, policies, cost, chargedAt)
    lease.left += cost
  }

  /** Gives back what is not spent, as far as the store can be asked: for a program that stops. */
  async close(): Promise<void> {
    const now = this.loop.now()
    const held = [...this.accounts.values()].flatMap(({ key, lease }) => (isGood(lease, now) && lease.left > 0 ? [{ key, lease }] : []))
    this.accounts.clear()
    const refunds = held.map(({ key, lease }) => {
      const { left } = lease
      lease.left = 0 // also for a batch that is on its way and counts on it
      return this.loop.refund(key, lease.policies, left, lease.takenAt)
    })
    await Promise.allSettled(refunds)
  }

  private leftOf(key: string, policies: readonly CompiledPolicy[]): number {
    const lease = this.accounts.get(accountId(key, policies))?.lease
    return isGood(lease, this.loop.now()) ? lease.left : 0
  }

  private accountOf(key: string, policies: readonly CompiledPolicy[]): Account {
    const id = accountId(key, policies)
    const account = this.accounts.get(id) ?? { key, batch: new BatchSize(Math.min(...policies.map(({ windowMs }) => windowMs))) }
    this.accounts.delete(id)
    this.accounts.set(id, account)
    if (this.accounts.size > this.maxSubjects) this.accounts.delete(this.accounts.keys().next().value!)
    return account
  }

  /** Takes a batch, of which this request's cost is spent at once. */
  private async grant(account: Account, key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    const { batch } = account
    const kept = this.settled(account)
    const least = cost - (kept?.left ?? 0)
    const deadline = this.loop.deadline()

    for (let tries = 1; ; tries++) {
      const now = this.loop.now()
      const { left, endsAt } = this.prospect(key, policies, now)
      const units = tries < TRIES ? Math.max(least, batch.next(now, left, endsAt - now)) : least
      const verdicts = await this.charged(account, key, policies, units, now, deadline)
      if (!allAllow(verdicts)) {
        if (units === least) return verdicts
        continue
      }
      const until = Math.min(this.prospect(key, policies, now).endsAt, kept?.until ?? Infinity)
      const surplus = verdicts.every(isCharged) ? units - least : 0 // what is let through uncharged goes one by one
      account.lease = { left: surplus, units, takenAt: now, until, policies, verdicts }
      if (units > least) this.onEvent({ kind: 'lease', units })
      return withMore(verdicts, surplus, 0)
    }
  }

  /** Learns from the last lease, once, and returns it if it is still good. */
  private settled(account: Account): Lease | undefined {
    const { lease, batch } = account
    if (!lease) return undefined
    const now = this.loop.now()
    if (account.learnt !== lease) {
      const { units, left, takenAt, until, drainedAt = Math.min(now, until) } = lease
      batch.used(units - left, units, drainedAt - takenAt)
    }
    account.learnt = lease
    return isGood(lease, now) ? lease : undefined
  }

  private async charged(
    account: Account,
    key: string,
    policies: readonly CompiledPolicy[],
    units: number,
    now: EpochMs,
    deadline: Deadline,
  ): Promise<Verdicts> {
    const { throttled } = account
    if (throttled && now < throttled.until && throttled.until - now <= 2 * PAUSE_MS) throw throttled.error
    try {
      return await this.writes.take(key, policies, units, deadline)
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.reason === 'hot-key') {
        account.batch.strained(now)
        account.throttled = { error, until: now + PAUSE_MS * (0.5 + Math.random()) }
      }
      throw error
    }
  }

  /** What the policies have left as far as is known, and until when units that are charged now are good. */
  private prospect(key: string, policies: readonly CompiledPolicy[], now: EpochMs): { left: number; endsAt: EpochMs } {
    const item = this.loop.view(key)?.item
    let left = item ? Infinity : 0
    let endsAt = Infinity
    for (const policy of policies) {
      const { algorithm, quota } = policy
      const fields = fieldsOf(item, policy)
      left = Math.min(left, algorithm.step(fields, quota, 0, now).verdict.remaining)
      endsAt = Math.min(endsAt, algorithm.heldUntil!(fields ?? {}, quota, now)!)
    }
    return { left, endsAt }
  }
}

const termsOf = new WeakMap<readonly CompiledPolicy[], string>()

/** Units that were taken under one limit are not spent under another, such as a lower one of now. */
function accountId(key: string, policies: readonly CompiledPolicy[]): string {
  const terms = termsOf.get(policies) ?? `${idOf(policies)} ${policies.map(({ limit }) => limit).join()}`
  termsOf.set(policies, terms)
  return `${key} ${terms}`
}

/** A clock that was set back makes no lease last longer. */
const isGood = (lease: Lease | undefined, now: EpochMs): lease is Lease => lease !== undefined && now >= lease.takenAt && now < lease.until

function spend(lease: Lease | undefined, cost: number, now: EpochMs): Verdicts | undefined {
  if (!isGood(lease, now) || lease.left < cost) return undefined
  lease.left -= cost
  if (lease.left === 0) lease.drainedAt = now
  return withMore(lease.verdicts, lease.left, now - lease.takenAt)
}

/** Verdicts of a while ago, with units that are held on top. */
const withMore = (verdicts: Verdicts, units: number, elapsedMs: number): Verdicts =>
  verdicts.map((verdict) => ({
    ...verdict,
    remaining: verdict.exceeded ? verdict.remaining : verdict.remaining + units, // a batch that overran a limit leaves nothing of the limit
    resetAfterMs: Math.max(0, verdict.resetAfterMs - elapsedMs),
  }))

import type { Verdict } from '../algorithms/algorithm'
import { apply, type Fields, numberOf } from '../algorithms/conditional-write'
import { unlocked } from '../algorithms/counter'
import { endHolds, withHolds } from '../algorithms/holds'
import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import { type Charge, unitsOf } from '../request'
import type { States } from '../steps'
import { type LateCharge, type LateCharges, stillCounting } from './late-charges'

/** What this instance admitted of a subject without the store. */
export interface OutageCount {
  /** By the policy's prefix. Only time and refunds make any of it smaller. */
  readonly counts: Map<string, { policy: CompiledPolicy; fields: Fields }>
  readonly pending: PendingCharges
  /** When the last unit was admitted here. */
  admittedAt: EpochMs
  flushedAt: EpochMs
  /** Called when it is forgotten for want of room. */
  readonly onEvicted: (count: OutageCount) => void
}

/** What is counted here of one subject under one policy. */
export interface EventualEntry {
  readonly policy: CompiledPolicy
  /**
   * The store's state of the policy when it was last seen, and all that was admitted here since; `undefined` where it
   * was never seen.
   */
  fields: Fields | undefined
}

/** What is counted here of one subject whose policies are counted in memory and synced. */
export interface EventualCount {
  readonly key: string
  /** By the policy's prefix. */
  readonly entries: Map<string, EventualEntry>
  readonly pending: PendingCharges
  triedAt: EpochMs
  syncing?: Promise<void> | undefined
  /** Syncs that failed in a row, and why the last one did. */
  failures: number
  failure?: unknown
  /** Sends what is pending, unless that is under way. */
  readonly flush: () => void
  /** Called when it is forgotten for want of room: sends all, also what was counted while a sync is under way. */
  readonly onEvicted: () => void
}

/** How a policy's count stands, charging nothing, whoever is locked out. */
export const verdictOf = (policy: CompiledPolicy, fields: Fields, now: EpochMs): Verdict =>
  unlocked(policy.counter).step(fields, 0, now).verdict

/** Replaces what is counted under one policy. */
export const count = (local: OutageCount, policy: CompiledPolicy, fields: Fields): void =>
  void local.counts.set(policy.prefix, { policy, fields })

/** Ends what a request holds; false where it holds nothing any more. */
export function end(local: OutageCount, id: string, now: EpochMs): boolean {
  const held = [...local.counts.values()].filter(({ fields }) => numberOf(fields, id) > now)
  for (const { policy, fields } of held) count(local, policy, apply(endHolds(fields, [{ id }])!, fields))
  return held.length > 0
}

/** A policy's count with so many units more, which others were seen to take; no lock-out by them. */
export function withUnits(
  { counter, windowMs }: CompiledPolicy,
  fields: Fields,
  seen: Fields | undefined,
  units: number,
  now: EpochMs,
): Fields {
  if (counter.isEndedByOthers) return withHolds(fields, seen, units, now + windowMs)
  const { write } = unlocked(counter).step(fields, units, now)
  return write ? apply(write, fields) : fields
}

/** Counts a charge that was admitted, which is pending until the store has it. */
export function admit(
  local: OutageCount,
  charge: Charge,
  own: readonly CompiledPolicy[],
  counted: States,
  now: EpochMs,
): void {
  for (const [i, policy] of charge.policies.entries()) {
    count(local, own[i]!, counted[i]!)
    if (!charge.isOwed) local.pending.add(policy, unitsOf(charge, policy), now)
  }
  local.admittedAt = now
}

interface Pending extends LateCharge {
  /** When the first of its units was admitted. */
  readonly since: EpochMs
}

/**
 * Charges of one subject that were admitted and are not in the store yet.
 *
 * Each unit is written once. Where an answer is lost the same write is sent again; where it cannot be known any more
 * whether the first one was applied, it is counted twice rather than not at all. Units whose window has ended are not
 * written.
 */
export class PendingCharges {
  private pending = new Map<string, Pending>()
  /** Sent, and not answered yet, or never. */
  private sent?: LateCharges
  private sending?: Promise<boolean>

  /** @param charge sends them: false where none of them counts any more. */
  constructor(private readonly charge: (late: LateCharges) => Promise<boolean>) {}

  get isEmpty(): boolean {
    return this.pending.size === 0 && !this.sent
  }

  add(policy: CompiledPolicy, units: number, now: EpochMs): void {
    const before = this.pending.get(policy.prefix)
    const counting = before ? stillCounting(before, now) : 0
    const since = before && counting > 0 ? Math.min(now, before.since) : now
    const chargedAt = Math.max(now, before?.chargedAt ?? now)
    this.pending.set(policy.prefix, { policy, units: counting + units, since, chargedAt })
  }

  /** What has not been sent. */
  pendingOf({ prefix }: CompiledPolicy): LateCharge | undefined {
    return this.pending.get(prefix)
  }

  /**
   * Takes out up to so many units that are pending for all of these policies, and returns how many. None where the
   * units were charged before those that are pending: they were written, or their window is over, and those of another
   * are not theirs.
   */
  takeBack(policies: readonly CompiledPolicy[], units: number, chargedAt: EpochMs): number {
    const pendingOf = (prefix: string): number => {
      const charge = this.pending.get(prefix)
      return charge && charge.since <= chargedAt ? charge.units : 0
    }
    const back = policies.reduce((least, { prefix }) => Math.min(least, pendingOf(prefix)), units)
    if (back === 0) return 0
    for (const { prefix } of policies) {
      const charge = this.pending.get(prefix)!
      if (charge.units === back) this.pending.delete(prefix)
      else this.pending.set(prefix, { ...charge, units: charge.units - back })
    }
    return back
  }

  /**
   * Writes all of them at once; what is added meanwhile is pending for the next time. False when there was nothing to
   * write.
   *
   * @throws StoreUnavailableError when the store cannot be asked; the same write is sent again the next time.
   */
  flush(): Promise<boolean> {
    this.sending ??= this.send().finally(() => {
      this.sending = undefined
    })
    return this.sending
  }

  /** Waits until nothing is on its way. */
  async idle(): Promise<void> {
    await this.sending?.catch(() => {})
  }

  /** Waits until it is known whether what was sent has been applied. */
  async confirmed(): Promise<void> {
    await this.idle()
    if (this.sent) await this.flush()
  }

  private async send(): Promise<boolean> {
    if (!this.sent) {
      if (this.pending.size === 0) return false
      this.sent = { charges: [...this.pending.values()] }
      this.pending = new Map()
    }
    const written = await this.charge(this.sent)
    this.sent = undefined
    return written
  }
}

import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import { type LateCharge, type LateCharges, stillCounting } from './late-charges'

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

import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import { type LateCharge, stillCounting } from './late-charge'
import type { WriteId } from './stores/store'
import type { TakeLoop } from './take-loop'

/** Late charges of one subject that are one write. */
export interface LateWrite {
  readonly charges: readonly LateCharge[]
  /** The name under which it was sent last. */
  id: WriteId
}

interface Pending extends LateCharge {
  /** When the first of its units was admitted. */
  readonly since: EpochMs
}

/**
 * What was admitted of one subject, and the store has not been told of yet.
 *
 * Each unit is told once. Where an answer is lost the same write is sent again; where it cannot be known any more
 * whether the first one was applied, it is counted twice rather than not at all. Units whose window has ended are not
 * told.
 */
export class Untold {
  private pending = new Map<string, Pending>()
  /** Sent, and not answered yet, or never. */
  private sent?: LateWrite
  private telling?: Promise<boolean>

  get isEmpty(): boolean {
    return this.pending.size === 0 && !this.sent
  }

  add(policy: CompiledPolicy, units: number, now: EpochMs): void {
    const before = this.pending.get(policy.code)
    const counting = before ? stillCounting(before, now) : 0
    const since = before && counting > 0 ? Math.min(now, before.since) : now
    this.pending.set(policy.code, {
      policy,
      units: counting + units,
      since,
      chargedAt: Math.max(now, before?.chargedAt ?? now),
    })
  }

  /** What has not been sent. */
  pendingOf({ code }: CompiledPolicy): LateCharge | undefined {
    return this.pending.get(code)
  }

  /**
   * Takes out up to so many units that are pending for all of these policies, and returns how many. None where the
   * units were charged before those that are pending: they were told, or their window is over, and those of another are
   * not theirs.
   */
  takeBack(policies: readonly CompiledPolicy[], units: number, chargedAt: EpochMs): number {
    const pendingOf = (code: string): number => {
      const charge = this.pending.get(code)
      return charge && charge.since <= chargedAt ? charge.units : 0
    }
    const back = policies.reduce((least, { code }) => Math.min(least, pendingOf(code)), units)
    if (back === 0) return 0
    for (const { code } of policies) {
      const charge = this.pending.get(code)!
      if (charge.units === back) this.pending.delete(code)
      else this.pending.set(code, { ...charge, units: charge.units - back })
    }
    return back
  }

  /**
   * Tells the store all of it, in one write; what is added meanwhile is pending for the next. False when there was
   * nothing to write.
   *
   * @throws StoreUnavailableError when the store cannot be asked; the same write is sent again the next time.
   */
  tell(loop: TakeLoop, key: string): Promise<boolean> {
    this.telling ??= this.send(loop, key).finally(() => {
      this.telling = undefined
    })
    return this.telling
  }

  private async send(loop: TakeLoop, key: string): Promise<boolean> {
    if (!this.sent) {
      if (this.pending.size === 0) return false
      this.sent = { charges: [...this.pending.values()], id: loop.nextId() }
      this.pending = new Map()
    }
    const written = await loop.chargeLate(key, this.sent)
    this.sent = undefined
    return written
  }

  /** Waits until nothing is on its way. */
  async quiet(): Promise<void> {
    await this.telling?.catch(() => {})
  }

  /** Waits until it is known whether what was sent has been applied. */
  async settled(loop: TakeLoop, key: string): Promise<void> {
    await this.quiet()
    if (this.sent) await this.tell(loop, key)
  }
}

import type { Verdicts } from '../algorithms/algorithm'
import type { Decider } from '../decider'
import { isHotKey } from '../errors'
import type { Lazy } from '../lazy'
import type { OnEvent } from '../options'
import { type Charge, type ChargeTime, isLeasable, type Subject, type Units } from '../request'
import type { SubjectVerdicts } from '../view'
import type { Strategy } from './strategy'
import type { WriteCoalescer } from './write-coalescer'

/**
 * How long a subject stays leased whose item got more writes than DynamoDB takes, at least; up to twice that, so that
 * instances do not come back together.
 */
const HOT_MS = 45_000

/**
 * One write for each request that is allowed, and never more than the limit.
 *
 * A subject whose own item is throttled, since it takes 1,000 writes a second, is leased for a while, within the bound
 * of leases. Where one of its policies cannot be leased, `autoLease` is off, or the request takes more of one policy
 * than of another, the item is read (`decideThrottled`).
 */
export class Strict implements Strategy {
  constructor(
    private readonly items: Decider,
    private readonly writes: WriteCoalescer,
    /** Loaded before the first subject is hot. */
    private readonly leased: Lazy<Strategy>,
    private readonly onEvent: OnEvent,
  ) {}

  knownDenial(charge: Charge): SubjectVerdicts | undefined {
    return this.isHot(charge) ? undefined : this.items.knownDenial(charge)
  }

  cachedDenial(charge: Charge): Verdicts | undefined {
    return (this.isHot(charge) ? this.leased.loaded! : this.items).cachedDenial(charge)
  }

  take(charge: Charge): Promise<Verdicts> {
    if (this.isHot(charge)) return this.leased.loaded!.take(charge)
    return this.writes.take(charge).catch(async (error) => {
      if (!isHotKey(error) || !isLeasable(charge)) throw error
      const leased = await this.leased.get()
      this.remember(charge.key)
      return leased.take(charge)
    })
  }

  peek(charge: Charge): Promise<Verdicts> {
    return (this.isHot(charge) ? this.leased.loaded! : this.items).peek(charge)
  }

  giveBack(charge: Charge, charged: ChargeTime): Promise<void> {
    return this.isHot(charge) ? this.leased.loaded!.giveBack(charge, charged) : this.items.refund(charge, charged)
  }

  standing(subject: Subject): Verdicts | undefined {
    return (this.isHot(subject) ? this.leased.loaded! : this.items).standing(subject)
  }

  /** A subject is hot whichever policies found that out, and leased only for those that can be. */
  private isHot(charge: Subject & Partial<Units>): boolean {
    if (!this.leased.loaded || !isLeasable(charge)) return false
    const { hotUntil = 0 } = this.items.subjects.get(charge.key) ?? {}
    const leftMs = hotUntil - this.items.now()
    return leftMs > 0 && leftMs <= 2 * HOT_MS
  }

  private remember(key: string): void {
    this.items.subjects.of(key).hotUntil = this.items.now() + HOT_MS * (1 + Math.random())
    this.onEvent({ kind: 'hot-key' })
  }
}

import type { Verdicts } from '../algorithms/algorithm'
import type { Decider } from '../decider'
import { isHotKey } from '../errors'
import type { Lazy } from '../lazy'
import type { OnEvent } from '../options'
import { type Charge, type ChargeTime, isLeasable, type Subject, type Units } from '../request'
import { POOL_PREFIX } from '../stores/attribute-prefix'
import type { SubjectVerdicts } from '../view'
import type { Leased } from './leased'
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
 * A subject whose own item is throttled, since it takes 1,000 writes a second, is leased for a while, and as long as
 * its pools are busy, within the bound of leases. Where one of its policies cannot be leased, `autoLease` is off, or
 * the request takes more of one policy than of another, the item is read (`decideThrottled`).
 */
export class Strict implements Strategy {
  constructor(
    private readonly items: Decider,
    private readonly writes: WriteCoalescer,
    /** Loaded before the first subject is hot. */
    private readonly leased: Lazy<Leased>,
    private readonly onEvent: OnEvent,
  ) {}

  knownDenial(charge: Charge): SubjectVerdicts | undefined {
    return this.leasedFor(charge) ? undefined : this.items.knownDenial(charge)
  }

  cachedDenial(charge: Charge): Verdicts | undefined {
    return (this.leasedFor(charge) ?? this.items).cachedDenial(charge)
  }

  take(charge: Charge): Promise<Verdicts> {
    const hot = this.leasedFor(charge)
    if (hot) return hot.take(charge)
    return this.writes.take(charge).catch(async (error) => {
      if (!isHotKey(error) || !isLeasable(charge)) throw error
      const leased = await this.leased.get()
      this.remember(charge.key)
      return leased.take(charge)
    })
  }

  peek(charge: Charge): Promise<Verdicts> {
    return (this.leasedFor(charge) ?? this.items).peek(charge)
  }

  giveBack(charge: Charge, charged: ChargeTime): Promise<void> {
    return this.leasedFor(charge)?.giveBack(charge, charged) ?? this.items.refund(charge, charged)
  }

  standing(subject: Subject): Verdicts | undefined {
    return (this.leasedFor(subject) ?? this.items).standing(subject)
  }

  /**
   * What decides instead of one write for each request, whichever policies found the subject hot, for those that can be
   * leased: where it was throttled a while ago, where its pools are busy, or have units that its item has not.
   */
  private leasedFor(charge: Subject & Partial<Units>): Leased | undefined {
    const { view, hotUntil = 0 } = this.items.subjects.get(charge.key) ?? {}
    if (view?.item.policies[POOL_PREFIX]) this.leased.preload()
    const leased = this.leased.loaded
    if (!leased || !isLeasable(charge)) return undefined
    const leftMs = hotUntil - this.items.now()
    if (leftMs > 0 && leftMs <= 2 * HOT_MS) return leased
    const pools = leased.poolsFor(charge)
    const isNeeded =
      pools === 'quiet' && this.items.standing(charge)?.some(({ remaining }) => remaining < (charge.cost ?? 1))
    return pools === 'busy' || isNeeded ? leased : undefined
  }

  private remember(key: string): void {
    this.items.subjects.of(key).hotUntil = this.items.now() + HOT_MS * (1 + Math.random())
    this.onEvent({ kind: 'hot-key' })
  }
}

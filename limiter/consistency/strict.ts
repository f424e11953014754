import type { EpochMs } from '../clock'
import type { CompiledPolicy } from '../compiled-policy'
import { StoreUnavailableError } from '../errors'
import type { OnEvent } from '../events'
import type { Verdicts } from '../plan'
import type { TakeLoop } from '../take-loop'
import type { SharedWrites } from '../write-coalescer'
import type { Leases } from './leased'
import type { Charged, Way } from './strategy'

/**
 * How long a subject stays leased whose item got more writes than DynamoDB takes, at least; up to twice that, so that
 * instances do not come back together.
 */
const HOT_MS = 45_000
const MOST_HOT = 1000

/**
 * One write for each request that is allowed, and never more than the limit.
 *
 * A subject whose item is throttled by itself, for it takes 1,000 writes a second, is leased for a while, by the bound
 * that leases have; unless one of its policies cannot be, or `autoLease` is off.
 */
export class Strict implements Way {
  private readonly hotUntil = new Map<string, EpochMs>()

  constructor(
    private readonly loop: TakeLoop,
    private readonly writes: SharedWrites,
    private readonly leases: Leases,
    private readonly onEvent: OnEvent,
  ) {}

  foreseen(key: string, policies: readonly CompiledPolicy[], cost: number): Verdicts | undefined {
    return this.isHot(key, policies)
      ? this.leases.foreseen(key, policies, cost)
      : this.loop.foreseen(key, policies, cost)
  }

  async take(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    if (!this.isHot(key, policies)) {
      try {
        return await this.writes.take(key, policies, cost)
      } catch (error) {
        const isHot = error instanceof StoreUnavailableError && error.reason === 'hot-key'
        if (!isHot || !policies.every(({ autoLease }) => autoLease)) throw error
        this.remember(key)
      }
    }
    return this.leases.take(key, policies, cost)
  }

  look(key: string, policies: readonly CompiledPolicy[], cost: number): Promise<Verdicts> {
    return this.isHot(key, policies) ? this.leases.look(key, policies, cost) : this.loop.look(key, policies, cost)
  }

  giveBack(key: string, policies: readonly CompiledPolicy[], units: number, charged: Charged): Promise<void> {
    return this.isHot(key, policies)
      ? this.leases.giveBack(key, policies, units, charged)
      : this.loop.refund(key, policies, units, charged)
  }

  standing(key: string, policies: readonly CompiledPolicy[]): Verdicts | undefined {
    return this.isHot(key, policies) ? this.leases.standing(key, policies) : this.loop.standing(key, policies)
  }

  forget(key: string): void {
    this.hotUntil.delete(key)
  }

  /** A subject is hot whichever policies found that out, and leased for those alone that can be. */
  private isHot(key: string, policies: readonly CompiledPolicy[]): boolean {
    if (this.hotUntil.size === 0 || !policies.every(({ autoLease }) => autoLease)) return false
    const until = this.hotUntil.get(key)
    if (until === undefined) return false
    const now = this.loop.now()
    if (now < until && until - now <= 2 * HOT_MS) return true
    this.hotUntil.delete(key)
    return false
  }

  private remember(key: string): void {
    if (this.hotUntil.size >= MOST_HOT) this.hotUntil.clear()
    this.hotUntil.set(key, this.loop.now() + HOT_MS * (1 + Math.random()))
    this.onEvent({ kind: 'hot-key' })
  }
}

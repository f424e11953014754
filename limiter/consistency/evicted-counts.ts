import type { EpochMs } from '../clock'

const SLOTS = 16_384

/**
 * Remembers how much of evicted counts was used, in a quarter of a megabyte: each slot keeps the largest part that was
 * used of any count that falls into it, until the last of them would have been whole again.
 *
 * A subject that comes back begins with at least what it had used, so a client does not get its share anew by asking
 * for enough other subjects. One that shares its slot with a busy one begins with less than its own: the price of a
 * bound.
 */
export class EvictedCounts {
  private slots?: { readonly used: Float64Array; readonly until: Float64Array }
  private readonly seed = Math.floor(Math.random() * 2 ** 32)

  /**
   * @param count names it: the subject and the policy.
   * @param used a part of the whole, from 0 to 1.
   */
  remember(count: string, used: number, until: EpochMs, now: EpochMs): void {
    const slot = this.slotOf(count)
    this.slots ??= { used: new Float64Array(SLOTS), until: new Float64Array(SLOTS) }
    this.slots.used[slot] = Math.max(used, this.usedOf(count, now))
    this.slots.until[slot] = Math.max(until, this.slots.until[slot]!)
  }

  /** The part of the whole that a count begins with. */
  usedOf(count: string, now: EpochMs): number {
    if (!this.slots) return 0
    const slot = this.slotOf(count)
    return this.slots.until[slot]! > now ? this.slots.used[slot]! : 0
  }

  /** Seeded, so that a client cannot find out whose slot it shares. FNV-1a. */
  private slotOf(count: string): number {
    let hash = this.seed
    for (let i = 0; i < count.length; i++) hash = Math.imul(hash ^ count.charCodeAt(i), 0x01000193)
    return ((hash ^ (hash >>> 15)) >>> 0) % SLOTS
  }
}

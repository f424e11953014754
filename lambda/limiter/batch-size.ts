import type { EpochMs } from '../clock'

/** A batch is at most this share of what is left: the nearer the limit the smaller, so that nobody sits on its last units. */
const LARGEST_SHARE = 1 / 8
/** A batch is at most so many times the last one: a few quick requests are no trend. */
const GROWTH = 4
const LONGEST_LASTING_MS = 2000
/** An item that takes no more writes gets fewer and larger ones for so long. */
const STRAINED_MS = 10_000
const STRAINED_LASTING = 4

/**
 * How many units of a subject to take ahead: what lasts for a quarter of the window, and two seconds at most, at the pace at which the last batch was spent.
 * An instance with 1,000 requests a second and a window of a second so takes 250 at once.
 */
export class BatchSize {
  private readonly lastsMs: number
  /** Units that would last just so long. */
  private lasting = 0
  private strainedUntil: EpochMs = -Infinity

  /** @param windowMs the shortest window of the policies. */
  constructor(windowMs: number) {
    this.lastsMs = Math.min(LONGEST_LASTING_MS, windowMs / 4)
  }

  /**
   * Units to take ahead now, 0 when there is no telling.
   *
   * @param left what the policies permit at this moment, as far as is known.
   * @param endsInMs when what is taken is worth nothing any more.
   */
  next(now: EpochMs, left: number, endsInMs: number): number {
    const lastsMs = this.lastsMs * (now < this.strainedUntil ? STRAINED_LASTING : 1)
    return Math.floor(Math.min((this.lasting / this.lastsMs) * Math.min(lastsMs, endsInMs), left * LARGEST_SHARE))
  }

  /** `spent` units of a batch were used within this time, and no more of it will be. One that was small for want of room says little. */
  used(spent: number, units: number, withinMs: number): void {
    const atThisPace = Math.max(1, Math.min((spent * this.lastsMs) / Math.max(1, withinMs), Math.max(1, this.lasting) * GROWTH))
    const weight = Math.min(1, units / Math.max(1, this.lasting))
    this.lasting += (atThisPace - this.lasting) * weight
  }

  /** The item took no more writes. */
  strained(now: EpochMs): void {
    this.strainedUntil = now + STRAINED_MS
  }
}

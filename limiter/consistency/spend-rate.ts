import type { EpochMs } from '../clock'

/** Parts that a span is counted in; within one the units are taken as evenly spread. */
const PARTS = 4
/** Spans that are remembered, beside the part that has begun. */
const SPANS = 3
const SLOTS = PARTS * SPANS + 1

/** How many units came lately, and whether as many came before: thirteen counters, however many units. */
export class SpendRate {
  private readonly counts = new Array<number>(SLOTS).fill(0)
  private readonly slotMs: number
  /** The newest slot, numbered from the epoch. */
  private newest = 0

  /** @param spanMs what "lately" means, in milliseconds. */
  constructor(readonly spanMs: number) {
    this.slotMs = spanMs / PARTS
  }

  add(units: number, now: EpochMs): void {
    this.moveTo(now)
    this.counts[this.newest % SLOTS]! += units
  }

  /** Units of the last span. */
  lately(now: EpochMs): number {
    return this.spanBefore(this.moveTo(now))
  }

  /** The fewest units of any of the last three spans: a pace that has held for so long. */
  steadily(now: EpochMs): number {
    const until = this.moveTo(now)
    return Math.min(...Array.from({ length: SPANS }, (_, span) => this.spanBefore(until - span * this.spanMs)))
  }

  /**
   * Begins new slots until this moment, and says which moment that is: a clock that was set back a little stands still,
   * one that was set back by more begins anew.
   */
  private moveTo(now: EpochMs): EpochMs {
    const slot = Math.floor(now / this.slotMs)
    const steps = slot - this.newest
    if (Math.abs(steps) >= SLOTS) this.counts.fill(0)
    else for (let step = 1; step <= steps; step++) this.counts[(this.newest + step) % SLOTS] = 0
    if (steps > 0 || steps <= -SLOTS) this.newest = slot
    return Math.max(now, this.newest * this.slotMs)
  }

  /** Units of the span that ends then. */
  private spanBefore(until: EpochMs): number {
    const last = until / this.slotMs
    const first = last - PARTS
    let units = 0
    for (let slot = Math.max(0, Math.floor(first)); slot <= Math.min(last, this.newest); slot++) {
      // All that the newest slot holds has come by now, so none of it is yet to come.
      const covered = slot === this.newest ? 1 : Math.min(slot + 1, last) - Math.max(slot, first)
      units += this.counts[slot % SLOTS]! * covered
    }
    return units
  }
}

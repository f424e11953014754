import type { EpochMs } from '../clock'

/** What an instance has spent "lately" is what it spent in its last second, or in its last eight where that is safe. */
const SHORT_MS = 1000
const LONG_MS = 8000
/** Writes a second that all instances together may send to one item, of the 1,000 that it takes. */
const WRITES_PER_MS = 0.8
/** How long an item that was throttled gets fewer and larger writes. */
const THROTTLED_MS = 10_000
/** How long an instance that has begun, or begun anew, knows too little of its own pace. */
const NEW_MS = 100
/** An instance draws from a pool for so long, at most. */
export const LONGEST_DRAW_MS = 2000
/** Of the fair share of what is left, so much at once: what others take meanwhile is not known. */
const AT_ONCE = 7 / 8
/**
 * Safety margin in standard deviations: by so much may chance deny an instance the requests for which it holds units,
 * and may it get more than it holds units for.
 */
const UNSPENT_DEVIATIONS = 2
const UNEXPECTED_DEVIATIONS = 2

/** How a subject's policies stand for a lease, as far as an instance knows. */
export interface Capacity {
  /** The units that the tightest policy has left, if none were charged since the view. */
  readonly left: number
  /** Units that it has when none are taken. */
  readonly capacity: number
  /** How long ago that was seen, in milliseconds. */
  readonly ageMs: number
  /** How long units that are taken now can be spent, in milliseconds. */
  readonly endsInMs: number
  /** Units that come back soon by themselves, and how soon, in milliseconds; 0 where none do before the window ends. */
  readonly refill: number
  readonly refillMs: number
}

export interface Size {
  /** Below 1 where only what is asked for should be charged. */
  readonly units: number
  /** More was wished for than this instance's fair share of what there is. */
  readonly isScarce: boolean
}

/**
 * How many units to lease: never more than this instance has really spent lately, since that is what is lost when it is
 * never asked again.
 *
 * While units may become scarce that is a quarter of what it spent in its last second, an eighth where more than half
 * of the limit is used, a sixteenth where more than three quarters are; or all of a pace that has held for three spans.
 * While there is enough for everybody it is all of the last eight seconds. It is never more than the fair share of what
 * is left, nor than what can be spent in time.
 */
export class LeaseSize {
  private readonly short: SpendRate
  private readonly long: SpendRate
  /** Units that all other instances take in a millisecond, as seen from one write to the next. */
  private othersPerMs = 0
  private watchedMs = 0
  /** When this instance spent its first unit after it had spent none for a while. */
  private activeSince: EpochMs = Number.NEGATIVE_INFINITY
  private spentAt: EpochMs = Number.NEGATIVE_INFINITY
  private throttledUntil: EpochMs = Number.NEGATIVE_INFINITY

  /** @param windowMs the shortest window of the policies. */
  constructor(windowMs: number) {
    this.short = new SpendRate(Math.min(SHORT_MS, windowMs))
    this.long = new SpendRate(Math.min(LONG_MS, windowMs))
  }

  /** What "lately" means, in milliseconds. */
  get spanMs(): number {
    return this.short.spanMs
  }

  /** This instance spent so many units, or would have spent them if it had got a lease. */
  spent(units: number, now: EpochMs): void {
    if (now - this.spentAt > this.long.spanMs || this.activeSince > now) this.activeSince = now
    this.spentAt = now
    this.short.add(units, now)
    this.long.add(units, now)
  }

  /** All others took so many units within these milliseconds. */
  othersTook(units: number, withinMs: number): void {
    if (withinMs <= 0) return
    this.watchedMs = Math.min(this.spanMs, this.watchedMs + withinMs)
    this.othersPerMs += (units / withinMs - this.othersPerMs) * Math.min(1, withinMs / this.watchedMs)
  }

  /** The item took no more writes. */
  onThrottled(now: EpochMs): void {
    this.throttledUntil = now + THROTTLED_MS
  }

  /**
   * How long an instance leaves the item alone when units only trickle back, in milliseconds: so long that all
   * instances together send no more writes than it takes, as far as they are like this one.
   */
  pauseMs(now: EpochMs): number {
    const pauseMs = Math.min(this.spanMs, Math.max(this.spanMs / 20, this.spacingMs(now)))
    return this.isThrottled(now) ? 2 * pauseMs : pauseMs
  }

  next(now: EpochMs, available: Capacity): Size {
    const { left: leftThen, capacity, endsInMs, ageMs, refill, refillMs } = available
    const { short, long, othersPerMs, spanMs } = this
    const own = short.lately(now)
    const ownPerMs = own / spanMs
    const allPerMs = ownPerMs + othersPerMs
    const left = refill > 0 ? leftThen : Math.max(0, leftThen - othersPerMs * ageMs)

    const demand = allPerMs * endsInMs
    const isEnough = this.watchedMs > 0 && demand + 3 * Math.sqrt(demand) + 2 * othersPerMs * ageMs < left
    const isAmple = isEnough && left > capacity / 2 && demand < left / 2

    const spaced = (long.lately(now) / long.spanMs) * Math.min(long.spanMs, this.spacingMs(now))
    const wish =
      isAmple || this.isThrottled(now)
        ? long.lately(now)
        : Math.max(
            own * shareAt(leftThen / capacity),
            short.steadily(now),
            left > capacity / 2 ? long.steadily(now) : 0,
            refill > 0 ? ownPerMs * Math.min(spanMs / 2, 2 * refillMs) : 0,
            spaced,
          )

    const part = allPerMs > 0 ? ownPerMs / allPerMs : 1
    const fair = refill > 0 ? Math.min(left / 2, (left + refill) * part) : left * part * (isEnough ? 1 : AT_ONCE)
    const spendable = ownPerMs * endsInMs
    const chance = Math.sqrt(spendable) * (isEnough ? UNEXPECTED_DEVIATIONS : -UNSPENT_DEVIATIONS)
    return { units: Math.floor(Math.max(0, Math.min(wish, fair, spendable + chance))), isScarce: wish > fair }
  }

  /**
   * What this instance will very probably spend until units end, and in two seconds at most; where there is enough for
   * all, what it is expected to spend. Of an instance that has only just begun, what others take at once.
   */
  untilEnd(now: EpochMs, endsInMs: number, isEnough: boolean, othersTake: number): number {
    const activeMs = now - this.spentAt > this.long.spanMs ? 0 : now - this.activeSince
    const own = this.short.lately(now)
    if (activeMs < NEW_MS) return Math.floor(Math.max(own, othersTake))
    const units = (own / Math.min(this.spanMs, activeMs)) * Math.min(Math.max(0, endsInMs), LONGEST_DRAW_MS)
    return isEnough ? Math.ceil(units) : Math.floor(units - Math.sqrt(units))
  }

  /** From one write of this instance to its next, if all instances are to have their turn. */
  private spacingMs(now: EpochMs): number {
    const ownPerMs = this.short.lately(now) / this.spanMs
    return ownPerMs > 0 ? (ownPerMs + this.othersPerMs) / ownPerMs / WRITES_PER_MS : 0
  }

  private isThrottled(now: EpochMs): boolean {
    return now < this.throttledUntil && this.throttledUntil - now <= THROTTLED_MS
  }
}

/** Of what was spent lately, how much may be leased of a limit of which this share is left. */
function shareAt(left: number): number {
  if (left > 1 / 2) return 1 / 4
  return left > 1 / 4 ? 1 / 8 : 1 / 16
}

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

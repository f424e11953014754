import type { EpochMs } from '../../facade/values'

/** Requests in one stretch of time. */
export interface Stretch {
  readonly at: EpochMs
  readonly allowed: number
  readonly denied: number
}

interface Counts {
  allowed: number
  denied: number
}

const MAX_POINTS = 1200

/** Requests allowed and denied over time, in at most 1,200 stretches of the same length, a second or more. */
export class Series {
  /** How long a stretch is, in milliseconds. */
  everyMs = 1000
  private counts = new Map<number, Counts>()
  private first: EpochMs | undefined
  private slot = -1
  private current: Counts = { allowed: 0, denied: 0 }

  /** @param at in the order of time. */
  add(at: EpochMs, allowed: boolean): void {
    this.first ??= at
    while (Math.floor(at / this.everyMs) - Math.floor(this.first / this.everyMs) >= MAX_POINTS) this.widen()
    const slot = Math.floor(at / this.everyMs)
    if (slot !== this.slot) {
      this.slot = slot
      this.current = this.counts.get(slot) ?? { allowed: 0, denied: 0 }
      this.counts.set(slot, this.current)
    }
    if (allowed) this.current.allowed++
    else this.current.denied++
  }

  /** In the order of time, those without a request left out. */
  list(): Stretch[] {
    return [...this.counts].map(([slot, counts]) => ({ at: slot * this.everyMs, ...counts }))
  }

  /** Makes stretches twice as long. */
  private widen(): void {
    const counts = new Map<number, Counts>()
    for (const [slot, { allowed, denied }] of this.counts) {
      const wide = counts.get(Math.floor(slot / 2)) ?? { allowed: 0, denied: 0 }
      counts.set(Math.floor(slot / 2), { allowed: wide.allowed + allowed, denied: wide.denied + denied })
    }
    this.counts = counts
    this.everyMs *= 2
    this.slot = -1
  }
}

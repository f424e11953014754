/** A percent of a limit, in steps of two; the last one is the limit itself. */
const STEPS = 50
const MAX_COUNT = 65_535

/** A small array of its own takes twice as much memory as its counts, so that many share one. */
const ROOM = 1024 * (STEPS + 1)
let room = { counts: new Uint16Array(0), used: 0 }

/**
 * How near one subject came to one limit, request by request: the share of the limit that was used, the request
 * included. A request that the policy denied, or would have denied, is at 100 %.
 */
export class Nearness {
  /** The highest share, from 0 to 1. */
  peak = 0
  private counts: Uint16Array | Float64Array
  /** Where its counts begin. */
  private from: number

  constructor() {
    if (room.used + STEPS + 1 > room.counts.length) room = { counts: new Uint16Array(ROOM), used: 0 }
    this.counts = room.counts
    this.from = room.used
    room.used += STEPS + 1
  }

  add(share: number): void {
    if (share > this.peak) this.peak = share
    const step = share >= 1 ? STEPS : Math.floor(share * STEPS)
    if (this.counts[this.from + step] === MAX_COUNT) this.widen()
    this.counts[this.from + step]!++
  }

  /** The share that this part of the requests stayed at or below, to two percent; the peak bounds it. */
  quantile(part: number): number {
    let count = 0
    for (let step = 0; step <= STEPS; step++) count += this.counts[this.from + step]!
    let left = Math.ceil(part * count)
    for (let step = 0; step <= STEPS; step++) {
      left -= this.counts[this.from + step]!
      if (left <= 0) return Math.min(this.peak, step === STEPS ? 1 : (step + 1) / STEPS)
    }
    return this.peak
  }

  /** Few are asked so often that they need more than two bytes a count: these have an array of their own. */
  private widen(): void {
    if (this.counts instanceof Float64Array) return
    this.counts = Float64Array.from(this.counts.subarray(this.from, this.from + STEPS + 1))
    this.from = 0
  }
}

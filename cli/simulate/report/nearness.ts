/** A percent of a limit, in steps of two; the last one is the limit itself. */
const STEPS = 50
const MOST = 65_535

/**
 * How near one subject came to one limit, request by request: the share of the limit that was used, the request
 * included. A request that the policy denied, or would have denied, is at 100 %.
 */
export class Nearness {
  /** The highest share, from 0 to 1. */
  peak = 0
  private readonly counts = new Uint16Array(STEPS + 1)
  private count = 0

  add(share: number): void {
    if (share > this.peak) this.peak = share
    const step = share >= 1 ? STEPS : Math.floor(share * STEPS)
    if (this.counts[step] === MOST) this.halve()
    this.counts[step]!++
    this.count++
  }

  /** The share that this part of the requests stayed at or below, to two percent; the peak bounds it. */
  quantile(part: number): number {
    let left = Math.ceil(part * this.count)
    for (let step = 0; step <= STEPS; step++) {
      left -= this.counts[step]!
      if (left <= 0) return Math.min(this.peak, step === STEPS ? 1 : (step + 1) / STEPS)
    }
    return this.peak
  }

  /** Quantiles stay what they are, to the same two percent, while every step is halved. */
  private halve(): void {
    this.count = 0
    for (const [step, count] of this.counts.entries()) this.count += this.counts[step] = count >> 1
  }
}

/** How long an allowance may be saved up, in milliseconds, where AWS says nothing: a tenth of a second, so that a whole second never has much more than it may. */
const SAVED_MS = 100

/** So many units a second, a token bucket. */
export class Allowance {
  private tokens: number
  private readonly most: number
  private at = Number.NEGATIVE_INFINITY

  /** @param burst units that may come at once. @default a tenth of a second's */
  constructor(
    private readonly perSecond: number,
    burst?: number,
  ) {
    this.most = Math.max(1, burst ?? (perSecond * SAVED_MS) / 1000)
    this.tokens = this.most
  }

  /** Takes one unit, if there is one. @param now milliseconds, of any clock. */
  take(now: number): boolean {
    if (now > this.at) {
      this.tokens = Math.min(this.most, this.tokens + ((now - this.at) * this.perSecond) / 1000)
      this.at = now
    }
    if (this.tokens < 1) return false
    this.tokens--
    return true
  }
}

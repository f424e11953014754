/** So many units in each second of the clock, at any moment of it: AWS does not publish how evenly they come. */
export class PerSecond {
  private second = Number.NaN
  private left = 0

  constructor(private readonly units: number) {}

  /** Takes one unit, if there is one. @param now epoch milliseconds. */
  take(now: number): boolean {
    const second = Math.floor(now / 1000)
    if (second !== this.second) {
      this.second = second
      this.left = this.units
    }
    if (this.left < 1) return false
    this.left--
    return true
  }
}

/** So many units a second, of which some may come at once: a token bucket. */
export class TokenBucket {
  private tokens: number
  private at = Number.NEGATIVE_INFINITY

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
  ) {
    this.tokens = burst
  }

  /** Takes one unit, if there is one. @param now milliseconds, of any clock. */
  take(now: number): boolean {
    if (now > this.at) {
      this.tokens = Math.min(this.burst, this.tokens + ((now - this.at) * this.perSecond) / 1000)
      this.at = now
    }
    if (this.tokens < 1) return false
    this.tokens--
    return true
  }
}

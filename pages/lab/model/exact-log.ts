/**
 * When the requests of one client passed, to the millisecond: what every algorithm is measured against. A request
 * counts while it is later than one window ago.
 */
export class ExactLog {
  readonly passes: number[] = []
  private liveFrom = 0
  private inWindowFrom = 0

  constructor(
    private readonly limit: number,
    private readonly windowMs: number,
  ) {}

  /** Whether one more may pass, by what has passed and what waits for its turn. Times never go back. */
  hasRoom(now: number): boolean {
    while (this.passes[this.liveFrom]! <= now - this.windowMs) this.liveFrom++
    return this.passes.length - this.liveFrom < this.limit
  }

  /** Lets one pass, at the time of the last one or later. @returns how many passed in the window that ends there */
  pass(at: number): number {
    while (this.passes[this.inWindowFrom]! <= at - this.windowMs) this.inWindowFrom++
    return this.passes.push(at) - this.inWindowFrom
  }
}

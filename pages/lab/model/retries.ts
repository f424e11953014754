/** A try of a request that was denied before. */
export interface Try {
  readonly at: number
  readonly client: number
  /** When it was first tried. */
  readonly since: number
  /** How often it was denied. */
  readonly denials: number
}

/** Tries to come, the next one last. */
export class Retries {
  private readonly waiting: Try[] = []

  add(one: Try): void {
    let [low, high] = [0, this.waiting.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.waiting[middle]!.at > one.at) low = middle + 1
      else high = middle
    }
    this.waiting.splice(low, 0, one) // of one moment, who came first is nearer to the end
  }

  /** The next one, if it comes before that moment. */
  before(moment: number): Try | undefined {
    const next = this.waiting.at(-1)
    return next && next.at < moment ? this.waiting.pop() : undefined
  }
}

import { type Sent, WINDOW_MS } from './traffic'

interface Tally {
  readonly limit: number
  readonly consistency: 'strict' | 'leased'
  /** Units admitted within the window for certain, and around an edge of it. */
  sure: number
  edge: number
  asked: number
  /** Decided without the store. */
  degraded: number
}

/** A caller of a strict limit that asks for so many times the limit must get all of it. */
const AMPLE = 1.5

/**
 * Counts from outside what was admitted, by counter and window, and compares it with the limits. It forgets windows
 * that it has judged.
 */
export class Ledger {
  private readonly windows = new Map<number, Map<string, Tally>>()
  /** Windows that were judged, and those of them that were used to the last unit, as they had to be. */
  judged = 0
  exact = 0
  readonly problems: string[] = []

  /** @param from when it was sent, @param to when it was answered, in epoch milliseconds. */
  note(
    { bounds }: Sent,
    told: { readonly allowed: boolean; readonly degraded: boolean },
    from: number,
    to: number,
  ): void {
    const window = Math.floor(from / WINDOW_MS)
    const answered = Math.floor(to / WINDOW_MS)
    for (const { counter, limit, consistency } of bounds) {
      const tally = this.tally(window, counter, limit, consistency)
      tally.asked++
      if (told.degraded) tally.degraded++
      else if (told.allowed && answered === window) tally.sure++
      else if (told.allowed)
        for (const either of [window, answered]) this.tally(either, counter, limit, consistency).edge++
    }
  }

  /** Judges the windows whose last answers have come. @param since the first window that was whole. */
  judge(now: number, since: number): void {
    const current = Math.floor(now / WINDOW_MS)
    for (const [window, tallies] of this.windows) {
      if (window >= current - 1) continue
      this.windows.delete(window)
      if (window < Math.ceil(since / WINDOW_MS)) continue
      for (const [counter, tally] of tallies) this.judgeOne(window, counter, tally)
    }
  }

  private judgeOne(window: number, counter: string, { limit, consistency, sure, edge, asked, degraded }: Tally): void {
    this.judged++
    const what = `${counter}, window ${window}: ${sure} and ${edge} on its edge admitted of ${asked}, the limit is ${limit}`
    if (sure > limit) this.problems.push(`too many: ${what}`)
    if (degraded > 0 || asked < AMPLE * limit) return // a lost answer may have cost a unit
    const least = consistency === 'strict' ? limit : Math.floor(limit * 0.95)
    if (sure + edge < least) this.problems.push(`too few: ${what}`)
    else this.exact++
  }

  private tally(window: number, counter: string, limit: number, consistency: 'strict' | 'leased'): Tally {
    const tallies = this.windows.get(window) ?? new Map<string, Tally>()
    this.windows.set(window, tallies)
    const tally = tallies.get(counter) ?? { limit, consistency, sure: 0, edge: 0, asked: 0, degraded: 0 }
    tallies.set(counter, tally)
    return tally
  }
}

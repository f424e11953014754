/**
 * Does something, and fails if it takes longer. A timer of the same process judges, so a machine that is busy with
 * something else fails nothing.
 *
 * @param ms the time that it may take.
 */
export async function inTime<T>(ms: number, action: () => Promise<T>): Promise<T> {
  const done = action()
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([done, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Between two ticks, in milliseconds; a gap counts as twice that at most. */
const TICK_MS = 5

/**
 * Time in which this process could run: what another program, or the collector, took from it counts for little. So a
 * busy machine fails no test of how soon something happens, and a wait of the code itself counts in full.
 */
export class OwnTime {
  private readonly ticks: number[] = []
  private readonly timer = setInterval(() => this.ticks.push(performance.now()), TICK_MS)

  /** Milliseconds between two moments, by `performance.now`, since this was made. */
  between(from: number, to: number): number {
    let last = from
    let sum = 0
    for (const at of [...this.ticks.filter((tick) => tick > from && tick < to), to]) {
      sum += Math.min(at - last, 2 * TICK_MS)
      last = at
    }
    return sum
  }

  stop(): void {
    clearInterval(this.timer)
  }
}

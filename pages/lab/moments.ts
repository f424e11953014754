import type { Run } from './model/run'
import type { RowRun } from './model/run-row'

/** How many of these ascending numbers are at most `limit`. */
function countUntil(numbers: Float64Array, limit: number): number {
  let [low, high] = [0, numbers.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (numbers[middle]! <= limit) low = middle + 1
    else high = middle
  }
  return low
}

/** The next moment at which a request comes to any row; the end where none does. */
export const momentAfter = ({ rows, durationMs }: Run, at: number): number =>
  rows.reduce((next, { times }) => Math.min(next, times[countUntil(times, at)] ?? next), durationMs)

/** The moment of the last request before that, of any row; the beginning where there is none. */
export const momentBefore = ({ rows }: Run, at: number): number =>
  rows.reduce((last, { times }) => Math.max(last, times[countUntil(times, at - 0.5) - 1] ?? last), 0)

/** How a row stands at a moment. */
export interface Standing {
  readonly allowed: number
  readonly denied: number
  readonly inWindow: number
}

export function standingAt({ times, allowed, passes }: RowRun, windowMs: number, at: number): Standing {
  const came = countUntil(times, at)
  let admitted = 0
  for (let i = 0; i < came; i++) admitted += allowed[i]!
  return {
    allowed: admitted,
    denied: came - admitted,
    inWindow: countUntil(passes, at) - countUntil(passes, at - windowMs),
  }
}

/**
 * The request of each row that is explained at a moment: the latest that has come. When all is over, the first that was
 * denied.
 */
export const explainedAt = ({ rows, durationMs }: Run, at: number): number[] =>
  rows.map(({ times, allowed }) => {
    const firstDenied = at >= durationMs ? allowed.indexOf(0) : -1
    return firstDenied >= 0 ? firstDenied : countUntil(times, at) - 1
  })

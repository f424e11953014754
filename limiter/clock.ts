import { ClockError, LATEST_MS } from './errors'

/** Milliseconds since 1970-01-01T00:00:00Z, a whole number. */
export type EpochMs = number

/**
 * Whole milliseconds; a fraction is dropped.
 *
 * @throws ClockError for what is no time, such as NaN, one before 1970, or microseconds.
 */
export function toEpochMs(time: unknown): EpochMs {
  if (typeof time !== 'number' || !(time >= 0 && time <= LATEST_MS)) throw new ClockError(time)
  return Math.floor(time)
}

/** Tells the time. Passed in everywhere, so that tests and simulations own it. */
export type Clock = () => EpochMs

export const systemClock: Clock = () => Date.now()

/**
 * How far our clock may be off before it is not gone by any more. An answer's date is cut to the second, which comes on
 * top.
 */
const MAX_OFF_MS = 60_000
const DATE_STEP_MS = 1000
/**
 * A call during which our clock went by that much faster or slower than time does says nothing: it was set, or we were
 * frozen.
 */
const STEADY_MS = 1000

/**
 * The system's clock, compared with the date of every answer. While it is more than a minute off, time goes by the last
 * answer instead.
 *
 * The answer was dated while the call was under way, so our clock is wrong only if that date lies outside of what it
 * showed from the call's start to its end: an instance that was frozen in between took longer, and is not wrong for
 * that.
 */
export class ServerTime {
  /** The last answer's date and its time by a monotonic clock, while the system clock is wrong. */
  private lastAnswer: { readonly at: EpochMs; readonly cameAt: number } | undefined

  /**
   * @param onChange called when our clock is found wrong, and right again, with the milliseconds that it is ahead.
   * @param elapsed milliseconds by a monotonic clock.
   */
  constructor(
    private readonly clock: Clock,
    private readonly onChange: (state: 'wrong' | 'right', offMs: number) => void,
    private readonly elapsed: () => number = () => performance.now(),
  ) {}

  now(): EpochMs {
    return this.lastAnswer ? this.lastAnswer.at + (this.elapsed() - this.lastAnswer.cameAt) : this.clock()
  }

  /** To be called as a call begins; what it returns, with the answer's date. */
  begin(): (date: EpochMs) => void {
    const beganAt = this.clock()
    const elapsedThen = this.elapsed()
    return (date) => this.compare(date, beganAt, this.clock(), elapsedThen)
  }

  private compare(date: EpochMs, beganAt: EpochMs, endedAt: EpochMs, elapsedThen: number): void {
    const cameAt = this.elapsed()
    const isSteady = Math.abs(endedAt - beganAt - (cameAt - elapsedThen)) <= STEADY_MS
    const isWrong = date + DATE_STEP_MS < beganAt - MAX_OFF_MS || date > endedAt + MAX_OFF_MS
    if (!isSteady && isWrong !== (this.lastAnswer !== undefined)) return
    if (isWrong !== (this.lastAnswer !== undefined)) {
      this.onChange(isWrong ? 'wrong' : 'right', Math.round(endedAt - date))
    }
    this.lastAnswer = isWrong ? { at: date, cameAt } : undefined
  }
}

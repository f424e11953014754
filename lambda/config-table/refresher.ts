import type { Clock, EpochMs } from '../../limiter/clock'
import { waitAtMost } from '../../limiter/deadline'
import type { BegunReading } from './first-readings'

export interface RefresherOptions<T> {
  readonly clock: Clock
  /** The age from which the value is read again while requests go on, in milliseconds. */
  readonly refreshMs: number
  /** The age from which a request waits for that reading, in milliseconds. */
  readonly maxAgeMs: number
  /** Time for one reading, in milliseconds. */
  readonly deadlineMs: number
  /**
   * Reads the value.
   *
   * @param awaited whether a request waits for it, so that a failure is worth a second attempt.
   * @param begun what `first` reads, where this reading is that one.
   */
  readonly read: (awaited: boolean, begun?: Promise<T>) => Promise<T>
  /** Stands for the first reading, unless it has failed or is too old when the first request comes. @default none */
  readonly first?: BegunReading<T>
  /**
   * Applies what was read, unless `isSuperseded` says that a later reading has begun meanwhile. Returns whether there
   * is a value that requests can be decided by.
   */
  readonly apply: (result: T, isSuperseded: () => boolean) => boolean | Promise<boolean>
  readonly onError: (error: unknown) => void
}

/** A call to the config table. One that exceeds its deadline was frozen with its instance. */
export interface Reading {
  readonly startedAt: EpochMs
  done: Promise<void>
}

type Times = Pick<RefresherOptions<unknown>, 'clock' | 'deadlineMs'>

/** Whether its result still counts. One in the future began before the clock was set back, and is ignored. */
export const isUnderWay = ({ startedAt }: Reading, { clock, deadlineMs }: Times): boolean =>
  clock() >= startedAt && clock() - startedAt <= deadlineMs

/** A frozen one ended at its deadline: nothing is paused when the instance goes on. */
export const endOf = ({ startedAt }: Reading, { clock, deadlineMs }: Times): EpochMs =>
  Math.min(clock(), startedAt + deadlineMs)

/** Pause after a failed reading, in milliseconds, so that a failing table is not queried with every request. */
const RETRY_AFTER_MS = 1000

/** The longest that a request waits for a reading while an older value exists, in milliseconds. */
export const MAX_WAIT_MS = 600

/** The share of its time to live after which a value is read again in the background, so that few requests wait. */
export const REFRESH_SHARE = 5 / 6

/** After so many milliseconds a value for which a request waits is read a second time. */
export const SECOND_READING_AFTER_MS = 250

/**
 * The longest pause between two requests that wait without success, in milliseconds. The pause starts at one second and
 * doubles.
 */
const MAX_PAUSE_MS = 30_000

/**
 * Decides when a value of the config table is read again, and which request waits for it. As long as the table answers
 * in time, the reading of the value that decides a request began at most `maxAgeMs` ago. While it does not, the last
 * value stays in force, and few requests wait.
 *
 * The age of a value counts from the beginning of its reading. A reading that exceeds its deadline was frozen with its
 * instance: a new one begins, and the result of the frozen one is dropped.
 */
export class Refresher<T> {
  private readAt: EpochMs = Number.NEGATIVE_INFINITY
  private failedAt: EpochMs = Number.NEGATIVE_INFINITY
  private waitedAt: EpochMs = Number.NEGATIVE_INFINITY
  private waitPauseMs = 0
  private hasValue = false
  private reading: Reading | undefined
  private first: BegunReading<T> | undefined

  constructor(private readonly options: RefresherOptions<T>) {
    this.first = options.first
  }

  /** Resolves when a request may be decided by the present value. Never rejects. */
  async refresh(): Promise<void> {
    const { refreshMs, maxAgeMs } = this.options
    const isTooOld = !this.isWithin(maxAgeMs, this.readAt)
    if (isTooOld || !this.isWithin(refreshMs, this.readAt)) this.begin(isTooOld)
    const { reading } = this
    if (!reading) return
    if (!this.hasValue) return reading.done
    if (!isTooOld || this.isWithin(this.waitPauseMs, this.waitedAt)) return
    const before = this.readAt
    await waitAtMost(MAX_WAIT_MS, reading.done)
    // another request that waited at the same time may have begun the pause
    if (this.readAt !== before || this.isWithin(this.waitPauseMs, this.waitedAt)) return
    this.waitPauseMs = Math.min(MAX_PAUSE_MS, this.waitPauseMs * 2 || RETRY_AFTER_MS)
    this.waitedAt = endOf(reading, this.options)
  }

  /** Makes the next request start a reading in the background. */
  readSoon(): void {
    this.readAt = Math.min(this.readAt, this.options.clock() - this.options.refreshMs)
  }

  private begin(awaited: boolean): void {
    const { clock, maxAgeMs } = this.options
    if (this.reading && isUnderWay(this.reading, this.options)) return
    if (this.isWithin(Math.min(RETRY_AFTER_MS, maxAgeMs), this.failedAt)) return
    const begun = this.takeFirst()
    const reading: Reading = { startedAt: begun?.startedAt ?? clock(), done: Promise.resolve() }
    this.reading = reading
    reading.done = this.run(reading, awaited, begun?.result)
  }

  private takeFirst(): BegunReading<T> | undefined {
    const { first } = this
    const { maxAgeMs, deadlineMs } = this.options
    this.first = undefined
    return first && !first.hasFailed && this.isWithin(Math.min(maxAgeMs, deadlineMs), first.startedAt)
      ? first
      : undefined
  }

  private async run(reading: Reading, awaited: boolean, begun: Promise<T> | undefined): Promise<void> {
    const isSuperseded = () => this.reading !== reading
    try {
      const result = await this.options.read(awaited, begun)
      if (isSuperseded()) return
      const isUsable = await this.options.apply(result, isSuperseded)
      if (isSuperseded()) return
      if (isUsable) this.succeed(reading)
      else this.failedAt = endOf(reading, this.options)
    } catch (error) {
      if (isSuperseded()) return
      this.failedAt = endOf(reading, this.options)
      this.options.onError(error)
    } finally {
      if (isSuperseded())
        await this.reading?.done // so that who waits for this one waits for the later one
      else this.reading = undefined
    }
  }

  private succeed({ startedAt }: Reading): void {
    this.readAt = startedAt
    this.hasValue = true
    this.waitPauseMs = 0
  }

  /** A moment in the future was recorded before the clock was set back, and is ignored. */
  private isWithin(ms: number, since: EpochMs): boolean {
    const age = this.options.clock() - since
    return age >= 0 && age < ms
  }
}

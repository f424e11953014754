import type { Clock, EpochMs } from './clock'

export interface CircuitBreakerOptions {
  readonly clock: Clock
  /** A number from 0 to 1, as `Math.random` gives. */
  readonly random?: () => number
  readonly onChange?: (state: 'open' | 'closed') => void
}

/** Failures are counted over this many milliseconds. */
const PERIOD_MS = 10_000
/** It opens at so many failures, if they are half of all calls. */
const MIN_FAILURES = 5
const FAILED_SHARE = 0.5
/** How long it stays open at first; each probe that fails doubles it. */
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 30_000

/**
 * Stops calls to a table that keeps failing, so that an outage costs a decision no time and the table no load, and
 * probes it: after a pause one call is let through, and if that succeeds all are. Pauses differ by up to half, so that
 * instances do not come back together.
 */
export class CircuitBreaker {
  private periodStart: EpochMs = 0
  private calls = 0
  private failures = 0
  private pauseMs = 0
  private openUntil: EpochMs = 0
  private probedAt: EpochMs | undefined

  constructor(private readonly options: CircuitBreakerOptions) {}

  get isOpen(): boolean {
    return this.pauseMs > 0
  }

  /** Whether a call may be made now. A caller that gets `true` has to `report` the outcome. */
  allows(): boolean {
    if (!this.isOpen) return true
    const now = this.options.clock()
    const early = now < this.openUntil && now > this.openUntil - 2 * MAX_PAUSE_MS // unless the clock was set back
    // a probe that takes longer was frozen with its instance
    const probing = this.probedAt !== undefined && Math.abs(now - this.probedAt) < MAX_PAUSE_MS
    if (probing || early) return false
    this.probedAt = now
    return true
  }

  /** Lets a probe through within so many milliseconds: somebody waits for the table. */
  probeWithin(ms: number): void {
    this.openUntil = Math.min(this.openUntil, this.options.clock() + ms)
  }

  /** @param at when the call ended. @default now */
  report(succeeded: boolean, at = this.options.clock()): void {
    if (this.isOpen) {
      this.probed(succeeded, at)
      return
    }
    if (Math.abs(at - this.periodStart) >= PERIOD_MS) {
      this.periodStart = at
      this.calls = this.failures = 0
    }
    this.calls++
    if (succeeded) return
    this.failures++
    if (this.failures >= MIN_FAILURES && this.failures >= FAILED_SHARE * this.calls) this.open(FIRST_PAUSE_MS, at)
  }

  /** Calls that were under way when it opened come in here, too: what they say is as good as a probe's. */
  private probed(succeeded: boolean, at: EpochMs): void {
    const wasProbe = this.probedAt !== undefined
    this.probedAt = undefined
    if (!succeeded) {
      if (wasProbe) this.open(Math.min(MAX_PAUSE_MS, this.pauseMs * 2), at)
      return
    }
    this.pauseMs = this.calls = this.failures = 0
    this.options.onChange?.('closed')
  }

  private open(pauseMs: number, at: EpochMs): void {
    if (!this.isOpen) this.options.onChange?.('open')
    const { random = Math.random } = this.options
    this.pauseMs = pauseMs
    this.openUntil = at + pauseMs * (0.5 + random())
  }
}

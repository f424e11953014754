import { CircuitBreaker } from '../circuit-breaker'
import type { Clock, EpochMs } from '../clock'
import { type StoreFailure, StoreUnavailableError } from '../errors'
import { type EndSignal, type Item, type ItemWrite, MARKS, type StateStore, type WriteId, type WriteOutcome } from '../state/store'
import { Deadline } from './deadline'
import type { OnEvent } from './events'

export interface StoreCallsOptions {
  readonly store: StateStore
  readonly clock: Clock
  /** Time for one decision, in milliseconds. */
  readonly deadlineMs: number
  /** The same until the store has answered for the first time: a connection has to be made. */
  readonly firstDeadlineMs: number
  readonly onEvent: OnEvent
}

/** Failures after which the same call may succeed, and after which a write may have been applied. */
const WORTH_ANOTHER_TRY: readonly StoreFailure[] = ['timeout', 'unreachable', 'malformed', 'throttled']
/** Failures that say nothing about the table as a whole. */
const OF_ONE_ITEM: readonly StoreFailure[] = ['hot-key', 'contention']
const MOST_TRIES = 3
const FIRST_PAUSE_MS = 15

/** A limiter's calls to its store: each inside a deadline, again where that is safe and may help, and none while the circuit is open. */
export class StoreCalls {
  /** Whether the store has ever answered. */
  reached = false
  private readonly mark = MARKS[Math.floor(Math.random() * MARKS.length)]!
  private lastWrite = Math.floor(Math.random() * 2 ** 32)
  private readonly circuit: CircuitBreaker
  private lastFailure: StoreFailure = 'timeout'

  constructor(private readonly options: StoreCallsOptions) {
    const { clock, onEvent } = options
    this.circuit = new CircuitBreaker({ clock, onChange: (state) => onEvent({ kind: 'circuit', state }) })
  }

  now(): EpochMs {
    return Math.max(0, Math.floor(this.options.clock()))
  }

  deadline(): Deadline {
    return new Deadline(this.reached ? this.options.deadlineMs : this.options.firstDeadlineMs)
  }

  /** Names a write, so that it counts once however often it is sent. */
  nextId(): WriteId {
    this.lastWrite = (this.lastWrite + 1) % 2 ** 32
    return { mark: this.mark, value: this.lastWrite }
  }

  read(key: string, deadline: Deadline): Promise<Item> {
    return this.tried(deadline, (signal) => this.options.store.read(key, { signal }))
  }

  write(key: string, write: ItemWrite, deadline: Deadline, tries = MOST_TRIES): Promise<WriteOutcome> {
    return this.tried(deadline, (signal) => this.options.store.write(key, write, { signal }), tries)
  }

  delete(key: string, deadline: Deadline): Promise<void> {
    return this.tried(deadline, (signal) => this.options.store.delete(key, { signal }))
  }

  private async tried<T>(deadline: Deadline, call: (signal: EndSignal) => Promise<T>, most = MOST_TRIES): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.once(deadline, tries < most ? 0.6 : 1, call)
      } catch (error) {
        if (!(error instanceof StoreUnavailableError) || this.circuit.isOpen) throw error
        const pauseMs = error.reason === 'throttled' ? FIRST_PAUSE_MS * tries * (1 + Math.random()) : 0
        if (tries >= most || !WORTH_ANOTHER_TRY.includes(error.reason) || deadline.leftMs < pauseMs + 5) throw error
        if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
    }
  }

  private async once<T>(deadline: Deadline, share: number, call: (signal: EndSignal) => Promise<T>): Promise<T> {
    if (!this.circuit.allows()) {
      throw new StoreUnavailableError(this.lastFailure, `the store is not asked for a moment, since it kept failing (${this.lastFailure})`)
    }
    const startedAt = performance.now()
    let failure: StoreFailure | undefined = 'malformed'
    try {
      const answer = await deadline.bound(share, call)
      failure = undefined
      this.reached = true
      return answer
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.lastFailure = failure = error.reason
      throw error
    } finally {
      this.circuit.report(failure === undefined || OF_ONE_ITEM.includes(failure))
      this.options.onEvent({ kind: 'store-call', ms: performance.now() - startedAt, failure })
    }
  }
}

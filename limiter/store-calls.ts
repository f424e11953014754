import { CircuitBreaker } from './circuit-breaker'
import { type Clock, type EpochMs, ServerTime, systemClock, toEpochMs } from './clock'
import { Deadline } from './deadline'
import { IN_DOUBT_FAILURES, type StoreFailure, StoreUnavailableError } from './errors'
import type { OnEvent } from './options'
import {
  type CallOptions,
  type DeleteOutcome,
  type Item,
  type ItemWrite,
  MARKS,
  type Resent,
  type SeenMarks,
  type StateStore,
  type WriteId,
  type WriteOutcome,
} from './stores/store'

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
const OF_ONE_ITEM: readonly StoreFailure[] = ['hot-key', 'contention', 'item']
const MAX_TRIES = 3
const FIRST_PAUSE_MS = 15
const PROBE_SOON_MS = 500

/**
 * Ids have twelve digits at most, seven bytes in an item, and lie above those of releases whose ids ended below 2^32.
 */
const LOWEST_ID = 2 ** 32
const HIGHEST_ID = 10 ** 12
/** Ids of one range; after so many writes a process draws the next. */
const RANGE = 2 ** 20

/**
 * An outcome, and whether an earlier try of the same call got no answer, so that it may have been applied before or may
 * yet be.
 */
export type Tried<T> = T & { readonly afterDoubt: boolean }

/**
 * A limiter's calls to its store: each inside a deadline, again where that is safe and may help, and none while the
 * circuit is open.
 */
export class StoreCalls {
  /** Whether the store has ever answered. */
  reached = false
  private mark = anyOf(MARKS)
  /** The subject of the last write that was applied. */
  private lastKey: string | undefined
  /** The last id given, and the last of its range. */
  private lastId = 0
  private rangeEnd = 0
  private readonly circuit: CircuitBreaker
  private readonly serverTime: ServerTime | undefined
  private lastFailure: StoreUnavailableError | undefined

  constructor(private readonly options: StoreCallsOptions) {
    const { clock, onEvent } = options
    // one that was given is believed
    this.serverTime =
      clock === systemClock
        ? new ServerTime(clock, (state, offMs) => onEvent({ kind: 'clock', state, offMs }))
        : undefined
    this.circuit = new CircuitBreaker({ clock, onChange: (state) => onEvent({ kind: 'circuit', state }) })
  }

  get isCircuitOpen(): boolean {
    return this.circuit.isOpen
  }

  now(): EpochMs {
    return toEpochMs(this.serverTime ? this.serverTime.now() : this.options.clock())
  }

  deadline(): Deadline {
    return new Deadline(this.reached ? this.options.deadlineMs : this.options.firstDeadlineMs)
  }

  /** Asks a store that keeps failing again within half a second, however long it has been away. */
  probeSoon(): void {
    this.circuit.probeWithin(PROBE_SOON_MS)
  }

  /** Names a write, so that it counts once however often it is sent. */
  nextId(): WriteId {
    if (this.lastId >= this.rangeEnd) this.drawRange()
    return { mark: this.mark, value: ++this.lastId, rangeEnd: this.rangeEnd }
  }

  read(key: string, deadline: Deadline): Promise<Item> {
    return this.tried(deadline, (options) => this.options.store.read(key, options), asAnswered)
  }

  write(key: string, write: ItemWrite, deadline: Deadline, tries = MAX_TRIES): Promise<Tried<WriteOutcome>> {
    return this.tried(
      deadline,
      (options) => this.options.store.write(key, write, options),
      (outcome, afterDoubt) => {
        this.avoidOthers(key, outcome)
        return withDoubt(outcome, afterDoubt)
      },
      tries,
    )
  }

  delete(key: string, whileMarks: SeenMarks, deadline: Deadline): Promise<Tried<DeleteOutcome>> {
    return this.tried(deadline, (options) => this.options.store.delete(key, whileMarks, options), withDoubt)
  }

  private drawRange(): void {
    this.lastId = LOWEST_ID + Math.floor(Math.random() * (HIGHEST_ID - LOWEST_ID - RANGE))
    this.rangeEnd = this.lastId + RANGE
  }

  /**
   * Who finds that another process writes to the subject under its mark takes a mark that nobody has there, if there
   * is one, so that neither hides what the other wrote. An id of our range that we have not given is another process's:
   * our writes would be taken for older than its.
   */
  private avoidOthers(key: string, { kind, item: { marks } }: WriteOutcome): void {
    const found = marks[this.mark]
    const isOurs = found === undefined || (found > this.rangeEnd - RANGE && found <= this.lastId)
    if (!isOurs && found > this.lastId && found <= this.rangeEnd) this.drawRange()
    if (!isOurs && this.lastKey === key) {
      const free = MARKS.filter((mark) => marks[mark] === undefined)
      this.mark = anyOf(free.length > 0 ? free : MARKS)
    }
    if (kind === 'applied') this.lastKey = key
  }

  /**
   * A call with all its tries, which the circuit breaker takes for one: a table that fails some of its calls answers
   * most of those that are tried again, and is not given up.
   *
   * @param toResult makes the result of the answer. @param afterDoubt an earlier try got no answer
   */
  private async tried<Answer, Result>(
    deadline: Deadline,
    call: (options: CallOptions) => Promise<Answer>,
    toResult: (answer: Answer, afterDoubt: boolean) => Result,
    most = MAX_TRIES,
  ): Promise<Result> {
    this.throwIfOpen()
    const isProbe = this.circuit.isOpen
    let answered = false
    let afterDoubt = false
    try {
      for (let tries = 1; ; tries++) {
        const startedAt = performance.now()
        const onServerTime = this.serverTime?.begin()
        let answer: Answer
        try {
          answer = await deadline.bound(tries < most ? 0.6 : 1, (signal) => call({ signal, onServerTime }))
        } catch (error) {
          const reason = error instanceof StoreUnavailableError ? error.reason : undefined
          this.tell(startedAt, reason ?? 'malformed')
          if (reason === undefined) throw error
          if (IN_DOUBT_FAILURES.includes(reason)) afterDoubt = true
          answered = OF_ONE_ITEM.includes(reason)
          if (!answered) this.lastFailure = error as StoreUnavailableError
          const pauseMs = reason === 'throttled' ? FIRST_PAUSE_MS * tries * (1 + Math.random()) : 0
          const givenUp = this.circuit.isOpen && !isProbe // by others, meanwhile
          if (givenUp || tries >= most || !WORTH_ANOTHER_TRY.includes(reason) || deadline.leftMs < pauseMs + 5)
            throw error
          if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
          continue
        }
        answered = this.reached = true
        this.tell(startedAt)
        return toResult(answer, afterDoubt)
      }
    } finally {
      this.circuit.report(answered)
    }
  }

  private tell(startedAt: number, failure?: StoreFailure): void {
    this.options.onEvent({ kind: 'store-call', ms: performance.now() - startedAt, failure })
  }

  private throwIfOpen(): void {
    if (this.circuit.allows()) return
    throw new StoreUnavailableError(
      this.lastFailure?.reason ?? 'timeout',
      `the store is not called for a moment, because it kept failing (${this.lastFailure?.reason}): ${this.lastFailure?.message}`,
      { cause: this.lastFailure?.cause },
    )
  }
}

/** What a write or a deletion came to, whoever sent it again: we or the store's client. */
const withDoubt = <Kind extends string>(
  { kind, item, resent }: { readonly kind: Kind; readonly item: Item } & Resent,
  afterDoubt: boolean,
) => ({ kind, item, afterDoubt: afterDoubt || resent === true })

const asAnswered = <T>(answer: T): T => answer

const anyOf = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)]!

import { exponential, seeded } from './random'

/** The process's own, whatever `install` puts in its place. */
const afterPromises = setImmediate

/** Something that is to happen. */
export class Event {
  cancelled = false

  /**
   * @param owner who set it off: what happens to one instance's timers happens to no other's.
   * @param run a promise that it returns is waited for, in no virtual time: a call to a real engine.
   */
  constructor(
    public at: number,
    readonly order: number,
    readonly owner: unknown,
    readonly run: () => unknown,
  ) {}

  /** As Node's own timers have it. */
  unref(): this {
    return this
  }
}

export interface VirtualTimeOptions {
  /**
   * Events this close together, in milliseconds, happen before code that awaits their promises goes on: faster, and as
   * exact as that. @default 0, one at a time
   */
  readonly togetherMs?: number
  /** Until when an owner's events have to wait, in milliseconds from the start. @default none has to */
  readonly held?: (owner: unknown) => number | undefined
}

/**
 * A clock that jumps from event to event. Everything that an event sets off through promises is over before the next
 * one begins, so a run is the same each time and takes only as long as its work. Installed, it is the time of the code
 * that runs in it: timers, `performance.now`, `Date.now`, and `Math.random`.
 */
export class VirtualTime {
  /** A heap: the next one first. */
  private readonly events: Event[] = []
  private order = 0
  private elapsed = 0
  /** Whose event is happening. */
  private owner: unknown
  private readonly togetherMs: number
  private readonly held: (owner: unknown) => number | undefined

  /**
   * Asked whenever nothing is left to happen at this moment: it may make something happen before the next one comes.
   */
  idle: () => boolean = () => false

  /** @param start epoch milliseconds. */
  constructor(
    readonly start: number,
    { togetherMs = 0, held = () => undefined }: VirtualTimeOptions = {},
  ) {
    this.togetherMs = togetherMs
    this.held = held
  }

  /** Epoch milliseconds, with fractions. */
  get now(): number {
    return this.start + this.elapsed
  }

  /** Milliseconds since the start. */
  get sinceStart(): number {
    return this.elapsed
  }

  after(ms: number, run: () => unknown, owner: unknown = this.owner): Event {
    const event = new Event(this.elapsed + Math.max(0, ms), this.order++, owner, run)
    this.push(event)
    return event
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, () => resolve()))
  }

  /** Lets everything happen that happens before `ms` from the start. */
  async runUntil(ms: number): Promise<void> {
    await new Promise<void>((resolve) => afterPromises(resolve)) // what was begun before may first load its code
    for (;;) {
      while ((this.events[0]?.at ?? Infinity) > this.elapsed && this.idle());
      const [first] = this.events
      if (!first || first.at >= ms) break
      const until = Math.min(ms, first.at + this.togetherMs)
      let event = first
      do {
        this.pop()
        const happening = this.happen(event)
        if (happening) await happening
        event = this.events[0]!
      } while (event && event.at < until)
      await new Promise<void>((resolve) => afterPromises(resolve))
      this.owner = undefined
    }
    this.elapsed = Math.max(this.elapsed, ms)
  }

  /** Takes the place of the process's time. @returns what gives it back. */
  install(seed: number): () => void {
    const real = { setTimeout, clearTimeout, dateNow: Date.now, random: Math.random }
    globalThis.setTimeout = ((run: () => void, ms = 0) => this.after(ms, run)) as unknown as typeof setTimeout
    globalThis.clearTimeout = ((event?: Event) => {
      if (event) event.cancelled = true
    }) as unknown as typeof clearTimeout
    performance.now = () => this.elapsed
    Date.now = () => Math.floor(this.now)
    Math.random = seeded(seed)
    return () => {
      globalThis.setTimeout = real.setTimeout
      globalThis.clearTimeout = real.clearTimeout
      delete (performance as { now?: unknown }).now
      Date.now = real.dateNow
      Math.random = real.random
    }
  }

  /** @returns what it began, where that is a promise. */
  private happen(event: Event): Promise<unknown> | undefined {
    if (event.cancelled) return undefined
    this.elapsed = Math.max(this.elapsed, event.at)
    const until = this.held(event.owner)
    if (until === undefined) {
      this.owner = event.owner
      const begun = event.run()
      return begun instanceof Promise ? begun : undefined
    }
    if (until < Infinity) {
      event.at = Math.max(until, event.at)
      this.push(event)
    }
    return undefined
  }

  private push(event: Event): void {
    const { events } = this
    let place = events.push(event) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(event, events[parent]!)) break
      events[place] = events[parent]!
      place = parent
    }
    events[place] = event
  }

  private pop(): void {
    const { events } = this
    const last = events.pop()!
    if (events.length === 0) return
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= events.length) break
      if (child + 1 < events.length && isBefore(events[child + 1]!, events[child]!)) child++
      if (!isBefore(events[child]!, last)) break
      events[place] = events[child]!
      place = child
    }
    events[place] = last
  }
}

/** Makes something happen at random moments (Poisson), once in so many milliseconds on average, until `endMs`. */
export function atRandomMoments(
  time: VirtualTime,
  random: () => number,
  everyMs: number,
  endMs: number,
  run: () => unknown,
): void {
  const gap = exponential(random, everyMs)
  if (time.sinceStart + gap >= endMs) return
  time.after(gap, () => {
    atRandomMoments(time, random, everyMs, endMs, run)
    void run()
  })
}

const isBefore = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

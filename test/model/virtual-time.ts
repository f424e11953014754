import { seeded } from '../../bench/random'

/** The process's own, whatever `install` puts in its place. */
const afterPromises = setImmediate

/**
 * Something that is to happen. Its owner is who set it off: what happens to one instance's timers happens to no
 * other's.
 */
export interface Event {
  at: number
  readonly order: number
  readonly owner: unknown
  /** What it returns is waited for, in no virtual time: a call to a real engine. */
  readonly run: () => unknown
  cancelled: boolean
  /** As Node's own timers have it. */
  unref(): Event
}

/**
 * A clock that jumps from event to event. Everything that one event sets off through promises is over before the next
 * one begins, so a run is the same each time. Installed, it is the time of the code that runs in it: timers,
 * `performance.now`, `Date.now`, and `Math.random`.
 */
export class VirtualTime {
  /** In the order in which they happen. */
  private readonly events: Event[] = []
  private order = 0
  private elapsed = 0
  /** Whose event is happening. */
  private owner: unknown

  /**
   * Asked whenever nothing is left to happen at this moment: it may make something happen before the next one comes.
   */
  idle: () => boolean = () => false

  /** @param start epoch milliseconds. @param held whether an owner's events have to wait, and until when. */
  constructor(
    readonly start: number,
    private readonly held: (owner: unknown) => number | undefined,
  ) {}

  /** Epoch milliseconds. */
  get now(): number {
    return this.start + this.elapsed
  }

  /** Milliseconds since the start. */
  get sinceStart(): number {
    return this.elapsed
  }

  after(ms: number, run: () => unknown, owner: unknown = this.owner): Event {
    return this.add({
      at: this.elapsed + Math.max(0, ms),
      order: this.order++,
      owner,
      run,
      cancelled: false,
      unref: itself,
    })
  }

  /** Lets everything happen that happens before `ms` from the start. */
  async runUntil(ms: number): Promise<void> {
    for (;;) {
      while ((this.events[0]?.at ?? Infinity) > this.elapsed && this.idle());
      const [event] = this.events
      if (!event || event.at > ms) break
      this.events.shift()
      if (event.cancelled) continue
      this.elapsed = Math.max(this.elapsed, event.at)
      const until = this.held(event.owner)
      if (until !== undefined) {
        if (until < Infinity) {
          event.at = Math.max(until, event.at)
          this.add(event)
        }
        continue
      }
      this.owner = event.owner
      await event.run()
      await new Promise<void>((resolve) => afterPromises(resolve))
      this.owner = undefined
    }
    this.elapsed = Math.max(this.elapsed, ms)
  }

  /** Takes the place of the process's time. Returns how to give it back. */
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

  /** There are a dozen at a time, so a sorted list will do. */
  private add(event: Event): Event {
    const { events } = this
    let place = events.length
    while (place > 0 && isBefore(event, events[place - 1]!)) place--
    events.splice(place, 0, event)
    return event
  }
}

function itself(this: Event): Event {
  return this
}

const isBefore = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

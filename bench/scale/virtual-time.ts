import { seeded } from '../random'

/** An event at a moment of virtual time. */
class Event {
  cancelled = false

  constructor(
    readonly at: number,
    readonly order: number,
    readonly run: () => void,
  ) {}

  /** As Node's own timers have it. */
  unref(): this {
    return this
  }
}

/** Events this close together, in milliseconds, happen before code that awaits their promises goes on. */
const AT_ONCE_MS = 0.05

/** The process's own functions, which `install` replaces. */
const afterPromises = setImmediate

/**
 * A clock that jumps from event to event, so that a simulation takes only as long as its work. `install` puts it in the
 * place of the process's timers, `performance.now`, `Date.now` and `Math.random`, so that a run can be repeated
 * exactly.
 */
export class VirtualTime {
  private readonly heap: Event[] = []
  private order = 0
  private elapsed = 0

  /** @param start epoch milliseconds. */
  constructor(private readonly start: number) {}

  /** Epoch milliseconds, with fractions. */
  get now(): number {
    return this.start + this.elapsed
  }

  after(ms: number, run: () => void): Event {
    const event = new Event(this.elapsed + Math.max(0, ms), this.order++, run)
    this.push(event)
    return event
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  /** Runs all events before `ms` from the start. */
  async runUntil(ms: number): Promise<void> {
    for (let next = this.heap[0]; next && next.at < ms; next = this.heap[0]) {
      const until = Math.min(ms, next.at + AT_ONCE_MS)
      for (let event: Event | undefined = next; event && event.at < until; event = this.heap[0]) {
        this.pop()
        if (event.cancelled) continue
        this.elapsed = Math.max(this.elapsed, event.at)
        event.run()
      }
      await new Promise<void>((resolve) => afterPromises(resolve))
    }
    this.elapsed = Math.max(this.elapsed, ms)
  }

  /** Replaces the process's time. @returns what restores it. */
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

  private push(event: Event): void {
    const { heap } = this
    let place = heap.push(event) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (!isBefore(event, heap[parent]!)) break
      heap[place] = heap[parent]!
      place = parent
    }
    heap[place] = event
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop()!
    if (heap.length === 0) return
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[place] = heap[child]!
      place = child
    }
    heap[place] = last
  }
}

const isBefore = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)

import type { Charge, CompiledPolicy } from '../../facade/decisions'
import type { Hold } from '../../facade/simulation'
import type { EpochMs } from '../../facade/values'

/** What a request holds of one subject, and gives back when it ends. */
export interface Running {
  readonly key: string
  readonly policies: readonly CompiledPolicy[]
  readonly holds: readonly Hold[]
  readonly startedAt: EpochMs
  readonly endsAt: EpochMs
}

/** The slots that an allowed request gives back when it ends. Reservations are settled by nobody here. */
export function runningOf(parts: readonly Charge[], startedAt: EpochMs, durationMs: number): Running[] {
  return parts.flatMap(({ key, policies, holds }): Running[] => {
    const slots = policies.filter(({ counter, isInternal }) => counter.isEndedByOthers && !isInternal)
    return holds && slots.length > 0 ? [{ key, policies: slots, holds, startedAt, endsAt: startedAt + durationMs }] : []
  })
}

/** Requests that run, the one that ends first at the top of a heap. */
export class RunningRequests {
  private readonly heap: Running[] = []

  add(one: Running): void {
    const { heap } = this
    let place = heap.push(one) - 1
    while (place > 0) {
      const parent = (place - 1) >> 1
      if (heap[parent]!.endsAt <= one.endsAt) break
      heap[place] = heap[parent]!
      place = parent
    }
    heap[place] = one
  }

  /** Takes the next one that has ended by then. */
  endedBy(now: EpochMs): Running | undefined {
    const [first] = this.heap
    if (!first || first.endsAt > now) return undefined
    const last = this.heap.pop()!
    if (this.heap.length > 0) this.sink(last)
    return first
  }

  private sink(one: Running): void {
    const { heap } = this
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && heap[child + 1]!.endsAt < heap[child]!.endsAt) child++
      if (heap[child]!.endsAt >= one.endsAt) break
      heap[place] = heap[child]!
      place = child
    }
    heap[place] = one
  }
}

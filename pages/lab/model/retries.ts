/** A try of a request that was denied before. */
export interface Try {
  readonly at: number
  readonly client: number
  /** When it was first tried. */
  readonly since: number
  /** How often it was denied. */
  readonly denials: number
}

/** A try and its turn among those of one moment. */
interface Waiting {
  readonly one: Try
  readonly turn: number
}

const isBefore = (a: Waiting, b: Waiting): boolean => a.one.at < b.one.at || (a.one.at === b.one.at && a.turn < b.turn)

/** Tries to come: a binary heap, since tens of thousands may wait. Of one moment, who came first is first. */
export class Retries {
  private readonly heap: Waiting[] = []
  private turns = 0

  add(one: Try): void {
    const { heap } = this
    const added = { one, turn: this.turns++ }
    let i = heap.length
    for (let above = (i - 1) >> 1; i > 0 && isBefore(added, heap[above]!); above = (i - 1) >> 1) {
      heap[i] = heap[above]!
      i = above
    }
    heap[i] = added
  }

  /** The next one, if it comes before that moment. */
  before(moment: number): Try | undefined {
    const { heap } = this
    const next = heap[0]?.one
    if (!next || next.at >= moment) return undefined
    const last = heap.pop()!
    let i = 0
    for (let below = 1; below < heap.length; below = 2 * i + 1) {
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (!isBefore(heap[below]!, last)) break
      heap[i] = heap[below]!
      i = below
    }
    if (heap.length > 0) heap[i] = last
    return next
  }
}

import { type Item, MARKS } from './stores/store'

/** The ids of one writer ascend, and lie within this range of each other. */
const ID_RANGE = 2 ** 20

/** A process that has not been seen to write for so many rounds waits no more. */
const MAX_ROUNDS_UNSEEN = 3

interface Writer {
  id: number
  /** When it was last seen to write; `undefined` where that was before the first time. */
  round: number | undefined
}

/**
 * Counts the processes that write to a subject, this one included, by the idempotency marks of its item: each has a
 * range of ids, and one that has moved was written since. Processes share eight marks; who finds another's writes under
 * its own takes another one.
 */
export class Rivals {
  private writers: Writer[] = []
  private round = 0
  private isFirst = true

  get count(): number {
    return Math.max(1, this.writers.filter(({ round }) => round !== undefined).length)
  }

  observe(item: Item | undefined): void {
    for (const mark of MARKS) {
      const id = item?.marks[mark]
      if (id === undefined) continue
      const known = this.writers.find((writer) => Math.abs(id - writer.id) < ID_RANGE)
      if (!known) this.writers.push({ id, round: this.isFirst ? undefined : this.round })
      else if (id > known.id) Object.assign(known, { id, round: this.round })
    }
    this.isFirst &&= item === undefined
  }

  /** A round is over: this process has had its turn, and waits for the next. */
  nextRound(): void {
    this.round++
    this.writers = this.writers.filter(({ round }) => round === undefined || round >= this.round - MAX_ROUNDS_UNSEEN)
  }
}

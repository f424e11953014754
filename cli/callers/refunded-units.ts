import { type CompiledPolicy, emissionUs, unitsReturned } from '../facade/limiter'
import {
  type CallOptions,
  type DeleteOutcome,
  type Item,
  type ItemWrite,
  NO_ITEM,
  type SeenMarks,
  type StateStore,
  type WriteOutcome,
} from '../facade/tables'

/** A write that was tried, and the item over which it was planned. */
interface Attempt {
  readonly key: string
  readonly write: ItemWrite
  readonly seen: Item
}

/**
 * A store that notes what refunds through it gave back. A write whose answer was lost counts once its mark is seen in
 * the item.
 */
export class RefundRecorder implements StateStore {
  private readonly seen = new Map<string, Item>()
  private attempts: Attempt[] = []
  private readonly applied: Attempt[] = []

  constructor(private readonly store: StateStore) {}

  async read(key: string, options?: CallOptions): Promise<Item> {
    return this.noted(key, await this.store.read(key, options))
  }

  async write(key: string, write: ItemWrite, options?: CallOptions): Promise<WriteOutcome> {
    const attempt = { key, write, seen: this.seen.get(key) ?? NO_ITEM }
    this.attempts = [...this.attempts.filter((one) => one.write.id.value !== write.id.value), attempt]
    const outcome = await this.store.write(key, write, options)
    if (outcome.kind === 'applied') this.settle(attempt, outcome.item)
    else this.noted(key, outcome.item)
    return outcome
  }

  delete(key: string, whileMarks: SeenMarks, options?: CallOptions): Promise<DeleteOutcome> {
    return this.store.delete(key, whileMarks, options)
  }

  /** Units that a policy got back in the state under a key. */
  unitsOf(key: string, { prefix, limit, windowMs }: CompiledPolicy): number {
    const parts = this.applied.flatMap((one) =>
      one.key === key ? one.write.parts.filter((part) => part.prefix === prefix).map((part) => ({ ...one, part })) : [],
    )
    return parts.reduce(
      (sum, { seen, part }) =>
        sum + unitsReturned(seen.policies[prefix] ?? {}, part.write, emissionUs(limit, windowMs)),
      0,
    )
  }

  private noted(key: string, item: Item): Item {
    this.seen.set(key, item)
    for (const attempt of this.attempts) {
      const { id } = attempt.write
      if (attempt.key === key && item.marks[id.mark] === id.value) this.settle(attempt, attempt.seen)
    }
    return item
  }

  /** @param before the item as the write found it. */
  private settle(attempt: Attempt, before: Item): void {
    this.applied.push({ ...attempt, seen: before })
    this.attempts = this.attempts.filter((one) => one !== attempt)
  }
}

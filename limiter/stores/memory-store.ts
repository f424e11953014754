import { apply, holds } from '../algorithms/conditional-write'
import {
  type DeleteOutcome,
  type Item,
  type ItemWrite,
  isOfKind,
  isPassed,
  NO_ITEM,
  type SeenMarks,
  type StateStore,
  standAsSeen,
  type WriteOutcome,
} from './store'

/** How much a `MemoryStore` keeps. */
export interface MemoryStoreOptions {
  /** Subjects kept at most; beyond it the one written longest ago is forgotten. @default 250,000 */
  readonly maxSubjects?: number | undefined
}

/**
 * A store in this process's memory: for tests, for programs that run alone, and for limiting while DynamoDB is away.
 * It follows the same guards as DynamoDB, one write after another.
 */
export class MemoryStore implements StateStore {
  /** In the order of their last write. */
  private readonly items = new Map<string, Item>()
  private readonly maxSubjects: number

  constructor({ maxSubjects = 250_000 }: MemoryStoreOptions = {}) {
    this.maxSubjects = maxSubjects
  }

  /** @internal */
  get kind(): string {
    return 'sluice:MemoryStore'
  }

  /** @internal */
  static [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a derived class asks for its own instances
    return isOfKind(this, value)
  }

  /** Subjects kept at this moment. */
  get size(): number {
    return this.items.size
  }

  async write(key: string, write: ItemWrite): Promise<WriteOutcome> {
    const item = this.items.get(key) ?? NO_ITEM
    const { id, whileMarks } = write
    if (item.marks[id.mark] === id.value) return { kind: 'already-applied', item }
    if (isPassed(item, id) || (whileMarks && !standAsSeen(item, whileMarks))) return { kind: 'refused', item }

    const inTime = write.expiresAtSeconds === undefined || item.expiresAtSeconds <= write.expiresAtSeconds
    if (!inTime || !write.parts.every((part) => holds(part.write.guard, item.policies[part.prefix] ?? {}))) {
      return { kind: 'refused', item }
    }
    this.items.delete(key)
    this.items.set(key, afterWrite(item, write))
    this.forget(write.at)
    return { kind: 'applied', item }
  }

  async read(key: string): Promise<Item> {
    return this.items.get(key) ?? NO_ITEM
  }

  async delete(key: string, whileMarks: SeenMarks): Promise<DeleteOutcome> {
    const item = this.items.get(key) ?? NO_ITEM
    if (!standAsSeen(item, whileMarks)) return { kind: 'refused', item }
    this.items.delete(key)
    return { kind: 'deleted', item }
  }

  /** Drops what has expired among the items written longest ago, and the oldest of all while there are too many. */
  private forget(at: number): void {
    for (const key of this.items.keys()) {
      const { expiresAtSeconds } = this.items.get(key)!
      const expired = expiresAtSeconds > 0 && expiresAtSeconds * 1000 < at
      if (!expired && this.items.size <= this.maxSubjects) return
      this.items.delete(key)
    }
  }
}

/** The item as it is after a write, whatever became of it. */
export const itemAfter = ({ kind, item }: WriteOutcome, write: Omit<ItemWrite, 'at'>): Item =>
  kind === 'applied' ? afterWrite(item, write) : item

/** The item that a write leaves behind, given the one that it found. */
export function afterWrite(item: Item, { parts, id, expiresAtSeconds }: Omit<ItemWrite, 'at'>): Item {
  const policies = { ...item.policies }
  for (const { prefix, write } of parts) policies[prefix] = apply(write, item.policies[prefix] ?? {})
  const marks = { ...item.marks, [id.mark]: id.value }
  return { policies, expiresAtSeconds: expiresAtSeconds ?? item.expiresAtSeconds, marks }
}

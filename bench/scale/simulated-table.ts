import {
  type Item,
  type ItemWrite,
  MemoryStore,
  type StateStore,
  StoreUnavailableError,
  type WriteOutcome,
} from '../../limiter'
import { exponential } from '../random'
import type { VirtualTime } from '../virtual-time'
import { PerSecond } from './allowance'
import { PUBLISHED } from './published-limits'

/** Simulated events this close together, in milliseconds, happen at once: `VirtualTime`. */
export const TOGETHER_MS = 0.05

export interface SimulatedTableOptions {
  readonly time: VirtualTime
  readonly random: () => number
  /** Write units a second that the whole table takes. */
  readonly writesPerSecond: number
  /**
   * Partitions of a table that has not split any yet: their items share what one of them takes. @default each item has
   * a partition's whole share
   */
  readonly partitions?: number | undefined
  /** One of so many partitions takes nothing for a while, in epoch milliseconds. */
  readonly throttled?: Throttled | undefined
  /** What a call takes, in milliseconds. @default 2 and more, 4 on average */
  readonly latencyMs?: number
}

interface Throttled {
  readonly partitions: number
  readonly partition: number
  readonly from: number
  readonly until: number
}

/** A call's way there and back, in milliseconds: at least the first, and the second more on average. */
const LATENCY = { least: 2, more: 2 } as const

/**
 * A state table in virtual time, with DynamoDB's limits: calls take time, are applied one after another, and are
 * refused above what an item, or the table, takes in a second. Items are smaller than a kilobyte, so each write
 * is one unit, whether or not its condition holds.
 */
export class SimulatedTable implements StateStore {
  /** Calls that were billed. */
  writes = 0
  reads = 0
  /** Writes among them whose condition did not hold. */
  refused = 0
  /** Calls that were refused: by the limit of an item, and by that of the table. */
  readonly throttled = { item: 0, table: 0 }
  /** The most writes that were sent to one item within a second of the clock, refused ones included. */
  mostWritesPerSecond = 0
  private readonly store = new MemoryStore({ maxSubjects: Number.POSITIVE_INFINITY })
  private readonly table: { readonly write: PerSecond; readonly read: PerSecond }
  private readonly items = new Map<string | number, ItemShare>()

  constructor(private readonly options: SimulatedTableOptions) {
    const { writesPerSecond } = options
    // Three reads for each write, as a new table and each partition have it.
    this.table = { write: new PerSecond(writesPerSecond), read: new PerSecond(3 * writesPerSecond) }
  }

  async write(key: string, write: ItemWrite): Promise<WriteOutcome> {
    const outcome = await this.call(key, 'write', () => this.store.write(key, write))
    if (outcome.kind === 'refused') this.refused++
    return outcome
  }

  async read(key: string): Promise<Item> {
    return this.call(key, 'read', () => this.store.read(key))
  }

  async delete(...[key, whileMarks]: Parameters<StateStore['delete']>): ReturnType<StateStore['delete']> {
    return this.call(key, 'write', () => this.store.delete(key, whileMarks))
  }

  private async call<Answer>(key: string, kind: 'read' | 'write', apply: () => Promise<Answer>): Promise<Answer> {
    const { time, random, latencyMs: latency = LATENCY.least + exponential(random, LATENCY.more) } = this.options
    await time.sleep(latency / 2)
    const refusal = this.charge(key, kind)
    const answer = refusal === undefined ? await apply() : undefined
    await time.sleep(latency / 2)
    if (refusal !== undefined) throw refusal
    return answer as Answer
  }

  private charge(key: string, kind: 'read' | 'write'): StoreUnavailableError | undefined {
    const { time, throttled } = this.options
    const share = this.shareOf(key)
    if (kind === 'write') this.mostWritesPerSecond = Math.max(this.mostWritesPerSecond, share.asked(time.now))
    if (!this.table[kind].take(time.now)) {
      this.throttled.table++
      return new StoreUnavailableError('throttled', 'the simulated table throttles')
    }
    if (isThrottled(key, throttled, time.now) || !share[kind].take(time.now)) {
      this.throttled.item++
      return new StoreUnavailableError('hot-key', 'an item of the simulated table gets more than it takes')
    }
    if (kind === 'write') this.writes++
    else this.reads++
    return undefined
  }

  private shareOf(key: string): ItemShare {
    const { partitions } = this.options
    const id = partitions === undefined ? key : partitionOf(key, partitions)
    let share = this.items.get(id)
    if (!share) {
      share = new ItemShare()
      this.items.set(id, share)
    }
    return share
  }
}

/** What an item takes, or a partition, and how often it was asked. */
class ItemShare {
  readonly write = new PerSecond(PUBLISHED.item)
  readonly read = new PerSecond(3 * PUBLISHED.item)
  private second = Number.NaN
  private writes = 0

  /** Counts a write that is asked for; how many that makes in this second of the clock. */
  asked(now: number): number {
    const second = Math.floor(now / 1000)
    this.writes = second === this.second ? this.writes + 1 : 1
    this.second = second
    return this.writes
  }
}

const isThrottled = (key: string, throttled: Throttled | undefined, now: number): boolean =>
  throttled !== undefined &&
  now >= throttled.from &&
  now < throttled.until &&
  partitionOf(key, throttled.partitions) === throttled.partition

/** Which of so many partitions has this key, by a part of the hash in which keys end. */
function partitionOf(key: string, partitions: number): number {
  let sum = 0
  for (let i = 1; i <= 6; i++) sum = (sum * 31 + key.charCodeAt(key.length - i)) >>> 0
  return sum % partitions
}

import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import type { Deadline } from './deadline'
import { StoreUnavailableError } from './errors'
import { expiryFor } from './expiry'
import { StoreCalls, type StoreCallsOptions, type Tried } from './store-calls'
import { fitted } from './stores/expression-budget'
import { itemAfter } from './stores/memory-store'
import {
  type Item,
  type ItemWrite,
  marksOf,
  type PolicyWrite,
  REFUND_MARK,
  type WriteId,
  type WriteOutcome,
} from './stores/store'
import { Subjects } from './subject'
import { isRecent, type View } from './view'

/** How long no write is sent to an item that was the reason why one failed. */
const ITEM_PAUSE_MS = 1000

/** No id of a write. */
const NEVER = -1

export interface SubjectItemsOptions extends StoreCallsOptions {
  /** How long a cached denial is trusted, in milliseconds, so that a reset or a raised limit takes effect. */
  readonly denialTtlMs: number
  /** Subjects whose state is remembered. */
  readonly maxSubjects: number
}

/**
 * The subjects' items: reads and writes them, and remembers what they were. Every write fits DynamoDB's limits and
 * moves the item's time to live.
 */
export class SubjectItems {
  readonly calls: StoreCalls
  /** What is remembered of them. */
  readonly subjects: Subjects

  constructor(private readonly options: SubjectItemsOptions) {
    this.calls = new StoreCalls(options)
    this.subjects = new Subjects(options.maxSubjects, () => this.now())
  }

  now(): EpochMs {
    return this.calls.now()
  }

  /** For a decision that begins now. */
  deadline(): Deadline {
    return this.calls.deadline()
  }

  /** Names a write, so that it counts once however often it is sent. */
  nextId(): WriteId {
    return this.calls.nextId()
  }

  /** What was last seen of a subject. */
  view(key: string): View | undefined {
    return this.subjects.view(key)
  }

  /** What was last seen of a subject if that is recent, else what is stored. */
  async recent(key: string, deadline: Deadline): Promise<View> {
    const view = this.view(key)
    return view && isRecent(view, this.now(), this.options.denialTtlMs) ? view : this.read(key, deadline)
  }

  async read(key: string, deadline: Deadline): Promise<View> {
    const seenAt = this.now()
    const item = await this.calls.read(key, deadline)
    this.subjects.learn(key, item, seenAt)
    return this.subjects.view(key)!
  }

  /** Fits a write into DynamoDB's limits: the store leaves nothing out of what it is handed. */
  fit(
    parts: readonly PolicyWrite[],
    policies: readonly CompiledPolicy[],
    seen: Item | undefined,
    now: EpochMs,
    id = this.nextId(),
  ): ItemWrite {
    return fitted({ parts, id, expiresAtSeconds: expiryFor(policies, seen, now), at: now })
  }

  /**
   * Sends a write. One that fails because of the item itself is not sent again as it is: the next one is made from what
   * the item is now, a moment later.
   */
  write(key: string, write: ItemWrite, deadline: Deadline): Promise<Tried<WriteOutcome>> {
    const failure = this.failureOf(key)
    if (failure) return Promise.reject(failure)
    return this.calls.write(key, write, deadline).catch(async (error) => {
      if (error instanceof StoreUnavailableError && error.reason === 'item') await this.failedBy(error, key, deadline)
      throw error
    })
  }

  /** Fits a write, sends it and remembers what the item is after it. */
  async charge(
    key: string,
    parts: readonly PolicyWrite[],
    policies: readonly CompiledPolicy[],
    seen: Item | undefined,
    now: EpochMs,
    deadline: Deadline,
    { id, whileMarks }: Partial<Pick<ItemWrite, 'id' | 'whileMarks'>> = {},
  ): Promise<Tried<WriteOutcome>> {
    return this.apply(key, { ...this.fit(parts, policies, seen, now, id), whileMarks }, deadline)
  }

  /** Sends a write and remembers what the item is after it. */
  async apply(key: string, write: ItemWrite, deadline: Deadline): Promise<Tried<WriteOutcome>> {
    const outcome = await this.write(key, write, deadline)
    this.subjects.learn(key, itemAfter(outcome, write), write.at)
    return outcome
  }

  /** What is stored, for who may write and not read: a write that is refused brings the item back. */
  async readByWrite(key: string, deadline: Deadline): Promise<Item> {
    const write = { parts: [], id: this.nextId(), whileMarks: { [REFUND_MARK]: NEVER }, at: this.now() }
    return (await this.apply(key, write, deadline)).item
  }

  /**
   * Writes denials down, for the policies that count those: while the item is as it was seen, since a denial by an
   * older one may be none. False when it is not.
   */
  async record(
    key: string,
    denials: readonly { readonly records: readonly PolicyWrite[] }[],
    policies: readonly CompiledPolicy[],
    seen: Item,
    now: EpochMs,
    deadline: Deadline,
  ): Promise<boolean> {
    for (const { records } of denials) {
      if (records.length === 0) continue
      const asSeen = { whileMarks: marksOf(seen) }
      if ((await this.charge(key, records, policies, seen, now, deadline, asSeen)).kind === 'refused') return false
    }
    return true
  }

  private failureOf(key: string): StoreUnavailableError | undefined {
    const failed = this.subjects.get(key)?.failed
    if (!failed) return undefined
    const leftMs = failed.until - this.now()
    return leftMs > 0 && leftMs <= ITEM_PAUSE_MS ? failed.error : undefined
  }

  private async failedBy(error: StoreUnavailableError, key: string, deadline: Deadline): Promise<void> {
    const record = this.subjects.of(key)
    record.failed = { error, until: this.now() + ITEM_PAUSE_MS }
    await this.read(key, deadline).catch(() => delete record.view)
  }
}

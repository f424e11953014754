import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import type { Deadline } from './deadline'
import { StoreUnavailableError } from './errors'
import { type Answer, type Call, expiryFor, type KnownItems, type Plan, writing } from './plan'
import { FleetClock } from './steps'
import { StoreCalls, type StoreCallsOptions, type Tried } from './store-calls'
import { fitted } from './stores/expression-budget'
import { itemAfter } from './stores/memory-store'
import {
  type Item,
  type ItemWrite,
  type PolicyWrite,
  REFUND_MARK,
  type WriteId,
  type WriteOutcome,
} from './stores/store'
import { Subjects } from './subject'
import { isRecent, type View } from './view'

/** No id of a write. */
const NEVER = -1

/** How long no write is sent to an item that was the reason why one failed. */
const ITEM_PAUSE_MS = 1000

/** Others would have to change the item between our call and our write this often in a row. */
const MAX_CALLS = 100

export interface SubjectItemsOptions extends StoreCallsOptions {
  /** How long a cached denial is trusted, in milliseconds, so that a reset or a raised limit takes effect. */
  readonly denialTtlMs: number
  /** Subjects whose state is remembered. */
  readonly maxSubjects: number
}

/**
 * The subjects' items: carries out what is planned for them, and remembers what they were. A charge fits DynamoDB's
 * limits and moves the item's time to live (`fit`).
 */
export class SubjectItems implements KnownItems {
  readonly calls: StoreCalls
  /** What is remembered of them. */
  readonly subjects: Subjects
  readonly fleet = new FleetClock()

  constructor(readonly options: SubjectItemsOptions) {
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

  nextId(): WriteId {
    return this.calls.nextId()
  }

  view(key: string): View | undefined {
    return this.subjects.view(key)
  }

  recentView(key: string): View | undefined {
    const view = this.view(key)
    return view && isRecent(view, this.now(), this.options.denialTtlMs) ? view : undefined
  }

  /**
   * Carries out a plan: the one loop that writes to items. Its calls are made one after another within the deadline.
   *
   * @throws StoreUnavailableError `contention` where the deadline or a hundred calls are over before the plan: others
   * keep changing the subject.
   */
  async run<T>(key: string, plan: Plan<T>, deadline = this.deadline()): Promise<T> {
    let step = plan.next()
    for (let calls = 0; !step.done; calls++) {
      let answer: Answer
      try {
        if (calls > 0 && (calls >= MAX_CALLS || deadline.leftMs <= 0)) throw contention()
        answer = await this.sent(key, step.value, deadline)
      } catch (error) {
        step = plan.throw(error)
        continue
      }
      if (step.value.kind === 'write') {
        const { write } = step.value
        this.subjects.learn(key, itemAfter(answer as WriteOutcome, write), write.at)
      }
      step = plan.next(answer)
    }
    return step.value
  }

  private sent(key: string, call: Call, deadline: Deadline): Promise<Answer> {
    if (call.kind === 'write')
      return call.isTidying ? this.calls.write(key, call.write, deadline, 1) : this.write(key, call.write, deadline)
    if (call.kind === 'delete') return this.calls.delete(key, call.whileMarks, deadline)
    return this.read(key, deadline).then(({ item }) => ({ kind: 'read', item, afterDoubt: false }))
  }

  private async read(key: string, deadline: Deadline): Promise<View> {
    const seenAt = this.now()
    const item = await this.calls.read(key, deadline)
    this.subjects.learn(key, item, seenAt)
    return this.subjects.view(key)!
  }

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
  private write(key: string, write: ItemWrite, deadline: Deadline): Promise<Tried<WriteOutcome>> {
    const failure = this.failureOf(key)
    if (failure) return Promise.reject(failure)
    return this.calls.write(key, write, deadline).catch(async (error) => {
      if (error instanceof StoreUnavailableError && error.reason === 'item') await this.failedBy(error, key, deadline)
      throw error
    })
  }

  /** What is stored, for who may write and not read: a write that is refused brings the item back. */
  *readByWrite(): Plan<Item> {
    const write = { parts: [], id: this.nextId(), whileMarks: { [REFUND_MARK]: NEVER }, at: this.now() }
    return (yield writing(write)).item
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

/** A subject changed at each try of a decision, until its time was over. */
export const contention = (): StoreUnavailableError =>
  new StoreUnavailableError('contention', 'others kept changing the subject until the deadline')

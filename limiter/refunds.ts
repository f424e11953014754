import { when } from './algorithms/conditional-write'
import type { EpochMs } from './clock'
import { fieldsOf } from './compiled-policy'
import type { Charge, ChargeTime } from './consistency/strategy'
import type { Deadline } from './deadline'
import { contention, inDoubt } from './errors'
import { refundsOf } from './refund-writes'
import type { StoreCalls, Tried } from './store-calls'
import { inWrites } from './stores/expression-budget'
import { afterWrite } from './stores/memory-store'
import {
  type Item,
  type ItemWrite,
  type PolicyWrite,
  REFUND_MARK,
  type SeenMarks,
  standAsSeen,
  type WriteOutcome,
} from './stores/store'
import type { SubjectCache, View } from './subject-cache'

/**
 * Gives back units that were charged.
 *
 * Such a write must never be applied twice, so it happens only while marks stand as seen that it changes itself: a copy
 * of it finds them changed, whoever wrote in between. A try that was refused is made again with what was found. One
 * that got no answer, and whose mark others have replaced since, is in doubt: it may have been applied, so it is given
 * up.
 */
export class Refunds {
  /**
   * @param recent what is known of a subject, read where that is too old.
   * @param read what is stored of it now.
   */
  constructor(
    private readonly calls: StoreCalls,
    private readonly cache: SubjectCache,
    private readonly recent: (key: string, deadline: Deadline) => Promise<View>,
    private readonly read: (key: string, deadline: Deadline) => Promise<View>,
  ) {}

  /**
   * Gives units back as far as they can still be found; a policy whose window has passed has none. Policies whose
   * refunds find no room in one write get several, one after another: what one of them gave back stays given back,
   * whatever comes of the next.
   */
  async refund(charge: Charge, charged: ChargeTime, deadline: Deadline): Promise<void> {
    const [, ...others] = inWrites(await this.found(charge, charged, deadline))
    const apart = others.map((parts) => new Set(parts.map(({ prefix }) => prefix)))
    const isFirst = ({ prefix }: PolicyWrite) => !apart.some((prefixes) => prefixes.has(prefix))
    await this.refundOnce(charge, isFirst, charged, deadline)
    for (const prefixes of apart) await this.refundOnce(charge, ({ prefix }) => prefixes.has(prefix), charged, deadline)
  }

  /**
   * What there is to give back. A policy that has nothing by an earlier look may have been charged since by others, so
   * that is looked up.
   */
  private async found(charge: Charge, charged: ChargeTime, deadline: Deadline): Promise<PolicyWrite[]> {
    const { key, policies } = charge
    const known = this.cache.get(key)
    const view = await this.recent(key, deadline)
    const writes = refundWrites(charge, view.item, charged, this.calls.now())
    if (view !== known || writes.length === policies.length) return writes
    const { item } = await this.read(key, deadline)
    return refundWrites(charge, item, charged, this.calls.now())
  }

  /**
   * All refunds share one mark, whichever process they come from, and nothing else changes it: charges are no conflict
   * for them. An item that has had no refund has no such mark either, and a new one after a reset looks the same; so
   * another mark must stand as seen, and where it does not for long enough, the mark is made first.
   */
  private async refundOnce(
    charge: Charge,
    isMeant: (part: PolicyWrite) => boolean,
    charged: ChargeTime,
    deadline: Deadline,
  ): Promise<void> {
    const { key } = charge
    const id = { mark: REFUND_MARK, value: this.calls.nextId().value } // of every try: they exclude each other
    let doubted: { readonly seen: number | undefined; readonly witness: SeenMarks } | undefined
    for (let round = 0; round === 0 || deadline.leftMs > 0; round++) {
      const { item } = await this.recent(key, deadline)
      const seen = item.marks[REFUND_MARK]
      if (doubted && doubted.seen !== seen) {
        if (seen === id.value) return
        throw inDoubt(
          'the answer to a refund was lost, and others have given units back since: these may still be charged',
        )
      }
      // Without the mark, a refund that was applied and wiped by a reset looks like one that was not.
      if (doubted && seen === undefined && !standAsSeen(item, doubted.witness)) {
        throw inDoubt('the answer to a refund was lost, and others have written since: the units may still be charged')
      }
      const now = this.calls.now()
      const parts = refundWrites(charge, item, charged, now).filter(isMeant)
      if (parts.length === 0) return
      if (seen === undefined && round > 0 && !doubted) {
        await this.makeMark(key, parts, now, deadline)
        continue
      }
      const witness = seen === undefined ? this.witnessIn(item) : {}
      const whileMarks = { ...witness, [REFUND_MARK]: seen }
      const { kind, afterDoubt } = await this.write(key, { parts, id, whileMarks, at: now }, deadline)
      if (kind !== 'refused') return
      if (afterDoubt) doubted ??= { seen, witness }
    }
    throw contention()
  }

  /**
   * A mark that any copy of a write finds changed once the item was deleted: our own where we have written, which few
   * others change.
   */
  private witnessIn({ marks }: Item): SeenMarks {
    const { mark: own } = this.calls.nextId()
    const mark = own in marks ? own : Object.keys(marks)[0]
    return mark === undefined ? {} : { [mark]: marks[mark] }
  }

  /** Makes the mark of refunds, while there is something to give back; whether that worked shows in the next round. */
  private async makeMark(key: string, parts: readonly PolicyWrite[], at: EpochMs, deadline: Deadline): Promise<void> {
    const guards = parts.map(({ prefix, write }) => ({ prefix, write: when([...write.guard]) }))
    const id = { mark: REFUND_MARK, value: this.calls.nextId().value }
    await this.write(key, { parts: guards, id, whileMarks: { [REFUND_MARK]: undefined }, at }, deadline)
  }

  private async write(key: string, write: ItemWrite, deadline: Deadline): Promise<Tried<WriteOutcome>> {
    const outcome = await this.calls.write(key, write, deadline)
    this.cache.learn(key, outcome.kind === 'applied' ? afterWrite(outcome.item, write) : outcome.item, write.at)
    return outcome
  }
}

const refundWrites = (charge: Charge, item: Item, charged: ChargeTime, now: EpochMs): PolicyWrite[] =>
  refundsOf(
    charge,
    charge.policies.map((policy) => fieldsOf(item, policy)!),
    charged,
    now,
  )

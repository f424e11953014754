import { when } from './algorithms/conditional-write'
import type { EpochMs } from './clock'
import { inDoubt } from './errors'
import { type Plan, type SubjectItems, writing } from './items'
import { fitted } from './stores/expression-budget'
import { type Item, type ItemWrite, type PolicyWrite, REFUND_MARK, type SeenMarks, standAsSeen } from './stores/store'

/**
 * Makes one write in a caller's favour, which is applied once at most: it happens only while marks stand as seen that
 * it changes itself, so a copy of it finds them changed, whoever wrote in between. A try that was refused is made again
 * with what was found. One that got no answer, and whose mark others have replaced since, is in doubt: it may have been
 * applied, so it is given up.
 *
 * All such writes share one mark, whichever process they come from, and nothing else changes it: charges are no
 * conflict for them, and no late charge brings back what they have replaced. An item to which nothing was given back
 * yet has no such mark, and neither has a new one after a reset; so another mark must stand as seen, and where it does
 * not for long enough, the mark is made first.
 *
 * @param see the item: a recent view or a guess, and after a refusal what was found.
 * @param partsOf what is left to give back, given the item.
 * @throws StoreUnavailableError `in-doubt` where it is not known whether that worked.
 */
export function* giveBackOnce(
  items: SubjectItems,
  see: () => Plan<Item>,
  partsOf: (item: Item, now: EpochMs) => readonly PolicyWrite[],
): Plan<void> {
  const id = { mark: REFUND_MARK, value: items.nextId().value } // of every try: they exclude each other
  let doubted: { readonly seen: number | undefined; readonly witness: SeenMarks } | undefined
  for (let round = 0; ; round++) {
    const item = yield* see()
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
    const at = items.now()
    const parts = partsOf(item, at)
    if (parts.length === 0) return
    if (seen === undefined && round > 0 && !doubted) {
      yield writing(markOnly(parts, items.nextId().value, at))
      continue // whether that worked shows in the next round
    }
    const witness = seen === undefined ? witnessIn(item, items.nextId().mark) : {}
    const whileMarks = { ...witness, [REFUND_MARK]: seen }
    const { kind, afterDoubt } = yield writing(fitted({ parts, id, whileMarks, at }))
    if (kind !== 'refused') return
    if (afterDoubt) doubted ??= { seen, witness }
  }
}

/** Makes the mark, while there is something to give back. */
const markOnly = (parts: readonly PolicyWrite[], value: number, at: EpochMs): ItemWrite => ({
  parts: parts.map(({ prefix, write }) => ({ prefix, write: when([...write.guard]) })),
  id: { mark: REFUND_MARK, value },
  whileMarks: { [REFUND_MARK]: undefined },
  at,
})

/**
 * A mark that any copy of a write finds changed once the item was deleted: our own where we have written, which few
 * others change.
 */
function witnessIn({ marks }: Item, own: string): SeenMarks {
  const mark = own in marks ? own : Object.keys(marks)[0]
  return mark === undefined ? {} : { [mark]: marks[mark] }
}

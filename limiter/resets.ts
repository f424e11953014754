import { remove, set, when } from './algorithms/conditional-write'
import { CLOCKS_DIFFER_MS } from './algorithms/holds'
import type { EpochMs } from './clock'
import { inDoubt } from './errors'
import { type Answer, type Plan, READ, type SubjectItems, writing } from './items'
import { RESERVATIONS, reservedSince } from './reservations'
import { type Item, marksOf, type PolicyWrite, REFUND_MARK, type SeenMarks } from './stores/store'

/** Fields that one write changes: as many as fit into an expression where each is a hold. */
const CHANGED_AT_ONCE = 100

/**
 * Wipes a subject's item as it was last seen, so that no copy of the call wipes what is charged later.
 *
 * The item is deleted. One of which units were reserved for other subjects is emptied instead and says when: whatever
 * arrives late, nothing that was reserved before is given back to it.
 *
 * @throws StoreUnavailableError `in-doubt` when it is not known whether that worked.
 */
export function* reset(items: SubjectItems): Plan<void> {
  let { item } = yield READ
  for (;;) {
    if (fieldsIn(item).length === 0) return
    const seen = marksOf(item)
    const since = reservedSince(item)
    const outcome = since === undefined ? yield { kind: 'delete', whileMarks: seen } : yield* empty(items, item, since)
    const { kind, item: found, afterDoubt } = outcome
    const wasEmptied = since !== undefined && reservedSince(found) !== since // nothing else moves it
    if (kind !== 'refused' || wasEmptied || fieldsIn(found).length === 0) return
    if (afterDoubt && !hasOne(found, seen)) {
      throw inDoubt('the answer to a reset was lost, and others have written since: the quotas may not have been full')
    }
    item = found
  }
}

/** It takes several writes where many requests run. The last one says since when units count. */
function* empty(items: SubjectItems, item: Item, since: EpochMs): Plan<Answer> {
  const at = items.now()
  let whileMarks = marksOf(item)
  let outcome: Answer | undefined
  for (const parts of emptying(item, Math.max(at + CLOCKS_DIFFER_MS, since) + 1)) {
    const { value } = items.nextId()
    outcome = yield writing({ parts, id: { mark: REFUND_MARK, value }, whileMarks, at })
    if (outcome.kind === 'refused') break
    whileMarks = { ...whileMarks, [REFUND_MARK]: value }
  }
  return outcome!
}

function emptying(item: Item, since: EpochMs): PolicyWrite[][] {
  const changes = [
    ...fieldsIn(item).map(({ prefix, field }) => ({ prefix, change: remove(field) })),
    { prefix: RESERVATIONS.prefix, change: set('b', since) },
  ]
  return Array.from({ length: Math.ceil(changes.length / CHANGED_AT_ONCE) }, (_, i) => {
    const some = changes.slice(i * CHANGED_AT_ONCE, (i + 1) * CHANGED_AT_ONCE)
    return [...new Set(some.map(({ prefix }) => prefix))].map((prefix) => ({
      prefix,
      write: when([], ...some.flatMap((one) => (one.prefix === prefix ? [one.change] : []))),
    }))
  })
}

/** All that a reset wipes. */
const fieldsIn = ({ policies }: Item): { readonly prefix: string; readonly field: string }[] =>
  Object.entries(policies).flatMap(([prefix, fields]) =>
    Object.keys(fields).flatMap((field) =>
      prefix === RESERVATIONS.prefix && field === 'b' ? [] : [{ prefix, field }],
    ),
  )

/** Whether a mark still is what it was: then the item was not deleted. */
const hasOne = ({ marks }: Item, seen: SeenMarks): boolean =>
  Object.keys(marks).some((mark) => marks[mark] === seen[mark])

import { type Fields, remove, set, when } from './algorithms/conditional-write'
import { CLOCKS_DIFFER_MS } from './algorithms/holds'
import { refundUnlessQueued } from './algorithms/queued'
import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import { poolsNamedIn } from './consistency/pools'
import { ignoreUnavailable, StoreUnavailableError } from './errors'
import type { SubjectItems } from './items'
import { type Answer, type KnownItems, type Plan, READ, writing } from './plan'
import { type Charge, type ChargeTime, type Units, unitsOf } from './request'
import { RESERVATIONS, reservedSince } from './reservations/reserved'
import { fitted, inWrites } from './stores/expression-budget'
import {
  type Item,
  type ItemWrite,
  marksOf,
  type PolicyWrite,
  REFUND_MARK,
  type SeenMarks,
  standAsSeen,
} from './stores/store'

/**
 * Gives units that were charged back, as far as they can still be found; a policy whose window has passed has none.
 * Policies whose refunds find no room in one write get several, one after another: what one of them gave back stays
 * given back, whatever comes of the next.
 *
 * @throws StoreUnavailableError as `giveBackOnce`.
 */
export function* refund(items: KnownItems, charge: Charge, charged: ChargeTime): Plan<void> {
  const refundOnce = (isMeant: (part: PolicyWrite) => boolean) =>
    giveBackOnce(
      items,
      () => recentItem(items, charge.key),
      (item, now) => refundWrites(charge, item, charged, now).filter(isMeant),
    )
  const [, ...others] = inWrites(yield* found(items, charge, charged))
  const apart = others.map((parts) => new Set(parts.map(({ prefix }) => prefix)))
  yield* refundOnce(({ prefix }) => !apart.some((prefixes) => prefixes.has(prefix)))
  for (const prefixes of apart) yield* refundOnce(({ prefix }) => prefixes.has(prefix))
}

/** What was last seen of a subject if that is recent, else what is stored. */
function* recentItem(items: KnownItems, key: string): Plan<Item> {
  return items.recentView(key)?.item ?? (yield READ).item
}

/**
 * What there is to give back. A policy that has nothing by an earlier look may have been charged since by others, so
 * that is looked up.
 */
function* found(items: KnownItems, charge: Charge, charged: ChargeTime): Plan<PolicyWrite[]> {
  const { key, policies } = charge
  const known = items.recentView(key)?.item
  const item = known ?? (yield READ).item
  const writes = refundWrites(charge, item, charged, items.now())
  if (item !== known || writes.length === policies.length) return writes
  return refundWrites(charge, (yield READ).item, charged, items.now())
}

const refundWrites = (charge: Charge, item: Item, charged: ChargeTime, now: EpochMs): PolicyWrite[] =>
  refundsOf(
    charge,
    charge.policies.map((policy) => fieldsOf(item, policy)!),
    charged,
    now,
  )

/** What is given back, to which policies. */
export interface RefundedUnits extends Units {
  readonly policies: readonly CompiledPolicy[]
}

/** The writes that give units back to policies in these states; a policy whose window has passed has none. */
export function refundsOf(
  refunded: RefundedUnits,
  states: readonly Fields[],
  charged: { readonly at: EpochMs; readonly delayMs?: number },
  now: EpochMs,
): PolicyWrite[] {
  const { policies, holds } = refunded
  const { at, delayMs } = charged
  const isOneTurn = delayMs !== undefined && policies.filter(({ chargesAtTurn }) => chargesAtTurn).length === 1
  return policies.flatMap((policy, i): PolicyWrite[] => {
    const { counter, prefix, chargesAtTurn } = policy
    const fields = states[i]!
    const units = unitsOf(refunded, policy)
    const write =
      chargesAtTurn && !isOneTurn
        ? refundUnlessQueued(counter, fields, units, at, now)
        : counter.refund(fields, units, chargesAtTurn ? at + delayMs! : at, now, holds)
    return write ? [{ prefix, write }] : []
  })
}

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
  items: KnownItems,
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
    if (doubted && !standAsSeen(item, doubted.witness)) {
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

/** Fields that one write changes: as many as fit into an expression where each is a hold. */
const CHANGED_AT_ONCE = 100

/**
 * Wipes a subject's item as it was last seen, so that no copy of the call wipes what is charged later.
 *
 * The item is deleted. One of which units were reserved for other subjects is emptied instead and says when: whatever
 * arrives late, nothing that was reserved before is given back to it.
 *
 * @returns what was wiped.
 * @throws StoreUnavailableError `in-doubt` when it is not known whether that worked.
 */
export function* reset(items: KnownItems): Plan<Item> {
  let { item } = yield READ
  for (;;) {
    if (fieldsIn(item).length === 0) return item
    const seen = marksOf(item)
    const since = reservedSince(item)
    const outcome = since === undefined ? yield { kind: 'delete', whileMarks: seen } : yield* empty(items, item, since)
    const { kind, item: found, afterDoubt } = outcome
    const wasEmptied = since !== undefined && reservedSince(found) !== since // nothing else moves it
    if (kind !== 'refused' || wasEmptied || fieldsIn(found).length === 0) return item
    if (afterDoubt && !hasOne(found, seen)) {
      throw inDoubt('the answer to a reset was lost, and others have written since: the quotas may not have been full')
    }
    item = found
  }
}

/**
 * Wipes a subject's item, and the units of it that lie in pools. What cannot be wiped there is spent besides, until its
 * window ends, as units are that instances have leased.
 *
 * @throws StoreUnavailableError `in-doubt` when it is not known whether the item was wiped.
 */
export async function resetWithPools(items: SubjectItems, key: string): Promise<void> {
  const pools = poolsNamedIn(key, await items.run(key, reset(items))).flatMap(({ keys }) => keys)
  await Promise.all(pools.map((pool) => items.run(pool, reset(items)).catch(ignoreUnavailable)))
}

/** It takes several writes where many requests run. The last one says since when units count. */
function* empty(items: KnownItems, item: Item, since: EpochMs): Plan<Answer> {
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

/** Nobody can tell any more whether a call was applied. */
const inDoubt = (message: string): StoreUnavailableError => new StoreUnavailableError('in-doubt', message)

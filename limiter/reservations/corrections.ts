import { apply, type ConditionalWrite, type Fields, numberOf } from '../algorithms/conditional-write'
import { CLOCKS_DIFFER_MS, endHolds, heldSince, LONGEST_KEPT_MS } from '../algorithms/holds'
import type { EpochMs } from '../clock'
import { type CompiledPolicy, fieldsOf } from '../compiled-policy'
import { expiryFor } from '../plan'
import { inWrites } from '../stores/expression-budget'
import type { Item, PolicyWrite } from '../stores/store'
import { RESERVATIONS, type Reserved, type ReservedUnits, reservedSince } from './reserved'

/** What units of a policy came to in the end; `undefined` where that is not said, and they stay as reserved. */
export type ActualUnits = (entry: ReservedUnits) => number | undefined

/** Units that were used beyond the reserved ones. Where nothing proves that they were charged, they were. */
export const owedBy =
  (actual: ActualUnits) =>
  (entry: ReservedUnits): number =>
    entry.wasCharged === false ? 0 : Math.max(0, (actual(entry) ?? entry.units) - entry.units)

/** Reserved units that were not used. Where nothing proves that they were charged, they were not. */
export const unusedBy =
  (actual: ActualUnits) =>
  (entry: ReservedUnits): number =>
    entry.wasCharged ? Math.max(0, entry.units - (actual(entry) ?? entry.units)) : 0

/** Makes writes that correct the units of each entry in an item, where there are any. */
const correcting =
  (
    writeOf: (
      fields: Fields,
      policy: CompiledPolicy,
      units: number,
      chargedAt: EpochMs,
      now: EpochMs,
    ) => ConditionalWrite | undefined,
  ) =>
  (
    item: Item,
    entries: readonly ReservedUnits[],
    units: readonly number[],
    chargedAt: EpochMs,
    now: EpochMs,
  ): PolicyWrite[] =>
    entries.flatMap(({ policy }, i): PolicyWrite[] => {
      const write = units[i]! > 0 ? writeOf(fieldsOf(item, policy)!, policy, units[i]!, chargedAt, now) : undefined
      return write ? [{ prefix: policy.prefix, write }] : []
    })

/** The writes that charge these units of each policy, past its limit too. */
export const debtWrites = correcting(debt)

/** The writes that give these units of each policy back. */
const backWrites = correcting((fields, { counter }, unused, chargedAt, now) =>
  counter.refund(fields, unused, chargedAt, now, undefined, true),
)

/** Units are charged when the request was admitted, while that counts, and else now; they open no anchored window. */
function debt(fields: Fields, policy: CompiledPolicy, units: number, chargedAt: EpochMs, now: EpochMs) {
  const { counter, written } = policy
  const then = counter.chargeLate(fields, units, latestCharge(fields, policy, chargedAt, now), now)
  if (then) return then
  const isOpen = written.algorithm !== 'anchored-window' || counter.step(fields, 0, now).verdict.resetAfterMs > 0
  return isOpen ? counter.chargeLate(fields, units, now, now) : undefined
}

/** Algorithms that know the time of each unit, or nearly. For the others a second may be the edge of a window. */
const EXACT_IN_TIME: readonly unknown[] = ['sliding-log', 'sliding-buckets']

/**
 * When a request may have been charged at the latest: where others have come further, a clock that is behind was
 * charged where they were.
 */
function latestCharge(fields: Fields, { counter, written }: CompiledPolicy, chargedAt: EpochMs, now: EpochMs): EpochMs {
  const isOvertaken = (counter.reachedAt(fields, now) ?? 0) > chargedAt
  if (!isOvertaken || EXACT_IN_TIME.includes(written.algorithm)) return chargedAt
  return Math.max(chargedAt, Math.min(now, chargedAt + CLOCKS_DIFFER_MS))
}

/** The writes that end what is held, as far as it is stored. */
export const endsIn = (item: Item, { id, holders }: Reserved): PolicyWrite[] =>
  holders.flatMap((policy): PolicyWrite[] => {
    const write = endHolds(fieldsOf(item, policy)!, [{ id }])
    return write ? [{ prefix: policy.prefix, write }] : []
  })

/** All policies whose fields a settlement writes. */
export const policiesOf = ({ holders, entries }: Reserved): CompiledPolicy[] => [
  ...holders,
  ...entries.map(({ policy }) => policy),
]

/**
 * The item as it was if the request was the only one, which is what a write is made from where nothing is known: its
 * guard holds while no others have come in its way. `undefined` where nobody says when that was.
 */
export function guessOf(reserved: Reserved, chargedAt: EpochMs | undefined): Item | undefined {
  if (chargedAt === undefined) return undefined
  const { id, forMs, entries, holders, isShared, guess } = reserved
  const { mark } = guess
  const held = holders.map((policy): [string, Fields] => [
    policy.prefix,
    { n: 1, [id]: chargedAt + (policy === RESERVATIONS ? forMs : policy.windowMs) },
  ])
  const charged = entries.map(({ policy, units }): [string, Fields] => {
    const write = policy.counter.chargeLate({}, units, chargedAt, chargedAt)
    return [policy.prefix, write ? apply(write, {}) : {}]
  })
  const since: [string, Fields][] = isShared ? [[RESERVATIONS.prefix, { b: chargedAt }]] : []
  return {
    policies: Object.fromEntries([...since, ...held, ...charged]),
    marks: mark ? { [mark[0]]: mark[1] } : {},
    expiresAtSeconds: expiryFor(policiesOf(reserved), undefined, chargedAt)!,
  }
}

/** What finds no room in one write stays charged: holds and debts come first, and always find it. */
export const firstWrite = (parts: readonly PolicyWrite[]): readonly PolicyWrite[] => inWrites(parts)[0]!

/** Until when a hold counts in an item; 0 where it does no more, whether it was purged meanwhile or not. */
export function countsUntil(item: Item | undefined, policy: CompiledPolicy, id: string, now: EpochMs): EpochMs {
  const until = numberOf(fieldsOf(item, policy), id)
  return until + (policy === RESERVATIONS ? LONGEST_KEPT_MS : 0) + CLOCKS_DIFFER_MS > now ? until : 0
}

/** Whether any of what is held counts yet. */
export const isOpenIn = (item: Item | undefined, { id, holders }: Reserved, now: EpochMs): boolean =>
  holders.some((policy) => countsUntil(item, policy, id, now) > 0)

/** The writes that charge what is owed, and in time give back what was not used. */
export function correctionsIn(
  item: Item,
  reserved: Reserved,
  actual: ActualUnits,
  until: EpochMs,
  now: EpochMs,
): PolicyWrite[] {
  if (until === 0) return []
  const { entries, forMs } = reserved
  const chargedAt = until - forMs
  const debts = debtWrites(item, entries, entries.map(owedBy(actual)), chargedAt, now)
  if (now > until) return debts
  return [...debts, ...backWrites(item, entries, entries.map(unusedBy(actual)), chargedAt, now)]
}

/** The writes that give units back, while the item is the one that was charged; and those that end slots. */
export function giveBackParts(
  item: Item,
  reserved: Reserved,
  units: readonly number[],
  chargedAt: EpochMs,
  now: EpochMs,
): PolicyWrite[] {
  const ends = endsIn(item, reserved)
  const back =
    (reservedSince(item) ?? Infinity) <= chargedAt ? backWrites(item, reserved.entries, units, chargedAt, now) : []
  return back.length === 0 ? ends : [{ prefix: RESERVATIONS.prefix, write: heldSince(chargedAt) }, ...ends, ...back]
}

import { heldSince } from './algorithms/holds'
import { BoundedMap } from './bounded-map'
import type { EpochMs } from './clock'
import { type ActualUnits, backWrites, debtWrites, endsIn, guessOf, owedBy, policiesOf, unusedBy } from './corrections'
import { StoreUnavailableError } from './errors'
import { giveBackOnce } from './give-back'
import { type Plan, readByWrite, type SubjectItems, writing } from './items'
import { RESERVATIONS, type Reserved, reservedSince } from './reservations'
import { type Item, isPassed, type PolicyWrite, type WriteId } from './stores/store'

/** What one reservation has charged to one subject beyond what it reserved, and what it has sent without an answer. */
interface Debts {
  readonly charged: number[]
  sent?: { readonly units: readonly number[]; readonly id: WriteId }
}

/** Reservations that are remembered. */
const MAX_REMEMBERED = 1000

/**
 * Corrects units of subjects that do not hold the reservation, such as everybody. Nothing in their items says whether a
 * correction was made, so the order says it, with the reservation between:
 *
 * - a debt comes first. It is charged at least once: this process remembers what it has sent, another one charges it
 *   again where the first one crashed, and both do where they settle at the same moment.
 * - what is given back comes last, at most once: while a mark stands as seen that the write changes itself. Where the
 *   answer is lost, or the subject was reset since, it stays charged.
 */
export class SharedUnits {
  /** By reservation and subject. */
  private readonly debts = new BoundedMap<string, Debts>(MAX_REMEMBERED)

  constructor(private readonly items: SubjectItems) {}

  /**
   * Charges what was used beyond the reservation, and ends its slots there.
   *
   * @throws StoreUnavailableError when it is not known whether that worked. It may be called again.
   */
  async charge(reserved: Reserved, actual: ActualUnits, chargedAt: EpochMs): Promise<void> {
    const name = `${reserved.id} ${reserved.key}`
    const debts = this.debts.get(name) ?? { charged: reserved.entries.map(() => 0) }
    for (;;) {
      if (!debts.sent) {
        const units = reserved.entries.map((entry, i) => Math.max(0, owedBy(actual)(entry) - debts.charged[i]!))
        if (units.every((one) => one === 0)) return
        this.debts.set(name, debts)
        debts.sent = { units, id: this.items.nextId() }
      }
      await this.items.run(reserved.key, send(this.items, reserved, debts, chargedAt))
      for (const [i, units] of debts.sent.units.entries()) debts.charged[i]! += units
      debts.sent = undefined
    }
  }

  /**
   * Gives back what was not used, and ends slots.
   *
   * @param chargedAt when the request was charged; `undefined` where nothing is reserved any more, and only slots end.
   */
  async giveBack(reserved: Reserved, actual: ActualUnits, chargedAt: EpochMs | undefined): Promise<void> {
    const { entries, holders, forMs } = reserved
    const isInTime = chargedAt !== undefined && this.items.now() <= chargedAt + forMs
    const units = entries.map((entry) => (isInTime ? unusedBy(actual)(entry) : 0))
    if (units.every((one) => one === 0) && holders.length === 0) return
    try {
      const at = chargedAt ?? reserved.guess.chargedAt ?? 0
      await this.items.run(reserved.key, giveBack(this.items, reserved, units, at))
    } catch (error) {
      // what may still be charged is never in the caller's favour; a slot is freed by the next call
      if (!(error instanceof StoreUnavailableError) || holders.length > 0) throw error
    }
  }
}

/** Charges what is sent of a reservation's debts, once. */
function* send(items: SubjectItems, reserved: Reserved, debts: Debts, chargedAt: EpochMs): Plan<void> {
  const { key, entries } = reserved
  let item = items.view(key)?.item ?? guessOf(reserved, chargedAt)!
  let isStored = false
  for (;;) {
    const now = items.now()
    const { units, id } = debts.sent!
    const owed = debtWrites(item, entries, units, chargedAt, now)
    if (owed.length === 0) {
      if (isStored) return // a policy that only observes has no room for it
      item = yield* readByWrite(items)
      isStored = true
      continue
    }
    const parts = [...endsIn(item, reserved), ...owed]
    const outcome = yield writing(items.fit(parts, policiesOf(reserved), item, now, id))
    if (outcome.kind !== 'refused') return
    item = outcome.item
    isStored = true
    if (isPassed(item, id)) debts.sent = { units, id: items.nextId() }
  }
}

function giveBack(items: SubjectItems, reserved: Reserved, units: readonly number[], chargedAt: EpochMs): Plan<void> {
  const { key } = reserved
  const partsOf = (item: Item, now: EpochMs) => giveBackParts(item, reserved, units, chargedAt, now)
  const guesses = [items.view(key)?.item, guessOf(reserved, chargedAt)]
  const guess = guesses.find((one) => one && partsOf(one, items.now()).length > 0)
  let isFirst = true
  function* see(): Plan<Item> {
    const item = isFirst ? guess : items.view(key)?.item
    isFirst = false
    return item ?? (yield* readByWrite(items))
  }
  return giveBackOnce(items, see, partsOf)
}

/** The writes that give units back, while the item is the one that was charged; and those that end slots. */
function giveBackParts(
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

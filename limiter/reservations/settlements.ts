import { BoundedMap } from '../bounded-map'
import type { EpochMs } from '../clock'
import { StoreUnavailableError } from '../errors'
import { giveBackOnce } from '../give-back'
import type { SubjectItems } from '../items'
import { type Plan, writing } from '../plan'
import { type Item, isPassed, type WriteId } from '../stores/store'
import {
  type ActualUnits,
  correctionsIn,
  countsUntil,
  debtWrites,
  endsIn,
  firstWrite,
  giveBackParts,
  guessOf,
  isOpenIn,
  owedBy,
  policiesOf,
  unusedBy,
} from './corrections'
import { RESERVATIONS, type Reserved } from './reserved'

/** What became of what a request holds of one subject. */
interface End {
  /** False where nothing was left. */
  readonly wasHeld: boolean
  /** When the units were charged whose reservation ended; `undefined` where only slots were left, or nothing. */
  readonly chargedAt?: EpochMs | undefined
}

/**
 * Ends what requests hold: gives slots back, and of reserved units what was not used, and charges what was used beyond
 * them, past the limit too.
 *
 * The reservation stands in the caller's item. The write that corrects the caller's units removes it, and happens only
 * while it stands; so it counts once, however often it is sent. Nothing guards other subjects' items like that: see
 * `SharedUnits`.
 *
 * It takes `UpdateItem` alone: where nothing is known of a subject, a write that is refused says what is stored.
 */
class Settlements {
  private readonly shared: SharedUnits
  /** Settlements that are under way here, by the reservation: several of one come one after another. */
  private readonly running = new Map<string, Promise<unknown>>()

  constructor(private readonly items: SubjectItems) {
    this.shared = new SharedUnits(items)
  }

  /**
   * @returns true where this call ended what was held, and all that was used is in the store; false where nothing was
   * held any more, and nothing was changed: it was ended before, the caller was reset, or its time was over long ago.
   * @throws StoreUnavailableError when it is not known whether that worked. It may be called again.
   */
  async settle(all: readonly Reserved[], actual: ActualUnits): Promise<boolean> {
    const shared = all.filter(({ isShared }) => isShared)
    if (shared.length === 0) {
      const ends = await allOf(all.map((one) => this.end(one, actual)))
      return ends.some(({ wasHeld }) => wasHeld)
    }
    const [caller] = all as [Reserved]
    const before = this.running.get(caller.id) ?? Promise.resolve()
    const settling = before.catch(() => {}).then(() => this.settleShared(caller, shared, actual))
    this.running.set(caller.id, settling)
    try {
      return await settling
    } finally {
      if (this.running.get(caller.id) === settling) this.running.delete(caller.id)
    }
  }

  /**
   * A debt is charged to other subjects before the reservation ends, once the store has shown that it stands; what is
   * given back to them comes after. So nobody who writes a token moves what is not reserved.
   */
  private async settleShared(caller: Reserved, shared: readonly Reserved[], actual: ActualUnits): Promise<boolean> {
    const owing = shared.filter(({ entries }) => entries.some((entry) => owedBy(actual)(entry) > 0))
    const heldFrom = owing.length > 0 ? await this.findHold(caller) : undefined
    if (heldFrom !== undefined) await allOf(owing.map((one) => this.shared.charge(one, actual, heldFrom)))
    const { chargedAt } = await this.end(caller, actual)
    await allOf(shared.map((one) => this.shared.giveBack(one, actual, chargedAt)))
    return chargedAt !== undefined
  }

  /** When the units were charged whose reservation is stored and open; `undefined` where there is none. */
  private async findHold(caller: Reserved): Promise<EpochMs | undefined> {
    const { key, id, forMs } = caller
    const now = this.items.now()
    const item = await this.items.run(key, this.items.readByWrite())
    const until = countsUntil(item, RESERVATIONS, id, now)
    return until > 0 ? until - forMs : undefined
  }

  private end(reserved: Reserved, actual: ActualUnits): Promise<End> {
    return this.items.run(reserved.key, end(this.items, reserved, actual))
  }
}

/** Ends what is held of one subject, and corrects its units in the same write. */
function* end(items: SubjectItems, reserved: Reserved, actual: ActualUnits): Plan<End> {
  const { key, id, forMs } = reserved
  const view = items.view(key)?.item
  let item = view && endsIn(view, reserved).length > 0 ? view : guessOf(reserved, reserved.guess.chargedAt)
  let isStored = false
  for (;;) {
    const now = items.now()
    if (!isOpenIn(item, reserved, now)) {
      if (isStored) return { wasHeld: false }
      item = yield* items.readByWrite()
      isStored = true
      continue
    }
    const until = countsUntil(item, RESERVATIONS, id, now)
    const parts = firstWrite([...endsIn(item!, reserved), ...correctionsIn(item!, reserved, actual, until, now)])
    const outcome = yield writing(items.fit(parts, policiesOf(reserved), item, now))
    if (outcome.kind !== 'refused') return { wasHeld: true, chargedAt: until > 0 ? until - forMs : undefined }
    item = outcome.item
    isStored = true
  }
}

/** All results, once all calls have ended. @throws the error of the first that failed. */
async function allOf<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(calls)
  return Promise.all(calls)
}

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
class SharedUnits {
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
      item = yield* items.readByWrite()
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
    return item ?? (yield* items.readByWrite())
  }
  return giveBackOnce(items, see, partsOf)
}

/** What settling asks of a `RateLimiter`. */
export interface SettlingLimiter {
  readonly items: SubjectItems
}

/**
 * Settles a reservation: gives back what was not used, and charges what was used beyond it.
 *
 * @param reserved what it holds of each subject.
 * @returns as `Settlements.settle`.
 * @throws StoreUnavailableError
 */
export function settle({ items }: SettlingLimiter, reserved: readonly Reserved[], actual: ActualUnits) {
  const settlements = settlementsOf.get(items) ?? new Settlements(items)
  settlementsOf.set(items, settlements)
  return settlements.settle(reserved, actual)
}

const settlementsOf = new WeakMap<SubjectItems, Settlements>()

import { numberOf } from './algorithms/conditional-write'
import { CLOCKS_DIFFER_MS, LONGEST_KEPT_MS } from './algorithms/holds'
import type { EpochMs } from './clock'
import { fieldsOf } from './compiled-policy'
import { type ActualUnits, backWrites, debtWrites, endsIn, guessOf, owedBy, policiesOf, unusedBy } from './corrections'
import { type Plan, readByWrite, type SubjectItems, writing } from './items'
import { RESERVATIONS, type Reserved } from './reservations'
import { SharedUnits } from './shared-units'
import { inWrites } from './stores/expression-budget'
import type { Item, PolicyWrite } from './stores/store'

/** What became of what a request holds. `slots`: only these were left. */
type End = { readonly kind: 'slots' | 'gone' } | { readonly kind: 'ended'; readonly chargedAt: EpochMs }

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
export class Settlements {
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
    const own = all.filter(({ isShared }) => !isShared)
    if (shared.length === 0) {
      const ends = await allOf(own.map((one) => this.end(one, actual)))
      return ends.some(({ kind }) => kind !== 'gone')
    }
    const [caller] = own as [Reserved]
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
    const end = owing.length > 0 && heldFrom === undefined ? GONE : await this.end(caller, actual)
    const chargedAt = end.kind === 'ended' ? end.chargedAt : undefined
    await allOf(shared.map((one) => this.shared.giveBack(one, actual, chargedAt)))
    return end.kind === 'ended'
  }

  /** When the units were charged whose reservation is stored and open; `undefined` where there is none. */
  private async findHold(caller: Reserved): Promise<EpochMs | undefined> {
    const { key, id, forMs } = caller
    const now = this.items.now()
    const item = await this.items.run(key, readByWrite(this.items))
    const until = numberOf(fieldsOf(item, RESERVATIONS), id)
    return until > 0 && isOpenIn(item, caller, now) ? until - forMs : undefined
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
    if (item === undefined || !isOpenIn(item, reserved, now)) {
      if (isStored) return GONE
      item = yield* readByWrite(items)
      isStored = true
      continue
    }
    const until = numberOf(fieldsOf(item, RESERVATIONS), id)
    const parts = firstWrite([...endsIn(item, reserved), ...corrections(item, reserved, actual, until, now)])
    const outcome = yield writing(items.fit(parts, policiesOf(reserved), item, now))
    if (outcome.kind !== 'refused') return until > 0 ? { kind: 'ended', chargedAt: until - forMs } : { kind: 'slots' }
    item = outcome.item
    isStored = true
  }
}

/** What finds no room in one write stays charged: holds and debts come first, and always find it. */
const firstWrite = (parts: readonly PolicyWrite[]): readonly PolicyWrite[] => inWrites(parts)[0] ?? []

const GONE: End = { kind: 'gone' }

/** All results, once all calls have ended. @throws the error of the first that failed. */
async function allOf<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(calls)
  return Promise.all(calls)
}

/** Whether any of what is held counts yet. What was purged meanwhile and what was not are the same. */
const isOpenIn = (item: Item, { id, holders }: Reserved, now: EpochMs): boolean =>
  holders.some((policy) => {
    const until = numberOf(fieldsOf(item, policy), id)
    return until + (policy === RESERVATIONS ? LONGEST_KEPT_MS : 0) + CLOCKS_DIFFER_MS > now
  })

function corrections(item: Item, reserved: Reserved, actual: ActualUnits, until: EpochMs, now: EpochMs): PolicyWrite[] {
  if (until === 0) return []
  const { entries, forMs } = reserved
  const chargedAt = until - forMs
  const debts = debtWrites(item, entries, entries.map(owedBy(actual)), chargedAt, now)
  if (now > until) return debts
  return [...debts, ...backWrites(item, entries, entries.map(unusedBy(actual)), chargedAt, now)]
}

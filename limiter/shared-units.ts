import { exactly, numberOf, when } from './algorithms/conditional-write'
import { heldSince } from './algorithms/holds'
import { BoundedMap } from './bounded-map'
import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import { type ActualUnits, backWrites, debtWrites, endsIn, guessOf, owedBy, unusedBy } from './corrections'
import type { Deadline } from './deadline'
import { contention, StoreUnavailableError } from './errors'
import { RESERVATIONS, type Reserved } from './reservations'
import type { Tried } from './store-calls'
import { type Item, type ItemWrite, isPassed, type PolicyWrite, type WriteId, type WriteOutcome } from './stores/store'

/** Writes what fits DynamoDB's limits to a subject's item, and remembers what that is then. */
interface ItemWriter {
  charge(
    key: string,
    parts: readonly PolicyWrite[],
    policies: readonly CompiledPolicy[],
    seen: Item | undefined,
    now: EpochMs,
    deadline: Deadline,
    options?: Partial<Pick<ItemWrite, 'id' | 'whileMarks'>>,
  ): Promise<Tried<WriteOutcome>>
}

/** The subjects as they are stored. */
export interface SettledSubjects {
  now(): EpochMs
  deadline(): Deadline
  /** Names a write. */
  nextId(): WriteId
  /** What was last seen of a subject. */
  view(key: string): { readonly item: Item } | undefined
  readonly items: ItemWriter
}

/** What one reservation has charged to one subject beyond what it reserved, and what it has sent without an answer. */
interface Debts {
  readonly charged: number[]
  sent?: { readonly units: readonly number[]; readonly id: WriteId }
}

/** Reservations that are remembered. */
const MAX_REMEMBERED = 1000

/** A write that is refused, and brings the item back. */
const LOOK: PolicyWrite = { prefix: RESERVATIONS.prefix, write: when([exactly('b', -1)]) }

/**
 * Corrects units of subjects that do not hold the reservation, such as everybody. Nothing in their items says whether a
 * correction was made, so the order says it, with the reservation between:
 *
 * - a debt comes first. It is charged at least once: this process remembers what it has sent, another one charges it
 *   again where the first one crashed.
 * - what is given back comes last, at most once: while a mark stands as seen that the write changes itself. Where the
 *   answer is lost, or the subject was reset since, it stays charged.
 */
export class SharedUnits {
  /** By reservation and subject. */
  private readonly debts = new BoundedMap<string, Debts>(MAX_REMEMBERED)
  /** Reservations that have ended, or may have: by a call whose answer was lost. */
  private readonly ends = new BoundedMap<string, 'over' | 'in doubt'>(MAX_REMEMBERED)

  constructor(private readonly subjects: SettledSubjects) {}

  /** Whether this process knows that a reservation has ended. */
  isOver(id: string): boolean {
    return this.ends.get(id) === 'over'
  }

  /** Notes that a reservation has ended, or may have; then its debts stay, whoever finds it gone. */
  noteEnd(id: string, how: 'over' | 'in doubt'): void {
    this.ends.set(id, how)
  }

  /**
   * Charges what was used beyond the reservation, and ends its slots there.
   *
   * @throws StoreUnavailableError when it is not known whether that worked. It may be called again.
   */
  async charge(reserved: Reserved, actual: ActualUnits, chargedAt: EpochMs): Promise<void> {
    const debts = this.debtsOf(reserved)
    for (;;) {
      if (!debts.sent) {
        const units = reserved.entries.map((entry, i) => Math.max(0, owedBy(actual)(entry) - debts.charged[i]!))
        if (units.every((one) => one === 0)) return
        this.debts.set(nameOf(reserved), debts)
        debts.sent = { units, id: this.subjects.nextId() }
      }
      await this.send(reserved, debts, chargedAt)
      for (const [i, units] of debts.sent.units.entries()) debts.charged[i]! += units
      debts.sent = undefined
    }
  }

  private async send(reserved: Reserved, debts: Debts, chargedAt: EpochMs): Promise<void> {
    const { key, entries } = reserved
    const policies = policiesOf(reserved)
    const deadline = this.subjects.deadline()
    let item = this.known(reserved)
    for (let round = 0; round === 0 || deadline.leftMs > 0; round++) {
      const now = this.subjects.now()
      const { units, id } = debts.sent!
      const owed = debtWrites(item ?? NOTHING, entries, units, chargedAt, now)
      if (owed.length === 0) return // a policy that only observes has no room for it
      const parts = [...(item ? endsIn(item, reserved) : []), ...owed]
      const outcome = await this.subjects.items.charge(key, parts, policies, item, now, deadline, { id })
      if (outcome.kind !== 'refused') return
      item = outcome.item
      if (isPassed(item, id)) debts.sent = { units, id: this.subjects.nextId() }
    }
    throw contention()
  }

  /**
   * Gives back what was not used, and debts that were charged too much; ends slots.
   *
   * @param actual what was used; `undefined` where nothing is reserved any more, and only debts are given back.
   */
  async giveBack(reserved: Reserved, actual: ActualUnits | undefined, chargedAt: EpochMs): Promise<void> {
    const { charged } = this.debtsOf(reserved)
    const { entries, holders, forMs } = reserved
    const isInTime = this.subjects.now() <= chargedAt + forMs
    const units = entries.map((entry, i) => {
      const unused = actual && isInTime ? unusedBy(actual)(entry) : 0
      const owed = actual ? owedBy(actual)(entry) : this.ends.has(reserved.id) ? Infinity : 0
      return unused + Math.max(0, charged[i]! - owed)
    })
    this.debts.delete(nameOf(reserved))
    if (units.every((one) => one === 0) && holders.length === 0) return
    try {
      await this.write(reserved, units, chargedAt)
    } catch (error) {
      // what may still be charged is never in the caller's favour; a slot is freed by the next call
      if (!(error instanceof StoreUnavailableError) || holders.length > 0) throw error
    }
  }

  private async write(reserved: Reserved, units: readonly number[], chargedAt: EpochMs): Promise<void> {
    const { key } = reserved
    const policies = policiesOf(reserved)
    const deadline = this.subjects.deadline()
    const view = this.subjects.view(key)?.item
    let item = view ?? guessOf(reserved)
    let isStored = view !== undefined
    for (let round = 0; round === 0 || deadline.leftMs > 0; round++) {
      const now = this.subjects.now()
      const parts = item ? this.giveBackParts(item, isStored, reserved, units, chargedAt, now) : []
      const { mark: own, value } = this.subjects.nextId()
      const marks = item?.marks ?? {}
      const mark = own in marks ? own : Object.keys(marks)[0]
      if (parts.length === 0 && isStored) return
      const isKnown = parts.length > 0 && mark !== undefined
      const outcome = isKnown
        ? await this.subjects.items.charge(key, parts, policies, item, now, deadline, {
            id: { mark, value },
            whileMarks: { [mark]: marks[mark] },
          })
        : await this.subjects.items.charge(key, [LOOK], policies, item, now, deadline)
      if (isKnown && (outcome.kind !== 'refused' || outcome.afterDoubt)) return
      item = outcome.item
      isStored = true
    }
    throw contention()
  }

  private giveBackParts(
    item: Item,
    isStored: boolean,
    reserved: Reserved,
    units: readonly number[],
    chargedAt: EpochMs,
    now: EpochMs,
  ): PolicyWrite[] {
    const ends = endsIn(item, reserved)
    const isSameItem = !isStored || numberOf(fieldsOf(item, RESERVATIONS), 'b', Infinity) <= chargedAt
    const back = isSameItem ? backWrites(item, reserved.entries, units, chargedAt, now) : []
    return back.length === 0 ? ends : [{ prefix: RESERVATIONS.prefix, write: heldSince(chargedAt) }, ...ends, ...back]
  }

  private known(reserved: Reserved): Item | undefined {
    return this.subjects.view(reserved.key)?.item ?? guessOf(reserved)
  }

  private debtsOf(reserved: Reserved): Debts {
    return this.debts.get(nameOf(reserved)) ?? { charged: reserved.entries.map(() => 0) }
  }
}

const NOTHING: Item = { policies: {}, marks: {}, expiresAtSeconds: 0 }

const nameOf = ({ id, key }: Reserved): string => `${id} ${key}`

const policiesOf = ({ holders, entries }: Reserved) => [...holders, ...entries.map(({ policy }) => policy)]

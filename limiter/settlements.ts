import type { ConditionalWrite, Fields } from './algorithms/conditional-write'
import { exactly, numberOf, when } from './algorithms/conditional-write'
import { CLOCKS_DIFFER_MS, endHolds } from './algorithms/holds'
import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import type { Deadline } from './deadline'
import { contention } from './errors'
import { lateWrite } from './pending-charges'
import { refundsOf } from './refund-writes'
import { RESERVATIONS, type Reserved, type ReservedUnits } from './reservation'
import type { Item, PolicyWrite, WriteOutcome } from './stores/store'

/** What units of a policy came to in the end; `undefined` where that is not said, and they stay as reserved. */
export type ActualUnits = (entry: ReservedUnits) => number | undefined

/** Writes what fits DynamoDB's limits to a subject's item, and remembers what that is then. */
interface ItemWriter {
  charge(
    key: string,
    parts: readonly PolicyWrite[],
    policies: readonly CompiledPolicy[],
    seen: Item | undefined,
    now: EpochMs,
    deadline: Deadline,
  ): Promise<WriteOutcome>
}

/** The subjects as they are stored. */
export interface SettledSubjects {
  now(): EpochMs
  /** What was last seen of a subject. */
  view(key: string): { readonly item: Item } | undefined
  readonly items: ItemWriter
}

/** No time: a write under this guard is refused, and brings the item back. */
const NEVER = -1

/**
 * Ends what requests hold: gives slots back, and of reserved units what was not used, and charges what was used beyond
 * them, past the limit too. The write that does so removes the hold, and happens only while that stands; so it counts
 * once, however often it is sent.
 *
 * It takes `UpdateItem` alone: where nothing is known of a subject, a write that is refused says what is stored.
 */
export class Settlements {
  constructor(private readonly subjects: SettledSubjects) {}

  /**
   * @returns false when nothing is held any more: it was settled before, reset, or forgotten after its time.
   * @throws StoreUnavailableError when it is not known whether that worked. It may be called again.
   */
  async settle(reserved: Reserved, actual: ActualUnits, deadline: Deadline): Promise<boolean> {
    const { key, entries, holders, hint } = reserved
    const policies = [...holders, ...entries.map(({ policy }) => policy)]
    const known = this.subjects.view(key)?.item
    let guess = [known, hint].find((item) => item && endsIn(item, reserved).length > 0)
    for (let round = 0; round === 0 || deadline.leftMs > 0; round++) {
      const now = this.subjects.now()
      const parts = guess ? settlement(reserved, actual, guess, now) : lookFor(reserved)
      if (parts.length === 0) return false
      const { kind, item } = await this.subjects.items.charge(key, parts, policies, guess, now, deadline)
      if (kind !== 'refused') return true
      guess = item
    }
    throw contention()
  }
}

const lookFor = ({ id, holders: [holder] }: Reserved): PolicyWrite[] => [
  { prefix: holder!.prefix, write: when([exactly(id, NEVER)]) },
]

/** The writes that end what is held, as far as it is stored. */
const endsIn = (item: Item, { id, holders }: Reserved): PolicyWrite[] =>
  holders.flatMap((policy): PolicyWrite[] => {
    const write = endHolds(fieldsOf(item, policy)!, [{ id }])
    return write ? [{ prefix: policy.prefix, write }] : []
  })

function settlement(reserved: Reserved, actual: ActualUnits, item: Item, now: EpochMs): PolicyWrite[] {
  const { id, forMs, entries } = reserved
  const ends = endsIn(item, reserved)
  const until = numberOf(fieldsOf(item, RESERVATIONS), id)
  if (until === 0) return ends
  const differences = entries.flatMap((entry): PolicyWrite[] => {
    const { policy, units, isUncharged } = entry
    const more = isUncharged ? 0 : (actual(entry) ?? units) - units
    const fields = fieldsOf(item, policy)!
    const chargedAt = until - forMs
    if (more > 0) {
      const write = debt(fields, entry, more, chargedAt, now)
      return write ? [{ prefix: policy.prefix, write }] : []
    }
    const isInTime = now <= until
    return more < 0 && isInTime ? refundsOf({ policies: [policy], cost: -more }, [fields], { at: chargedAt }, now) : []
  })
  return [...ends, ...differences]
}

/**
 * Units beyond the reservation are charged when it was made, while that counts, and else now.
 *
 * Where others have come further, a clock that is behind has charged the reservation where they were.
 */
function debt(
  fields: Fields,
  { policy }: ReservedUnits,
  units: number,
  chargedAt: EpochMs,
  now: EpochMs,
): ConditionalWrite | undefined {
  const isOvertaken = (policy.counter.reachedAt(fields, now) ?? 0) > chargedAt
  const at = isOvertaken ? Math.max(chargedAt, Math.min(now, chargedAt + CLOCKS_DIFFER_MS)) : chargedAt
  return (
    lateWrite(fields, { policy, units, chargedAt: at }, now) ??
    lateWrite(fields, { policy, units, chargedAt: now }, now)
  )
}

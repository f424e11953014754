import { apply, type ConditionalWrite, type Fields } from '../algorithms/conditional-write'
import { unlocked } from '../algorithms/counter'
import type { EpochMs } from '../clock'
import { type CompiledPolicy, fieldsOf } from '../compiled-policy'
import { type KnownItems, type Plan, writing } from '../plan'
import { isPassed, type PolicyWrite, type WriteId } from '../stores/store'

/** Late charges of one subject that are one write. */
export interface LateCharges {
  readonly charges: readonly LateCharge[]
  /** The name under which it was sent last; absent before that. */
  id?: WriteId
}

/** Units of one policy that were admitted and are not sent to the store yet. */
export interface LateCharge {
  readonly policy: CompiledPolicy
  readonly units: number
  readonly chargedAt: EpochMs
}

/**
 * How many of these units still count: none of a window that is over, by what the algorithm itself says of a subject
 * that was charged nothing else.
 *
 * Where time gives units back one by one, as from a bucket, how many it gave back depends on what else was charged
 * meanwhile. There all of them count until a full bucket would have been whole again, and the charge itself, made for
 * the moment that it belongs to, finds what is gone.
 */
export function stillCounting(late: LateCharge, now: EpochMs): number {
  const { policy, units, chargedAt } = late
  if (isForgotten(late, now)) return 0
  const { counter } = policy.unlimited()
  const { write } = counter.step({}, units, chargedAt)
  if (!write) return units
  const after = apply(write, {})
  if (!counter.reachedAt(after, chargedAt)) return units
  const remaining = (fields: Fields) => counter.step(fields, 0, now).verdict.remaining
  return Math.min(units, remaining({}) - remaining(after))
}

/**
 * The write that charges units late, past the limit too, since they were admitted already; `undefined` when none of
 * them counts any more.
 */
export function lateWrite(known: Fields | undefined, late: LateCharge, now: EpochMs): ConditionalWrite | undefined {
  const { policy, units, chargedAt } = late
  return units > 0 && !isForgotten(late, now) ? policy.counter.chargeLate(known, units, chargedAt, now) : undefined
}

/** Whether units of then are gone, whatever else was charged: a full bucket would be whole again. */
const isForgotten = ({ policy, chargedAt }: LateCharge, now: EpochMs): boolean =>
  now - chargedAt >= Math.max(policy.windowMs, unlocked(policy.counter).retentionMs)

/**
 * Charges what was admitted already, past the limit too. False when none of it counts any more.
 *
 * It counts once however often it is sent. Where this process has written to the subject since, nobody can tell any
 * more whether it was applied, and it gets a new name: it may count twice, and never not at all.
 */
export function* chargeLate(items: KnownItems, key: string, late: LateCharges): Plan<boolean> {
  const policies = late.charges.map(({ policy }) => policy)
  for (;;) {
    const now = items.now()
    const seen = items.view(key)?.item
    const parts = late.charges.flatMap((charge): PolicyWrite[] => {
      const write = lateWrite(fieldsOf(seen, charge.policy), charge, now)
      return write ? [{ prefix: charge.policy.prefix, write }] : []
    })
    if (parts.length === 0) return false
    late.id ??= items.nextId()
    const { kind, item } = yield writing(items.fit(parts, policies, seen, now, late.id))
    if (kind !== 'refused') return true
    if (isPassed(item, late.id)) late.id = items.nextId()
  }
}

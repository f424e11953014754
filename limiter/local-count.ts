import type { Verdict } from './algorithms/algorithm'
import { apply, type Fields } from './algorithms/conditional-write'
import { unlocked } from './algorithms/counter'
import { endHolds, withHolds } from './algorithms/holds'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import type { PendingCharges } from './pending-charges'
import type { Charge } from './request'
import { unitsOf } from './request'
import type { States } from './steps'

/** What this instance admitted of a subject by itself. */
export interface LocalCount {
  /** By the policy's prefix. Only time and refunds make any of it smaller. */
  readonly counts: Map<string, { policy: CompiledPolicy; fields: Fields }>
  readonly pending: PendingCharges
  /** When the last unit was admitted here. */
  admittedAt: EpochMs
  flushedAt: EpochMs
}

/** How a policy's count stands, charging nothing, whoever is locked out. */
export const verdictOf = (policy: CompiledPolicy, fields: Fields, now: EpochMs): Verdict =>
  unlocked(policy.counter).step(fields, 0, now).verdict

/** Replaces what is counted under one policy. */
export const count = (local: LocalCount, policy: CompiledPolicy, fields: Fields): void =>
  void local.counts.set(policy.prefix, { policy, fields })

/** Ends what a request holds; false where it holds nothing. */
export function end(local: LocalCount, id: string): boolean {
  const held = [...local.counts.values()].filter(({ fields }) => id in fields)
  for (const { policy, fields } of held) count(local, policy, apply(endHolds(fields, [{ id }])!, fields))
  return held.length > 0
}

/** A policy's count with so many units more, which others were seen to take; no lock-out by them. */
export function withUnits(
  { counter, windowMs }: CompiledPolicy,
  fields: Fields,
  seen: Fields | undefined,
  units: number,
  now: EpochMs,
): Fields {
  if (counter.isEndedByOthers) return withHolds(fields, seen, units, now + windowMs)
  const { write } = unlocked(counter).step(fields, units, now)
  return write ? apply(write, fields) : fields
}

/** Counts a charge that was admitted, which is pending until the store has it. */
export function admit(
  local: LocalCount,
  charge: Charge,
  own: readonly CompiledPolicy[],
  counted: States,
  now: EpochMs,
): void {
  for (const [i, policy] of charge.policies.entries()) {
    count(local, own[i]!, counted[i]!)
    if (!charge.isOwed) local.pending.add(policy, unitsOf(charge, policy), now)
  }
  local.admittedAt = now
}

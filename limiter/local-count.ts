import type { Verdict } from './algorithms/algorithm'
import { apply, type Fields, numberOf } from './algorithms/conditional-write'
import { unlocked } from './algorithms/counter'
import { endHolds, withHolds } from './algorithms/holds'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import type { PendingCharges } from './pending-charges'
import type { Charge } from './request'
import { unitsOf } from './request'
import type { States } from './steps'

/** What this instance admitted of a subject without the store. */
export interface OutageCount {
  /** By the policy's prefix. Only time and refunds make any of it smaller. */
  readonly counts: Map<string, { policy: CompiledPolicy; fields: Fields }>
  readonly pending: PendingCharges
  /** When the last unit was admitted here. */
  admittedAt: EpochMs
  flushedAt: EpochMs
  /** Called when it is forgotten for want of room. */
  readonly onEvicted: (count: OutageCount) => void
}

/** What is counted here of one subject under one policy. */
export interface EventualEntry {
  readonly policy: CompiledPolicy
  /**
   * The store's state of the policy when it was last seen, and all that was admitted here since; `undefined` where it
   * was never seen.
   */
  fields: Fields | undefined
}

/** What is counted here of one subject whose policies are counted in memory and synced. */
export interface EventualCount {
  readonly key: string
  /** By the policy's prefix. */
  readonly entries: Map<string, EventualEntry>
  readonly pending: PendingCharges
  triedAt: EpochMs
  syncing?: Promise<void> | undefined
  /** Syncs that failed in a row, and why the last one did. */
  failures: number
  failure?: unknown
  /** Sends what is pending, unless that is under way. */
  readonly flush: () => void
}

/** How a policy's count stands, charging nothing, whoever is locked out. */
export const verdictOf = (policy: CompiledPolicy, fields: Fields, now: EpochMs): Verdict =>
  unlocked(policy.counter).step(fields, 0, now).verdict

/** Replaces what is counted under one policy. */
export const count = (local: OutageCount, policy: CompiledPolicy, fields: Fields): void =>
  void local.counts.set(policy.prefix, { policy, fields })

/** Ends what a request holds; false where it holds nothing any more. */
export function end(local: OutageCount, id: string, now: EpochMs): boolean {
  const held = [...local.counts.values()].filter(({ fields }) => numberOf(fields, id) > now)
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
  local: OutageCount,
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

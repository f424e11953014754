import type { Verdict } from './algorithms/algorithm'
import type { Fields } from './algorithms/conditional-write'
import { unlocked } from './algorithms/counter'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import type { Charge } from './consistency/strategy'
import type { PendingCharges } from './pending-charges'
import type { States } from './steps'
import { unitsOf } from './units'

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
    local.pending.add(policy, unitsOf(charge, policy), now)
  }
  local.admittedAt = now
}

import { apply, type ConditionalWrite, type Fields } from './algorithms/conditional-write'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'

/** Units of one policy that were admitted before the store is told of them. */
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
export function stillCounting({ policy, units, chargedAt }: LateCharge, now: EpochMs): number {
  if (now <= chargedAt) return units
  if (now - chargedAt >= Math.max(policy.windowMs, policy.lifeMs)) return 0
  const { algorithm, quota } = policy.unlimited()
  const { write } = algorithm.step({}, quota, units, chargedAt)
  if (!write) return units
  const after = apply(write, {})
  if (!algorithm.reachedAt?.(after, quota, chargedAt)) return units
  const remaining = (fields: Fields) => algorithm.step(fields, quota, 0, now).verdict.remaining
  return Math.min(units, remaining({}) - remaining(after))
}

/**
 * The write that charges units late, past the limit too, since they were admitted already; `undefined` when none of
 * them counts any more.
 *
 * The state that it leaves is never looser than if they had been charged in time, but for what docs/consistency.md says
 * of rounding and of buckets that are refilled once a window; and never stricter by more than the units. They are
 * charged at their own moment as long as nobody has come further, else now.
 */
export function lateWrite(known: Fields | undefined, late: LateCharge, now: EpochMs): ConditionalWrite | undefined {
  const { policy, units, chargedAt } = late
  const counting = stillCounting(late, now)
  if (counting <= 0) return undefined
  const { algorithm, quota } = policy
  const overtaken = (algorithm.reachedAt?.(known, quota, now) ?? 0) > chargedAt
  return overtaken ? charge(known, policy, counting, Math.max(now, chargedAt)) : charge(known, policy, units, chargedAt)
}

/**
 * What is past a policy that only watches was not charged to it in time, either; nor has a log room for what is past
 * its limit.
 */
function charge(
  known: Fields | undefined,
  policy: CompiledPolicy,
  units: number,
  at: EpochMs,
): ConditionalWrite | undefined {
  const { algorithm, quota } = policy
  const within = algorithm.step(known, quota, units, at)
  if (within.write && within.verdict.allowed) return within.write
  const { algorithm: same, quota: most } = policy.lenient ? policy : policy.unlimited()
  const { remaining } = same.step(known, most, 0, at).verdict
  const { verdict, write } = same.step(known, most, Math.min(units, remaining), at)
  return verdict.allowed ? write : undefined
}

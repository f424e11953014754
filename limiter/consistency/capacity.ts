import type { Verdicts } from '../algorithms/algorithm'
import type { EpochMs } from '../clock'
import { type CompiledPolicy, fieldsOf } from '../compiled-policy'
import type { View } from '../view'

/** Units that come back within this time, in milliseconds, are worth waiting for. */
const SOON_MS = 1000

/**
 * Estimates how a subject's policies stand for a lease.
 *
 * @param pauseMs how long an instance would wait for units to come back.
 * @returns the `Capacity` of lease-size.ts
 */
export function estimateCapacity(
  view: View | undefined,
  policies: readonly CompiledPolicy[],
  now: EpochMs,
  pauseMs: number,
) {
  const remaining = remainingOf(view, policies, now)
  const capacities = policies.map((policy) => wholeOf(policy, now))
  const shares = remaining.map((left, i) => left / capacities[i]!)
  const capacity = capacities[shares.indexOf(Math.min(...shares))]! // of the tightest policy
  const endsInMs = Math.min(...policies.map((policy) => spendableMs(view, policy, now)))
  const left = view ? Math.min(...remaining) : 0
  const ageMs = view ? Math.max(0, now - view.seenAt) : 0
  return { left, capacity, ageMs, endsInMs, ...refillOf(view, policies, left, now, endsInMs, pauseMs) }
}

/** How long units charged now can be spent. Where the window that was seen is over, they open the next one. */
function spendableMs(view: View | undefined, policy: CompiledPolicy, now: EpochMs): number {
  const { counter } = policy
  const ms = counter.leaseExpiresAt(fieldsOf(view?.item, policy) ?? {}, now)! - now
  return ms > 0 ? ms : counter.leaseExpiresAt({}, now)! - now
}

/** Units that a policy has when none are taken. */
export const wholeOf = ({ counter }: CompiledPolicy, now: EpochMs): number => counter.step({}, 0, now).verdict.remaining

/** The most units that policies ever allow at once. */
export const mostUnits = (policies: readonly CompiledPolicy[], now: EpochMs): number =>
  Math.min(...policies.map((policy) => wholeOf(policy, now)))

/** Verdicts of the store beside so many units that are held: after a reset it has more than these leave. */
export const beside = (
  verdicts: Verdicts,
  policies: readonly CompiledPolicy[],
  units: number,
  now: EpochMs,
): Verdicts =>
  verdicts.map((verdict, i) => ({
    ...verdict,
    remaining: Math.min(verdict.remaining, Math.max(0, wholeOf(policies[i]!, now) - units)),
  }))

/** The units that each policy has left, if none were charged since the view. */
export function remainingOf(view: View | undefined, policies: readonly CompiledPolicy[], now: EpochMs): number[] {
  return policies.map((policy) => policy.counter.step(fieldsOf(view?.item, policy), 0, now).verdict.remaining)
}

/** Units that come back soon by themselves; none under a policy that lets requests pass anyway. */
function refillOf(
  view: View | undefined,
  policies: readonly CompiledPolicy[],
  left: number,
  now: EpochMs,
  endsInMs: number,
  pauseMs: number,
) {
  const none = { refill: 0, refillMs: 0 }
  if (!view || policies.some(({ nonBlocking }) => nonBlocking)) return none
  const nextMs = Math.max(
    ...policies.map((policy) => policy.counter.step(fieldsOf(view.item, policy), left + 1, now).verdict.retryAfterMs),
  )
  if (nextMs > SOON_MS || nextMs >= endsInMs) return none
  const refillMs = Math.ceil(Math.max(nextMs, pauseMs))
  return { refill: Math.max(0, Math.min(...remainingOf(view, policies, now + refillMs)) - left), refillMs }
}

import type { EpochMs } from '../clock'
import { type CompiledPolicy, fieldsOf } from '../compiled-policy'
import type { View } from '../subject-cache'

/** How a subject's policies stand for a lease, as far as an instance knows. */
export interface Outlook {
  /** Units that the tightest policy has left, if nobody has taken any since they were seen. */
  readonly left: number
  /** Units that it has when none are taken. */
  readonly capacity: number
  /** How long ago that was seen, in milliseconds. */
  readonly ageMs: number
  /** How long units that are taken now can be spent, in milliseconds. */
  readonly endsInMs: number
  /** Units that come back soon by themselves, and how soon, in milliseconds; 0 where none do before the window ends. */
  readonly refill: number
  readonly refillMs: number
}

/** Whoever waits for units to come back waits for those that come within a second. */
const SOON_MS = 1000

/** @param pauseMs how long an instance would wait for units to come back. */
export function outlookOf(
  view: View | undefined,
  policies: readonly CompiledPolicy[],
  now: EpochMs,
  pauseMs: number,
): Outlook {
  const lefts = leftsOf(view, policies, now)
  const capacities = policies.map(({ algorithm, quota }) => algorithm.step({}, quota, 0, now).verdict.remaining)
  const shares = lefts.map((left, i) => left / capacities[i]!)
  const tightest = shares.indexOf(Math.min(...shares))
  const endsInMs = Math.min(...policies.map((policy) => spendableMs(view, policy, now)))
  const left = view ? Math.min(...lefts) : 0
  const ageMs = view ? Math.max(0, now - view.seenAt) : 0
  return {
    left,
    capacity: capacities[tightest]!,
    ageMs,
    endsInMs,
    ...refillOf(view, policies, left, now, endsInMs, pauseMs),
  }
}

/** How long units charged now can be spent. Where the window that was seen is over, they open the next one. */
function spendableMs(view: View | undefined, policy: CompiledPolicy, now: EpochMs): number {
  const { algorithm, quota } = policy
  const ms = algorithm.heldUntil!(fieldsOf(view?.item, policy) ?? {}, quota, now)! - now
  return ms > 0 ? ms : algorithm.heldUntil!({}, quota, now)! - now
}

/** Units that each policy has left, if nobody has taken any since. */
export function leftsOf(view: View | undefined, policies: readonly CompiledPolicy[], now: EpochMs): number[] {
  return policies.map(
    (policy) => policy.algorithm.step(fieldsOf(view?.item, policy), policy.quota, 0, now).verdict.remaining,
  )
}

/** What passes a limit is waited for by nobody. */
function refillOf(
  view: View | undefined,
  policies: readonly CompiledPolicy[],
  left: number,
  now: EpochMs,
  endsInMs: number,
  pauseMs: number,
) {
  const none = { refill: 0, refillMs: 0 }
  if (!view || policies.some(({ lenient }) => lenient)) return none
  const nextMs = Math.max(
    ...policies.map((policy) => {
      const { algorithm, quota } = policy
      return algorithm.step(fieldsOf(view.item, policy), quota, left + 1, now).verdict.retryAfterMs
    }),
  )
  if (nextMs > SOON_MS || nextMs >= endsInMs) return none
  const refillMs = Math.ceil(Math.max(nextMs, pauseMs))
  return { refill: Math.max(0, Math.min(...leftsOf(view, policies, now + refillMs)) - left), refillMs }
}

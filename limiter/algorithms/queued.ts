import type { EpochMs } from '../clock'
import type { Algorithm, Step } from './algorithm'
import { type ConditionalWrite, exactly, type Fields, when } from './conditional-write'
import { firstMoment } from './first-moment'

/** A quota, and how long a request waits at most until there is room for it, in milliseconds. */
export type Queued<Quota> = Quota & { readonly patienceMs: number }

/**
 * Lets requests that a quota denies wait for their turn: the first moment at which there is room, provided that it
 * comes soon enough. A request is charged as if it came at its turn, as by a writer whose clock is ahead, so the
 * requests at their turns are no more than the quota admits.
 *
 * First come, first served: once a request has been charged in a window to come, those after it are charged there or
 * later, even where they would have fitted into the present one. A clock that is behind waits until it is there.
 *
 * The laws hold at the turn instead of now. A write made from an old view may charge a later turn than what is stored
 * would give, never an earlier one. Units are given back at the turn at which they were charged.
 */
export const queued = <Quota>(algorithm: Algorithm<Quota>): Algorithm<Queued<Quota>> => {
  const firstTurn = (known: Fields | undefined, quota: Quota, now: EpochMs): EpochMs =>
    Math.max(now, algorithm.reachedAt?.(known, quota, now) ?? now)

  const turnOf = (known: Fields | undefined, quota: Quota, cost: number, now: EpochMs): { at: EpochMs; step: Step } => {
    let at = firstTurn(known, quota, now)
    let step = algorithm.step(known, quota, cost, at, now)
    while (!step.verdict.allowed && step.verdict.retryAfterMs < Infinity) {
      at += step.verdict.retryAfterMs
      step = algorithm.step(known, quota, cost, at, now)
    }
    return { at: step.verdict.allowed ? at : Infinity, step }
  }

  return {
    ...algorithm,

    step(known, quota, cost, now) {
      const { at: turn, step } = turnOf(known, quota, cost, now)
      const delayMs = turn - now
      if (delayMs <= quota.patienceMs) {
        const { verdict, write } = step
        const remaining = delayMs > 0 ? 0 : verdict.remaining
        return { verdict: { ...verdict, remaining, resetAfterMs: delayMs + verdict.resetAfterMs, delayMs }, write }
      }

      const first = firstTurn(known, quota, now)
      const { verdict } = algorithm.step(known, quota, 0, first, now)
      const latest = turn - quota.patienceMs
      const soonEnough = (at: EpochMs): boolean => turnOf(known, quota, cost, at).at - at <= quota.patienceMs
      return {
        verdict: {
          ...verdict,
          allowed: false,
          remaining: 0,
          resetAfterMs: first - now + verdict.resetAfterMs,
          retryAfterMs: turn === Infinity ? Infinity : firstMoment(now, latest, soonEnough) - now,
        },
      }
    },

    heldUntil: undefined, // who waits is charged where it will be, not before it is there

    lifeMs: (quota) => algorithm.lifeMs(quota) + quota.patienceMs,

    /** Costs add up at one turn. */
    together: (one, next) => one.verdict.delayMs === next.verdict.delayMs,
  }
}

/**
 * Gives back units of a request that came at `chargedAt`, and of which is not known how long it had to wait: as far as
 * nobody has been charged later than that, and so this request has not either.
 */
export function refundUnlessQueued<Quota>(
  algorithm: Algorithm<Quota>,
  known: Fields,
  quota: Quota,
  units: number,
  chargedAt: EpochMs,
  now: EpochMs,
): ConditionalWrite | undefined {
  if (algorithm.reachedAt && algorithm.reachedAt(known, quota, chargedAt) > chargedAt) return undefined
  const write = algorithm.refund(known, quota, units, chargedAt, now)
  const newest = known.w // where it is kept, it says how far the state has come
  return write && typeof newest === 'number'
    ? when([...write.guard, exactly('w', newest)], ...write.assignments)
    : write
}

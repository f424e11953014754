import type { EpochMs } from '../clock'
import type { Step } from './algorithm'
import { type ConditionalWrite, exactly, type Fields, when } from './conditional-write'
import type { Counter } from './counter'
import { firstMoment } from './first-moment'

/**
 * Lets requests that a limit denies wait for their turn: the first moment at which there is room, provided that it
 * comes soon enough. A request is charged as if it came at its turn, as by a writer whose clock is ahead. So the
 * requests at their turns are no more than the limit admits.
 *
 * First come, first served: once a request has been charged in a window to come, those after it are charged there or
 * later, even where they would have fitted into the present one. A clock that is behind waits until it is there.
 *
 * The laws hold at the turn instead of now. A write made from an old view may charge a later turn than what is stored
 * would give, never an earlier one. Units are given back at the turn at which they were charged.
 *
 * @param maxWaitMs the longest wait, in milliseconds; a request whose turn comes later is denied.
 */
export const queued = (counter: Counter, maxWaitMs: number): Counter => {
  const firstTurn = (known: Fields | undefined, now: EpochMs): EpochMs =>
    Math.max(now, counter.reachedAt(known, now) ?? now)

  const waitForSlot = (known: Fields | undefined, cost: number, now: EpochMs): { at: EpochMs; step: Step } => {
    let at = firstTurn(known, now)
    let step = counter.step(known, cost, at, now)
    while (!step.verdict.allowed && step.verdict.retryAfterMs < Infinity) {
      at += step.verdict.retryAfterMs
      step = counter.step(known, cost, at, now)
    }
    return { at: step.verdict.allowed ? at : Infinity, step }
  }

  return {
    ...counter,

    step(known, cost, now) {
      const { at: turn, step } = waitForSlot(known, cost, now)
      const delayMs = turn - now
      if (delayMs <= maxWaitMs) {
        const { verdict, write } = step
        const remaining = delayMs > 0 ? 0 : verdict.remaining
        return { verdict: { ...verdict, remaining, resetAfterMs: delayMs + verdict.resetAfterMs, delayMs }, write }
      }

      const first = firstTurn(known, now)
      const { verdict } = counter.step(known, 0, first, now)
      const latest = turn - maxWaitMs
      const soonEnough = (at: EpochMs): boolean => waitForSlot(known, cost, at).at - at <= maxWaitMs
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

    /** No sooner than those who wait. */
    chargeLate: (known, units, chargedAt, now) => counter.chargeLate(known, units, firstTurn(known, chargedAt), now),

    leaseExpiresAt: () => undefined, // a request that waits is charged at its turn, not before it is there

    retentionMs: counter.retentionMs + maxWaitMs,

    /** Costs add up at one turn. */
    canMerge: (one, next) => one.verdict.delayMs === next.verdict.delayMs,
  }
}

/**
 * Gives back units of a request that came at `chargedAt`, and of which is not known how long it had to wait: only while
 * nobody has been charged later than that, and so this request has not either.
 */
export function refundUnlessQueued(
  counter: Counter,
  known: Fields,
  units: number,
  chargedAt: EpochMs,
  now: EpochMs,
): ConditionalWrite | undefined {
  const reachedAt = counter.reachedAt(known, chargedAt)
  if (reachedAt !== undefined && reachedAt > chargedAt) return undefined
  const write = counter.refund(known, units, chargedAt, now)
  const newest = known.w // where it is kept, it says how far the state has come
  return write && typeof newest === 'number'
    ? when([...write.guard, exactly('w', newest)], ...write.assignments)
    : write
}

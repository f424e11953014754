import type { EpochMs } from '../clock'
import type { Step } from './algorithm'
import { type ConditionalWrite, exactly, type Fields, numberOf, when } from './conditional-write'
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
 * Lets requests wait for a turn that they get when they ask: the moment at which there is room for them, after all who
 * asked before. For limits whose state says itself when there is room, as a time of arrival does: whoever counts by the
 * plain limit is denied until all turns that were given have come.
 *
 * It decides, charges and stores as the raised limit does, so costs add up, and a write made from an old view gets the
 * turn that is stored.
 *
 * A request that costs more than the burst would be given a turn, too: ask first whether it can ever pass.
 *
 * @param raised the same limit with a larger burst, in the same state: by how much is how far ahead turns are given.
 */
export const inTurn = (limit: Counter, raised: Counter): Counter => ({
  ...limit,
  retentionMs: raised.retentionMs,
  storedBytes: raised.storedBytes,
  leaseExpiresAt: () => undefined, // what is leased is spent at once

  step(known, cost, now) {
    const own = limit.step(known, cost, now).verdict
    const { verdict, write } = raised.step(known, cost, now)
    if (!verdict.allowed) return { verdict: { ...verdict, remaining: 0 } }
    const delayMs = verdict.delayMs ?? own.retryAfterMs // a queue counts it itself
    return { verdict: { ...verdict, remaining: own.allowed ? own.remaining : 0, delayMs }, write }
  },

  /** Only the last turn that was given can be given back: later ones stay where they are. */
  refund(known, units, turnAt, now) {
    if (limit.step(known, 0, turnAt).verdict.resetAfterMs > limit.retentionMs) return undefined
    const write = limit.refund(known, units, turnAt, now)
    return write && when([...write.guard, exactly('t', numberOf(known, 't'))], ...write.assignments)
  },
})

/**
 * Gives back units of a request that came at `chargedAt` and whose delay is unknown: only while nobody has been charged
 * later than that, and so this request has not either.
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

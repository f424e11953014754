import type { EpochMs } from '../clock'
import type { Step, Verdict } from './algorithm'
import {
  absentOrAtMost,
  type Comparison,
  exactly,
  type Fields,
  numberOf,
  numbersBytes,
  remove,
  set,
  when,
} from './conditional-write'
import type { Counter } from './counter'

/** When a caller is locked out, and for how long. */
export interface Lockout {
  readonly forMs: number
  /** How many denials start it: within `windowMs` from the first of them on. */
  readonly after: number
  readonly windowMs: number
  /** Whether a denial prolongs it. */
  readonly extend: boolean
}

/**
 * With `extend`, each write prolongs by up to this much more than it must, and at most a tenth of the lock-out, so that
 * the denials that follow need none.
 */
const MAX_AHEAD_MS = 1000

/**
 * Refuses who goes on past a limit for a while, whatever becomes free meanwhile. The counter within records no denials.
 *
 * Fields: `b` the moment at which the lock-out ends; of several denials that start one, `a` the time of the first and
 * `d` how many there were.
 *
 * The denial that starts a lock-out writes its end, and nobody moves that but a reset, or a denial with `extend`. So
 * clocks count as they differ: an instance lets the caller in when its own clock is there. A charge is refused where a
 * lock-out is stored that its writer has not seen; a lock-out that is over starts none.
 */
export function lockingOut(counter: Counter, { forMs, after, windowMs, extend }: Lockout): Counter {
  const aheadMs = extend ? Math.min(MAX_AHEAD_MS, Math.floor(forMs / 10)) : 0

  const lockedOut = (known: Fields | undefined, cost: number, now: EpochMs, until: EpochMs) => ({
    allowed: false,
    remaining: 0,
    resetAfterMs: Math.max(until - now, counter.step(known, 0, now).verdict.resetAfterMs),
    retryAfterMs: until - now + counter.step(known, cost, until).verdict.retryAfterMs,
    lockedOut: true as const,
  })

  const whileLockedOut = (known: Fields | undefined, cost: number, now: EpochMs, until: EpochMs): Step => {
    if (!extend || cost === 0 || until >= now + forMs) return { verdict: lockedOut(known, cost, now, until) }
    const end = now + forMs + aheadMs
    return { verdict: lockedOut(known, cost, now, end), write: when([exactly('b', until)], set('b', end)) }
  }

  const denied = (known: Fields | undefined, cost: number, now: EpochMs, verdict: Verdict): Step => {
    const [first, count] = [numberOf(known, 'a'), numberOf(known, 'd')]
    const isCounting = first > 0 && Math.abs(now - first) < windowMs
    const nth = isCounting ? count + 1 : 1
    const asSeen = [free(now), first > 0 ? exactly('a', first) : absentOrAtMost('a', 0), absentOrAtMost('d', count)]
    if (nth < after) return { verdict, write: when(asSeen, set('a', isCounting ? first : now), set('d', nth)) }
    const until = now + forMs
    return {
      verdict: lockedOut(known, cost, now, until),
      write: when(asSeen, set('b', until), remove('a'), remove('d')),
    }
  }

  return {
    ...counter,

    step(known, cost, now, asOf, asked) {
      const until = numberOf(known, 'b')
      if (now < until) return whileLockedOut(known, cost, now, until)
      const step = counter.step(known, cost, now, asOf, asked)
      if (!step.verdict.allowed) return cost === 0 ? step : denied(known, cost, now, step.verdict)
      if (!step.write) return step
      return { ...step, write: { ...step.write, guard: [...step.write.guard, free(now)] } }
    },

    retentionMs: Math.max(counter.retentionMs, forMs + aheadMs, after > 1 ? windowMs : 0),
    storedBytes: counter.storedBytes + numbersBytes(3),
    recordsDenials: true,

    /** A request that is charged and one whose denial is written down are two writes, also where one is a guess. */
    canMerge: (one, next) => one.verdict.allowed === next.verdict.allowed && counter.canMerge(one, next),

    /** A lease would be spent by who is locked out meanwhile. */
    leaseExpiresAt: () => undefined,

    unlocked: counter,
  }
}

const free = (now: EpochMs): Comparison => absentOrAtMost('b', now)

/** Fields with the lock-out that others have, or with none. */
export function lockedOutAs({ b: until }: Fields, { b: _, ...fields }: Fields): Fields {
  return until === undefined ? fields : { ...fields, b: until }
}

/** For how long a subject is locked out yet, in milliseconds; 0 where it is not. */
export const lockedOutMs = (known: Fields, now: EpochMs): number => Math.max(0, numberOf(known, 'b') - now)

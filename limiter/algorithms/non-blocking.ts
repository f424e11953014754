import type { Exceeded } from './algorithm'
import type { Counter } from './counter'

/**
 * Denies nothing: a request that would have been denied passes, marked, and is charged what a denied one is, which is
 * nothing unless denials are recorded. So the state is what it would be if the limit were enforced. A policy that
 * observes delays no request, either.
 *
 * A view that is too old to deny by is also too old to tell that a request would have been denied.
 */
export const nonBlocking = (counter: Counter, exceeded: Exclude<Exceeded, 'overrun'>): Counter => ({
  ...counter,

  step(known, cost, now, asOf, holds) {
    const { verdict, write } = counter.step(known, cost, now, asOf, holds)
    const passed = { ...verdict, ...(exceeded === 'observe' && { delayMs: 0 }) }
    return { verdict: verdict.allowed ? passed : { ...passed, allowed: true, retryAfterMs: 0, exceeded }, write }
  },

  /** As many as there is room for: what is past the limit was not charged in time, either. */
  chargeLate(known, units, chargedAt, now) {
    const { remaining } = counter.step(known, 0, chargedAt).verdict
    return remaining > 0 ? counter.chargeLate(known, Math.min(units, remaining), chargedAt, now) : undefined
  },

  /** A request that is charged and one that passes uncharged are two writes. */
  canMerge: (one, next) => !one.write === !next.write,
})

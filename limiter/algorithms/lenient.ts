import type { Algorithm, Exceeded } from './algorithm'

/**
 * Denies nothing: a request that would have been denied passes, marked, and takes as much as it would have if it had
 * been denied, which is nothing but where denials are recorded. So the state is what it would be if the limit were
 * enforced. A policy that observes makes nobody wait, either.
 *
 * A view that is too old to deny by is too old to say by that a request would have been denied.
 */
export const lenient = <Quota>(
  algorithm: Algorithm<Quota>,
  exceeded: Exclude<Exceeded, 'relaxed'>,
): Algorithm<Quota> => ({
  ...algorithm,

  step(known, quota, cost, now, asOf) {
    const { verdict, write } = algorithm.step(known, quota, cost, now, asOf)
    const passed = { ...verdict, ...(exceeded === 'observe' && { delayMs: 0 }) }
    return { verdict: verdict.allowed ? passed : { ...passed, allowed: true, retryAfterMs: 0, exceeded }, write }
  },

  /** What fits and what does not are charged apart. */
  together: (one, next) => !one.write === !next.write,
})

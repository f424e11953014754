import type { Algorithm } from './algorithm'

/** A quota, and how long a request waits at most until there is room for it, in milliseconds. */
export type Queued<Quota> = Quota & { readonly patienceMs: number }

/**
 * Lets requests that a quota denies wait for their turn: the first moment at which there is room, provided that it comes soon enough. A request is
 * charged as if it came at its turn, as by a writer whose clock is ahead, so the requests at their turns are no more than the quota admits.
 *
 * First come, first served: once a request has been charged in a window to come, those after it are charged there or later, even where they
 * would have fitted into the present one. A clock that is behind waits until it is there.
 *
 * The laws hold at the turn instead of now. A write made from an old view may charge a later turn than what is stored would give, never an earlier
 * one. Units given back are looked for where they were asked for, and may be lost when they were charged later.
 */
export const queued = <Quota>(algorithm: Algorithm<Quota>): Algorithm<Queued<Quota>> => ({
  ...algorithm,

  step(known, quota, cost, now) {
    const first = Math.max(now, algorithm.reachedAt?.(known, quota, now) ?? now)
    const soonest = algorithm.step(known, quota, cost, first)
    const delayMs = first + soonest.verdict.retryAfterMs - now
    const waits = delayMs <= quota.patienceMs
    const turn = waits ? now + delayMs : first
    const { verdict, write } = turn > first || !waits ? algorithm.step(known, quota, waits ? cost : 0, turn) : soonest
    return {
      verdict: {
        ...verdict,
        allowed: waits,
        remaining: delayMs > 0 ? 0 : verdict.remaining,
        resetAfterMs: turn - now + verdict.resetAfterMs,
        retryAfterMs: waits ? 0 : delayMs - quota.patienceMs,
        ...(waits && { delayMs }),
      },
      write,
    }
  },

  heldUntil: undefined, // who waits is charged where it will be, not before it is there

  lifeMs: (quota) => algorithm.lifeMs(quota) + quota.patienceMs,

  /** Costs add up at one turn. */
  together: (one, next) => one.verdict.delayMs === next.verdict.delayMs,
})

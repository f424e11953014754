import type { Algorithm } from './algorithm'

/** A quota, and the larger one up to which it may be overrun. Both count in the same state. */
export type Relaxed<Quota> = Quota & { readonly raised: Quota }

/**
 * Admits past a quota up to a raised one, and marks what is past it as `relaxed`. What remains is what remains of the
 * quota itself.
 *
 * It decides, charges and stores as the raised quota does, so that every law holds of it, and so that a limit begins
 * and ceases to be overrun without losing count.
 */
export const relaxed = <Quota>(algorithm: Algorithm<Quota>): Algorithm<Relaxed<Quota>> => ({
  ...algorithm,

  step(known, quota, cost, now, asOf) {
    const { verdict, write } = algorithm.step(known, quota.raised, cost, now, asOf)
    const { allowed, remaining } = algorithm.step(known, quota, cost, now, asOf).verdict
    const past = verdict.allowed && !allowed
    return { verdict: { ...verdict, remaining: past ? 0 : remaining, ...(past && { exceeded: 'relaxed' }) }, write }
  },

  lifeMs: ({ raised }) => algorithm.lifeMs(raised),

  storedBytes: ({ raised }) => algorithm.storedBytes(raised),

  heldUntil: (after, { raised }, chargedAt) => algorithm.heldUntil?.(after, raised, chargedAt),
})

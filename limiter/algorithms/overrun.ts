import type { Counter } from './counter'

/**
 * Admits past a limit up to a raised one, and marks what is past it as `overrun`. What remains is what remains of the
 * limit itself.
 *
 * It decides, charges and stores as the raised limit does. So every law holds of it, and a limit begins and ceases to
 * be overrun without losing count.
 *
 * @param limit and the raised one count in the same state.
 */
export const overrun = (limit: Counter, raised: Counter): Counter => ({
  ...limit,
  retentionMs: raised.retentionMs,
  storedBytes: raised.storedBytes,
  leaseExpiresAt: raised.leaseExpiresAt,

  step(known, cost, now, asOf) {
    const { verdict, write } = raised.step(known, cost, now, asOf)
    const { allowed, remaining } = limit.step(known, cost, now, asOf).verdict
    const past = verdict.allowed && !allowed
    return { verdict: { ...verdict, remaining: past ? 0 : remaining, ...(past && { exceeded: 'overrun' }) }, write }
  },
})

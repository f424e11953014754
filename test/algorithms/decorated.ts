import type { Algorithm } from '../../limiter/algorithms/algorithm'
import { bind, type Counter } from '../../limiter/algorithms/counter'
import { nonBlocking as decorateNonBlocking } from '../../limiter/algorithms/non-blocking'
import { overrun } from '../../limiter/algorithms/overrun'
import { queued as decorateQueued } from '../../limiter/algorithms/queued'

/** Makes an algorithm of a decorated counter, so that timelines and laws can be run against it. */
function asAlgorithm<Quota extends object>(
  algorithm: Pick<
    Algorithm<never>,
    'name' | 'recordsDenials' | 'leaseExpiresAt' | 'extrapolate' | 'reachedAt' | 'purge'
  >,
  decorated: (quota: Quota) => Counter,
): Algorithm<Quota> {
  const counters = new WeakMap<Quota, Counter>()
  const of = (quota: Quota): Counter => {
    const counter = counters.get(quota) ?? decorated(quota)
    counters.set(quota, counter)
    return counter
  }
  return {
    name: algorithm.name,
    step: (known, quota, cost, now, asOf) => of(quota).step(known, cost, now, asOf),
    refund: (known, quota, units, chargedAt, now) => of(quota).refund(known, units, chargedAt, now),
    chargeLate: (known, quota, units, chargedAt, now) => of(quota).chargeLate(known, units, chargedAt, now),
    retentionMs: (quota) => of(quota).retentionMs,
    storedBytes: (quota) => of(quota).storedBytes,
    ...(algorithm.recordsDenials && { recordsDenials: (quota) => of(quota).recordsDenials }),
    ...(algorithm.leaseExpiresAt && {
      leaseExpiresAt: (after, quota, chargedAt) => of(quota).leaseExpiresAt(after, chargedAt),
    }),
    ...(algorithm.extrapolate && {
      extrapolate: (seen, seenAt, quota, now) => of(quota).extrapolate(seen, seenAt, now),
    }),
    ...(algorithm.reachedAt && { reachedAt: (known, quota, now) => of(quota).reachedAt(known, now)! }),
    ...(algorithm.purge && { purge: (known, quota, now) => of(quota).purge(known, now) }),
  }
}

/** A quota, and the larger one that includes its overrun. */
export type Overrun<Quota> = Quota & { readonly raised: Quota }

export const overrunning = <Quota extends object>(algorithm: Algorithm<Quota>): Algorithm<Overrun<Quota>> =>
  asAlgorithm(algorithm, (quota) => overrun(bind(algorithm, quota), bind(algorithm, quota.raised)))

/** A quota, and the longest wait of a request in milliseconds. */
export type Queued<Quota> = Quota & { readonly maxWaitMs: number }

export const queued = <Quota extends object>(algorithm: Algorithm<Quota>): Algorithm<Queued<Quota>> =>
  asAlgorithm(algorithm, (quota) => decorateQueued(bind(algorithm, quota), quota.maxWaitMs))

export const nonBlocking = <Quota extends object>(
  algorithm: Algorithm<Quota>,
  exceeded: 'observe' | 'deprioritize',
): Algorithm<Quota> => asAlgorithm(algorithm, (quota) => decorateNonBlocking(bind(algorithm, quota), exceeded))

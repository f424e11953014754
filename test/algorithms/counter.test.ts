import type { Algorithm } from '../../limiter/algorithms/algorithm'
import { when } from '../../limiter/algorithms/conditional-write'
import { bind, unlocked } from '../../limiter/algorithms/counter'

interface Quota {
  readonly limit: number
}
const quota: Quota = { limit: 7 }
const verdict = { allowed: true, remaining: 1, resetAfterMs: 2, retryAfterMs: 0 }

/** What every algorithm has, and nothing that it may leave out. */
const plain: Algorithm<Quota> = {
  name: 'plain',
  step: () => ({ verdict }),
  refund: () => undefined,
  chargeLate: () => undefined,
  retentionMs: ({ limit }) => 1000 * limit,
  storedBytes: ({ limit }) => 10 * limit,
}

describe('a counter', () => {
  it('of an algorithm that leaves out what it may ends by time, records no denial, leases, guesses and purges nothing', () => {
    const counter = bind(plain, quota)
    expect([counter.isEndedByOthers, counter.recordsDenials]).toEqual([false, false])
    expect([counter.retentionMs, counter.storedBytes]).toEqual([7000, 70])
    const seen = { c: 3 }
    expect(counter.extrapolate(seen, 1, 2)).toBe(seen)
    expect(counter.leaseExpiresAt(seen, 1)).toBeUndefined()
    expect(counter.reachedAt(seen, 1)).toBeUndefined()
    expect(counter.purge(seen, 1)).toBeUndefined()
  })

  it('merges requests into one write, because costs add up', () => {
    expect(bind(plain, quota).canMerge({ verdict }, { verdict })).toBe(true)
  })

  it('asks the algorithm for its quota wherever it has an answer', () => {
    const write = when([])
    const counter = bind(
      {
        ...plain,
        isEndedByOthers: true,
        recordsDenials: ({ limit }) => limit === 7,
        extrapolate: (seen, seenAt, { limit }, now) => ({ ...seen, c: limit, a: seenAt, b: now }),
        leaseExpiresAt: (_after, { limit }, chargedAt) => chargedAt + limit,
        reachedAt: (_known, { limit }, now) => now - limit,
        purge: (_known, { limit }, now) => (limit === 7 && now === 5 ? write : undefined),
      },
      quota,
    )
    expect([counter.isEndedByOthers, counter.recordsDenials]).toEqual([true, true])
    expect(counter.extrapolate({ c: 3 }, 1, 2)).toEqual({ c: 7, a: 1, b: 2 })
    expect([counter.leaseExpiresAt({}, 10), counter.reachedAt({}, 10)]).toEqual([17, 3])
    expect(counter.purge({}, 5)).toBe(write)
  })

  it('without lock-outs is itself', () => {
    const counter = bind(plain, quota)
    expect(unlocked(counter)).toBe(counter)
    expect(unlocked({ ...bind(plain, quota), unlocked: counter })).toBe(counter)
  })
})

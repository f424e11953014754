import fc from 'fast-check'
import { type Decision, MemoryStore, type PolicyInput } from '../../limiter'
import { runs } from '../runs'
import { describeStores } from '../stores'
import { everyAlgorithm, limiterOn, TestClock } from './limiters'

/** A request: to which of four instances, how long after the one before, and its cost. */
const traffic = fc.array(
  fc.record({
    instance: fc.integer({ min: 0, max: 3 }),
    pauseMs: fc.oneof(
      fc.constantFrom(0, 0, 1, 999, 1000, 2500),
      fc.integer({ min: 0, max: 3000 }),
      fc.constantFrom(60_000, 86_400_000),
    ),
    cost: fc.integer({ min: 1, max: 4 }),
  }),
  { minLength: 5, maxLength: 40 },
)

const policySets: PolicyInput[][] = [
  ...everyAlgorithm(6, '3s').map((policy) => [policy]),
  [{ name: 'interval', algorithm: 'token-bucket', refill: 'interval', limit: 2, burst: 7, window: '1s' }],
  [{ name: 'slow-interval', algorithm: 'token-bucket', refill: 'interval', limit: 9, burst: 4, window: '1s' }],
  [{ name: 'queue', algorithm: 'leaky-bucket', mode: 'queue', limit: 3, window: '1s', burst: 50, maxDelay: '1500ms' }],
  [{ name: 'few-buckets', algorithm: 'sliding-buckets', limit: 9, window: '2s', buckets: 4 }],
  [{ name: 'overage', algorithm: 'fixed-window', limit: 6, window: '3s', overage: 'allow' }],
  [{ name: 'denied-too', algorithm: 'sliding-log', limit: 4, window: '2s', countDenied: true }],
  [
    { name: 'second', limit: 4, window: '1s' },
    { name: 'minute', limit: 30, window: '1m' },
    { name: 'pace', algorithm: 'gcra', limit: 10, window: '4s', burst: 5 },
  ],
]

let subjects = 0

/**
 * Expects the same decision. A cached denial may report the retry time as of its last read, and may name another of
 * several policies that deny.
 */
function expectAsGood(decision: Decision, truth: Decision): void {
  if (truth.allowed) {
    expect(decision).toEqual(truth)
    return
  }
  expect(decision.allowed).toBe(false)
  expect(truth.policies[decision.policy]).toMatchObject({ allowed: false, limit: decision.limit })
  expect(decision.retryAfterMs).toBeLessThanOrEqual(truth.retryAfterMs)
  expect(decision.remaining).toBeGreaterThanOrEqual(truth.remaining)
}

describe('laws of the take items', () => {
  describeStores((opened, name) => {
    const numRuns = name === 'memory' ? runs(3, 60) : runs(1, 3)
    for (const policies of policySets) {
      it(`an instance that missed other instances’ writes decides as one that saw everything: ${policies.map((policy) => policy.name).join(', ')}`, async () => {
        await fc.assert(
          fc.asyncProperty(traffic, async (requests) => {
            const clock = new TestClock()
            const subject = `client:law-${process.pid}-${subjects++}`
            const instances = [0, 1, 2, 3].map(() => limiterOn(opened().store, clock, policies, { deadlineMs: 10_000 }))
            const allSeeing = limiterOn(new MemoryStore(), clock, policies)
            for (const { instance, pauseMs, cost } of requests) {
              clock.at += pauseMs
              expectAsGood(await instances[instance]!.take(subject, { cost }), await allSeeing.take(subject, { cost }))
            }
          }),
          { numRuns },
        )
      })
    }
  })

  it('coalesced requests are decided as if they had come one after another', async () => {
    const burst = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...policySets),
        fc.array(fc.record({ pauseMs: fc.integer({ min: 0, max: 2500 }), burst }), { maxLength: 6 }),
        async (policies, waves) => {
          const clock = new TestClock()
          const [together, oneByOne] = [
            limiterOn(new MemoryStore(), clock, policies),
            limiterOn(new MemoryStore(), clock, policies),
          ]
          for (const { pauseMs, burst } of waves) {
            clock.at += pauseMs
            const decisions = await Promise.all(burst.map((cost) => together.take('client:a', { cost })))
            for (const [i, cost] of burst.entries()) {
              const alone = await oneByOne.take('client:a', { cost })
              expect(decisions[i]!.allowed).toBe(alone.allowed)
              // denied requests report the state after the whole batch
              if (alone.allowed) expect(decisions[i]).toEqual(alone)
            }
          }
        },
      ),
      { numRuns: runs(5, 150) },
    )
  })

  it('a retry after retryAfterMs is allowed, one a millisecond sooner is denied', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...policySets), traffic, async (policies, requests) => {
        const clock = new TestClock()
        const limiter = limiterOn(new MemoryStore(), clock, policies)
        for (const { pauseMs, cost } of requests) {
          clock.at += pauseMs
          const { allowed, retryAfterMs } = await limiter.take('client:a', { cost })
          if (allowed || retryAfterMs === Infinity) continue
          const at = clock.at
          clock.at = at + retryAfterMs - 1
          expect(await limiter.peek('client:a', { cost })).toMatchObject({ allowed: false })
          clock.at = at + retryAfterMs
          expect(await limiter.peek('client:a', { cost })).toMatchObject({ allowed: true })
          clock.at = at
        }
      }),
      { numRuns: runs(5, 150) },
    )
  })

  it('instances whose clocks differ admit no more than the limit in any window of the latest clock', async () => {
    const skewed = fc.array(
      fc.record({ instance: fc.integer({ min: 0, max: 3 }), pauseMs: fc.integer({ min: 0, max: 900 }) }),
      {
        minLength: 20,
        maxLength: 80,
      },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(...Array.from({ length: 4 }, () => fc.integer({ min: -2000, max: 2000 }))),
        skewed,
        async (skews, requests) => {
          const store = new MemoryStore()
          const clocks = skews.map((skew) => new TestClock(1_763_700_000_000 + skew))
          const instances = clocks.map((clock) =>
            limiterOn(store, clock, [{ name: 'log', algorithm: 'sliding-log', limit: 5, window: '3s' }]),
          )
          const admitted: number[] = []
          let latest = 0
          for (const { instance, pauseMs } of requests) {
            for (const clock of clocks) clock.at += pauseMs
            const { allowed } = await instances[instance]!.take('client:a')
            if (!allowed) continue
            // the newest recorded time, before which the log accepts nothing
            latest = Math.max(latest, clocks[instance]!.at)
            admitted.push(latest)
          }
          for (const end of admitted)
            expect(admitted.filter((at) => at > end - 3000 && at <= end).length).toBeLessThanOrEqual(5)
        },
      ),
      { numRuns: runs(8, 200) },
    )
  })
})

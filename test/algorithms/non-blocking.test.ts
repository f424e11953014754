import fc from 'fast-check'
import { apply, type Fields } from '../../limiter/algorithms/conditional-write'
import { bind } from '../../limiter/algorithms/counter'
import { fixedWindow } from '../../limiter/algorithms/fixed-window'
import { leakyBucket } from '../../limiter/algorithms/leaky-bucket'
import { nonBlocking as decorated } from '../../limiter/algorithms/non-blocking'
import { slidingLog } from '../../limiter/algorithms/sliding-log'
import { epochGrid } from '../../limiter/algorithms/window-grid'
import { anyCost, NUM_RUNS, START } from './algorithm-spec'
import { anyQuotaOf, NAMES } from './any-algorithm'
import { nonBlocking } from './decorated'

describe('a non-blocking policy', () => {
  const quota = { limit: 3, grid: epochGrid(1000) }

  it.each(['observe', 'deprioritize'] as const)(
    'allows a request over the limit, marks it with %s, and does not charge it',
    (exceeded) => {
      expect(nonBlocking(fixedWindow, exceeded).step({ w: 1, '01': 2 }, quota, 2, 1500)).toEqual({
        verdict: {
          allowed: true,
          remaining: 1,
          resetAfterMs: 500,
          retryAfterMs: 0,
          exceeded,
          ...(exceeded === 'observe' && { delayMs: 0 }),
        },
        write: undefined,
      })
      expect(
        nonBlocking(fixedWindow, exceeded).step({ w: 1, '01': 2 }, quota, 1, 1500).verdict.exceeded,
      ).toBeUndefined()
    },
  )

  it('records denials where the limit would', () => {
    const log = { limit: 1, windowMs: 1000, countDenied: true }
    const { verdict, write } = nonBlocking(slidingLog, 'observe').step({ l: [1000], t: 1000, v: 1 }, log, 1, 1500)
    expect(verdict).toMatchObject({ allowed: true, exceeded: 'observe' })
    expect(write).toEqual(slidingLog.step({ l: [1000], t: 1000, v: 1 }, log, 1, 1500).write)
  })

  it('delays no request when it only observes', () => {
    const queue = { limit: 4, windowMs: 1000, burst: 5, mode: 'queue' } as const
    const delayMs = (exceeded: 'observe' | 'deprioritize') =>
      nonBlocking(leakyBucket, exceeded).step({ t: 1_500_000 }, queue, 1, 1000).verdict.delayMs
    expect([delayMs('observe'), delayMs('deprioritize')]).toEqual([0, 500])
  })

  it('does not merge a request that fits with one that does not', () => {
    const watching = decorated(bind(fixedWindow, quota), 'observe')
    const [fits, other] = [watching.step({}, 1, 1500), watching.step({}, 4, 1500)]
    const canMerge = [watching.canMerge(fits, fits), watching.canMerge(other, other), watching.canMerge(fits, other)]
    expect(canMerge).toEqual([true, true, false])
  })

  it.each(NAMES)('with a %s otherwise decides and writes as that does', (name) =>
    fc.assert(
      fc.property(
        anyQuotaOf(name),
        fc.array(fc.record({ elapsedMs: fc.nat({ max: 500 }), cost: anyCost }), { minLength: 1, maxLength: 30 }),
        ({ algorithm, quota: own }, requests) => {
          const watching = nonBlocking(algorithm, 'deprioritize')
          const [told, expected]: [object[], object[]] = [[], []]
          let state: Fields = {}
          let now = START
          for (const { elapsedMs, cost } of requests) {
            now += elapsedMs
            const inner = algorithm.step(state, own, cost, now)
            const { verdict, write } = watching.step(state, own, cost, now)
            const passed = { ...inner.verdict, allowed: true, retryAfterMs: 0, exceeded: 'deprioritize' }
            told.push({ write, verdict })
            expected.push({ write: inner.write, verdict: inner.verdict.allowed ? inner.verdict : passed })
            if (write) state = apply(write, state)
          }
          expect(told).toEqual(expected)
        },
      ),
      { numRuns: NUM_RUNS },
    ),
  )
})

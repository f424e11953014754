import fc from 'fast-check'
import type { Algorithm } from '../../limiter/algorithms/algorithm'
import { apply, type ConditionalWrite, type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { bind } from '../../limiter/algorithms/counter'
import { fixedWindow } from '../../limiter/algorithms/fixed-window'
import { gcra } from '../../limiter/algorithms/gcra'
import { queued as decorated, refundUnlessQueued } from '../../limiter/algorithms/queued'
import { slidingLog } from '../../limiter/algorithms/sliding-log'
import { epochGrid } from '../../limiter/algorithms/window-grid'
import { NUM_RUNS, START } from './algorithm-spec'
import { anyQuotaOf, NAMES } from './any-algorithm'
import { fitsPace } from './charges'
import { type Queued, queued } from './decorated'
import { applyWrite } from './timeline'

/** Time, cost, whether it is allowed, and its delay; for a denial, the time until a retry is allowed. */
type Row = [at: number, cost: number, allowed: boolean, waitMs: number, about: string]

function follow<Quota>(
  algorithm: Algorithm<Queued<Quota>>,
  quota: Queued<Quota>,
  rows: readonly Row[],
  start: Fields = {},
): Fields {
  let state = start
  for (const [at, cost, allowed, waitMs, about] of rows) {
    const { verdict, write } = algorithm.step(state, quota, cost, at)
    const wanted = allowed ? { delayMs: waitMs, retryAfterMs: 0 } : { delayMs: undefined, retryAfterMs: waitMs }
    const { delayMs, retryAfterMs } = verdict
    expect({ at, about, allowed: verdict.allowed, delayMs, retryAfterMs }).toEqual({ at, about, allowed, ...wanted })
    if (write) state = applyWrite(write, state)
  }
  return state
}

describe('a queue', () => {
  it('in front of a fixed window delays requests until the next window, in their order', () => {
    const state = follow(queued(fixedWindow), { limit: 3, grid: epochGrid(1000), maxWaitMs: 1200 }, [
      [1700, 2, true, 0, 'there is room'],
      [1750, 2, true, 250, 'waits for the next window'],
      [1750, 1, true, 250, 'would fit into this one, and has to come after the one before it'],
      [1750, 1, false, 50, 'the window after that is 1,250 ms away'],
      [1799, 1, false, 1, 'a millisecond too early'],
      [1800, 1, true, 1200, 'just in time'],
      [1800, 4, false, Infinity, 'never fits'],
      [2500, 0, true, 500, 'a peek tells how long the queue is'],
      [2500, 2, true, 500, 'behind it'],
      [4000, 3, true, 0, 'no request is waiting'],
    ])
    expect(state).toEqual({ w: 4, '04': 3 })
  })

  it('in front of GCRA delays requests by its pace', () => {
    follow(queued(gcra), { limit: 10, windowMs: 1000, burst: 2, maxWaitMs: 250 }, [
      [1000, 2, true, 0, 'the burst'],
      [1000, 1, true, 100, ''],
      [1000, 1, true, 200, ''],
      [1000, 1, false, 50, 'would wait for 300 ms'],
      [1049, 1, false, 1, 'a millisecond too early'],
      [1050, 1, true, 250, 'just in time'],
      [1050, 3, false, Infinity, 'never fits'],
    ])
  })

  it('in front of a sliding log gives the first slot when the log has room again', () => {
    follow(queued(slidingLog), { limit: 2, windowMs: 1000, countDenied: false, maxWaitMs: 900 }, [
      [1000, 1, true, 0, ''],
      [1500, 1, true, 0, ''],
      [1600, 1, true, 400, 'until the first leaves the log'],
      [1700, 1, true, 800, 'until the second does'],
      [1700, 1, false, 400, 'until the third does, at 3000'],
    ])
  })

  it('reports 0 remaining while requests are waiting, and when the quota is whole again', () => {
    const quota = { limit: 3, grid: epochGrid(1000), maxWaitMs: 1000 }
    const queue = queued(fixedWindow)
    expect(queue.step({ w: 1, '01': 1 }, quota, 1, 1500).verdict).toEqual({
      ...{ allowed: true, remaining: 1, resetAfterMs: 500, retryAfterMs: 0, delayMs: 0 },
    })
    expect(queue.step({ w: 1, '01': 3 }, quota, 1, 1500).verdict).toEqual({
      ...{ allowed: true, remaining: 0, resetAfterMs: 1500, retryAfterMs: 0, delayMs: 500 },
    })
    expect(queue.step({ w: 2, '02': 3 }, quota, 1, 1500).verdict).toEqual({
      ...{ allowed: false, remaining: 0, resetAfterMs: 1500, retryAfterMs: 500 },
    })
    expect(queue.step({ w: 1, '01': 2 }, { ...quota, maxWaitMs: 300 }, 2, 1500).verdict).toEqual({
      ...{ allowed: false, remaining: 0, resetAfterMs: 500, retryAfterMs: 200 },
    })
  })

  it('keeps its state for the longest wait and the time of the algorithm behind it', () => {
    expect(queued(gcra).retentionMs({ limit: 10, windowMs: 1000, burst: 3, maxWaitMs: 250 })).toBe(550)
  })

  it('merges only requests of the same queue slot into one write', () => {
    const queue = decorated(bind(fixedWindow, { limit: 3, grid: epochGrid(1000) }), 1000)
    const [now, later] = [queue.step({}, 1, 1500), queue.step({ w: 1, '01': 3 }, 1, 1500)]
    expect([queue.canMerge(now, now), queue.canMerge(later, later), queue.canMerge(now, later)]).toEqual([
      true,
      true,
      false,
    ])
  })

  interface Arrival {
    readonly elapsedMs: number
    readonly cost: number
    /** How many states ago the instance last saw the item; more than there are: never. */
    readonly behind: number
    readonly denied: boolean
  }

  const anyArrivals = (windowMs: number): fc.Arbitrary<Arrival[]> =>
    fc.array(
      fc.record({
        elapsedMs: fc.oneof(
          { arbitrary: fc.constant(0), weight: 2 },
          { arbitrary: fc.nat({ max: Math.ceil(windowMs / 6) }), weight: 3 },
        ),
        cost: fc.oneof(
          { arbitrary: fc.constant(1), weight: 3 },
          { arbitrary: fc.integer({ min: 1, max: 5 }), weight: 1 },
        ),
        behind: fc.oneof({ arbitrary: fc.constant(0), weight: 2 }, { arbitrary: fc.nat({ max: 8 }), weight: 1 }),
        denied: fc.oneof({ arbitrary: fc.constant(false), weight: 6 }, { arbitrary: fc.constant(true), weight: 1 }),
      }),
      { minLength: 1, maxLength: 50 },
    )

  const anyQueueHistory = (name: string) =>
    anyQuotaOf(name).chain((one) => {
      const windowMs = one.algorithm.retentionMs(one.quota)
      return fc.tuple(
        fc.constant(one),
        fc.oneof(fc.integer({ min: 1, max: Math.ceil(windowMs / 4) }), fc.integer({ min: 1, max: 2 * windowMs })),
        anyArrivals(windowMs),
      )
    })

  it('in front of GCRA, on instances with different limits, admits at the assigned times no more than one instance with the largest', () => {
    const anyNumbers = fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 8 }))
    const anyTakes = fc.array(
      fc.record({ elapsedMs: fc.nat({ max: 300 }), cost: fc.integer({ min: 1, max: 4 }), by: fc.nat({ max: 1 }) }),
    )
    fc.assert(
      fc.property(fc.tuple(anyNumbers, anyNumbers), fc.nat({ max: 2000 }), anyTakes, (numbers, maxWaitMs, takes) => {
        const quotas = numbers.map(([limit, burst]) => ({ limit, burst, windowMs: 1000, maxWaitMs }))
        const [limit, burst] = [Math.max(numbers[0][0], numbers[1][0]), Math.max(numbers[0][1], numbers[1][1])]
        const largest = { limit, burst, windowMs: 1000 }
        const states: Fields[] = [{}]
        const turns: { at: number; clock: number; units: number }[] = []
        let now = START
        for (const { elapsedMs, cost, by } of takes) {
          now += elapsedMs
          const stored = states.at(-1)!
          const [guess, truth] = [states.at(-2), stored].map((known) =>
            queued(gcra).step(known, quotas[by]!, cost, now),
          )
          const { retryAfterMs } = truth!.verdict
          const retry = (early: number) =>
            queued(gcra).step(stored, quotas[by]!, cost, now + retryAfterMs - early).verdict.allowed
          if (!truth!.verdict.allowed && retryAfterMs < Infinity) expect([retry(1), retry(0)]).toEqual([false, true])
          const { verdict, write } = guess!.write && holds(guess!.write.guard, stored) ? guess! : truth!
          if (!verdict.allowed) continue
          states.push(apply(write!, stored))
          const at = now + truth!.verdict.delayMs!
          turns.push({ at, clock: at, units: cost })
        }
        turns.sort((a, b) => a.at - b.at)
        for (const [i, { at, units }] of turns.entries())
          expect(fitsPace(turns.slice(0, i), largest, burst, units, at)).toBe(true)
      }),
      { numRuns: 5 * NUM_RUNS },
    )
  })

  describe.each(NAMES)('in front of a %s', (name) => {
    it('assigns slots in order, admits no more at those times than the quota does, and delays no request longer than maxWaitMs', () => {
      let waited = 0
      fc.assert(
        fc.property(anyQueueHistory(name), ([{ algorithm, quota: plain }, maxWaitMs, arrivals]) => {
          const queue = queued(algorithm)
          const quota = { ...plain, maxWaitMs }
          const states: Fields[] = [{}]
          const turns: { at: number; cost: number }[] = []
          let now = START
          for (const { elapsedMs, cost, behind, denied } of arrivals) {
            now += elapsedMs
            const stored = states.at(-1)!
            const truth = queue.step(stored, quota, cost, now)
            const guess = queue.step(states[states.length - 1 - behind], quota, cost, now)
            const { write } = guess.write && holds(guess.write.guard, stored) ? guess : truth
            if (!truth.verdict.allowed) {
              expect(write).toBeUndefined()
              continue
            }
            let after = apply(write!, stored)
            if (denied) {
              const refund = algorithm.refund(after, plain, cost, now, now) // another policy of the request denied it
              if (refund && holds(refund.guard, after)) after = apply(refund, after)
            } else {
              const { delayMs } = truth.verdict
              expect(delayMs).toBeLessThanOrEqual(maxWaitMs)
              if (delayMs! > 0) waited++
              turns.push({ at: now + delayMs!, cost })
            }
            states.push(after)
          }
          expect(turns.map(({ at }) => at)).toEqual(turns.map(({ at }) => at).toSorted((a, b) => a - b))
          let replayed: Fields = {}
          for (const { at, cost } of turns) {
            const { verdict, write } = algorithm.step(replayed, plain, cost, at)
            if (!verdict.allowed) expect({ turns, at, cost, replayed }).toBe('admitted by the quota')
            replayed = apply(write!, replayed)
          }
        }),
        { numRuns: 2 * NUM_RUNS },
      )
      expect(waited).toBeGreaterThan(NUM_RUNS / 4)
    })

    it('charges by an outdated view the moment that the stored state gives or a later one, so that no later request comes sooner', () => {
      let outdated = 0
      fc.assert(
        fc.property(anyQueueHistory(name), ([{ algorithm, quota: plain }, maxWaitMs, arrivals]) => {
          const queue = queued(algorithm)
          const quota = { ...plain, maxWaitMs }
          const delayAfter = (state: Fields, cost: number, at: number) => {
            const { allowed, delayMs } = queue.step(state, { ...plain, maxWaitMs: 1e12 }, cost, at).verdict
            return allowed ? delayMs! : Infinity
          }
          const states: Fields[] = [{}]
          let now = START
          for (const { elapsedMs, cost, behind } of arrivals) {
            now += elapsedMs
            const stored = states.at(-1)!
            const truth = queue.step(stored, quota, cost, now).write
            const guess = queue.step(states[states.length - 1 - behind], quota, cost, now).write
            const applies = guess !== undefined && holds(guess.guard, stored)
            if (applies && behind > 0 && ++outdated) {
              const [told, due] = [guess, truth!].map((write) =>
                [1, 2, 5].map((more) => delayAfter(apply(write, stored), more, now)),
              )
              if (told!.some((ms, i) => ms < due![i]!)) expect({ stored, quota, cost, now, told }).toBe(due)
            }
            const write = applies ? guess : truth
            if (write) states.push(apply(write, stored))
          }
        }),
        { numRuns: NUM_RUNS },
      )
      expect(outdated).toBeGreaterThan(NUM_RUNS / 10)
    })

    it('gives a slot to a retry after retryAfterMs, and denies one a millisecond sooner', () => {
      let denials = 0
      fc.assert(
        fc.property(anyQueueHistory(name), ([{ algorithm, quota: plain }, maxWaitMs, arrivals]) => {
          const queue = queued(algorithm)
          const quota = { ...plain, maxWaitMs }
          let state: Fields = {}
          let now = START
          for (const { elapsedMs, cost } of arrivals) {
            now += elapsedMs
            const { verdict, write } = queue.step(state, quota, cost, now)
            if (write) state = apply(write, state)
            if (verdict.allowed || verdict.retryAfterMs === Infinity) continue
            denials++
            const retries = [-1, 0].map(
              (early) => queue.step(state, quota, cost, now + verdict.retryAfterMs + early).verdict.allowed,
            )
            if (retries[0] || !retries[1] || verdict.retryAfterMs < 1)
              expect({ state, now, verdict, retries }).toBe('kept')
          }
        }),
        { numRuns: NUM_RUNS },
      )
      expect(denials).toBeGreaterThan(NUM_RUNS / 10)
    })

    it('writes at the first try from the stored state, and adds up costs in one slot', () => {
      fc.assert(
        fc.property(anyQueueHistory(name), ([{ algorithm, quota: plain }, maxWaitMs, arrivals]) => {
          const queue = queued(algorithm)
          const quota = { ...plain, maxWaitMs }
          let state: Fields = {}
          let now = START
          for (const { elapsedMs, cost } of arrivals) {
            now += elapsedMs
            const first = queue.step(state, quota, cost, now)
            if (!first.write) continue
            expect(holds(first.write.guard, state)).toBe(true)
            const afterFirst = apply(first.write, state)
            const next = queue.step(afterFirst, quota, 1, now)
            if (next.write && decorated(bind(algorithm, plain), maxWaitMs).canMerge(first, next)) {
              const both = queue.step(state, quota, cost + 1, now)
              // `v` counts how often a log was written
              const stored = (write: ConditionalWrite, before: Fields) => ({ ...apply(write, before), v: 0 })
              expect([both.verdict, stored(both.write!, state)]).toEqual([next.verdict, stored(next.write, afterFirst)])
            }
            state = afterFirst
          }
        }),
        { numRuns: NUM_RUNS },
      )
    })
  })
})

describe('a refund of a request whose wait is not known', () => {
  const window = bind(fixedWindow, { limit: 3, grid: epochGrid(1000) })
  const state: Fields = { w: 2, '02': 3 }

  it('is not made once somebody has been charged at a later turn', () => {
    expect(refundUnlessQueued(window, { ...state, '01': 3 }, 1, 1999, 1999)).toBeUndefined()
  })

  it('is made while nobody has, and only then', () => {
    for (const chargedAt of [2000, 2500]) {
      const write = refundUnlessQueued(window, state, 1, chargedAt, 2500)!
      expect(applyWrite(write, state)).toEqual({ w: 2, '02': 2 })
      expect(holds(write.guard, { w: 2, '02': 2 })).toBe(true)
      expect(holds(write.guard, { w: 3, '02': 3 })).toBe(false)
      expect(holds(write.guard, { w: 2, '02': 0 })).toBe(false)
    }
  })

  it('has nothing to write when none of its units can be found', () => {
    expect(refundUnlessQueued(window, { w: 2, '01': 1 }, 1, 2500, 2500)).toBeUndefined()
  })

  it('is made as ever where the state has no newest window, and says itself when there is room', () => {
    const pace = bind(gcra, { limit: 10, windowMs: 1000, burst: 3 })
    const known = { t: 1_200_000, e: 100_000 }
    const write = refundUnlessQueued(pace, known, 1, 1000, 1000)
    expect(write).toEqual(pace.refund(known, 1, 1000, 1000))
    expect(applyWrite(write!, known)).toEqual({ t: 1_100_000, e: 100_000 })
  })
})

import fc from 'fast-check'
import { apply, type Fields } from '../../limiter/algorithms/conditional-write'
import { type FixedWindowQuota, fixedWindow } from '../../limiter/algorithms/fixed-window'
import { type GcraQuota, gcra } from '../../limiter/algorithms/gcra'
import { type SlidingLogQuota, slidingLog } from '../../limiter/algorithms/sliding-log'
import { slot } from '../../limiter/algorithms/slots'
import { epochGrid } from '../../limiter/algorithms/window-grid'
import { type AlgorithmSpec, anyCost, anySize, anyWindowMs, NUM_RUNS, START } from './algorithm-spec'
import { anyQuotaOf, NAMES } from './any-algorithm'
import { fitsPace, mostAtPace, unitsSince } from './charges'
import { type Overrun, overrunning } from './decorated'
import { obeysTheLaws } from './laws'
import { onlyFields } from './situations'
import { runTimeline } from './timeline'

const overrun = <Quota>(quota: Quota, raised: Partial<Quota>): Overrun<Quota> => ({
  ...quota,
  raised: { ...quota, ...raised },
})

describe('a limit with an overrun', () => {
  const windows = overrun<FixedWindowQuota>({ limit: 3, grid: epochGrid(1000) }, { limit: 5 })

  it('follows the timeline of three per second and an overrun of two', () => {
    runTimeline(overrunning(fixedWindow), windows, [
      [1100, 2, true, 1, 0, ''],
      [1200, 4, false, 1, 800, 'six are past the raised limit; one is left of the limit itself'],
      [1200, 6, false, 1, Infinity, 'six never fit'],
      [1200, 2, true, 0, 0, 'four are past the limit'],
      [1300, 1, true, 0, 0, ''],
      [1400, 1, false, 0, 600, 'a sixth is past the raised limit'],
      [2000, 1, true, 2, 0, ''],
    ])
  })

  it('marks requests in the overrun, and no others', () => {
    const marks = (used: number, cost: number) =>
      overrunning(fixedWindow).step({ w: 1, '01': used }, windows, cost, 1500).verdict.exceeded
    expect([marks(2, 1), marks(3, 0), marks(2, 2), marks(3, 1), marks(4, 0), marks(5, 1)]).toEqual([
      ...[undefined, undefined, 'overrun', 'overrun', 'overrun', undefined],
    ])
  })

  it('keeps its count when an overrun is added or taken away', () => {
    const state = runTimeline(fixedWindow, windows, [[1100, 3, true, 0, 0, '']])
    const past = runTimeline(overrunning(fixedWindow), windows, [[1200, 1, true, 0, 0, '']], state)
    runTimeline(fixedWindow, windows, [[1300, 1, false, 0, 700, '']], past)
  })

  it('keeps its state for as long as the raised burst takes to come back', () => {
    expect(
      overrunning(gcra).retentionMs(overrun<GcraQuota>({ limit: 10, windowMs: 1000, burst: 2 }, { burst: 3 })),
    ).toBe(300)
  })

  it.each(NAMES)(
    'on a %s decides and writes as with the raised limit, and marks what the limit itself would deny',
    (name) =>
      fc.assert(
        fc.property(
          anyQuotaOf(name),
          fc.integer({ min: 1, max: 5 }),
          fc.array(fc.record({ elapsedMs: fc.nat({ max: 500 }), cost: anyCost }), { minLength: 1, maxLength: 30 }),
          ({ algorithm, quota, sized }, more, requests) => {
            const raised = sized(((quota.burst ?? quota.limit) as number) + more)
            let state: Fields = {}
            let now = START
            for (const { elapsedMs, cost } of requests) {
              now += elapsedMs
              const { verdict, write } = overrunning(algorithm).step(state, { ...quota, raised }, cost, now)
              const [strict, wide] = [quota, raised].map((one) => algorithm.step(state, one, cost, now))
              expect(write).toEqual(wide!.write)
              const exceeded = wide!.verdict.allowed && !strict!.verdict.allowed ? 'overrun' : undefined
              const remaining = exceeded ? 0 : strict!.verdict.remaining
              expect({ exceeded: undefined, ...verdict }).toEqual({ ...wide!.verdict, remaining, exceeded })
              if (write) state = apply(write, state)
            }
          },
        ),
        { numRuns: NUM_RUNS },
      ),
  )

  const anyMore = fc.integer({ min: 1, max: 10 })

  const windowSpec: AlgorithmSpec<Overrun<FixedWindowQuota>> = {
    algorithm: overrunning(fixedWindow),
    quota: fc
      .tuple(anySize, anyMore, anyWindowMs.map(epochGrid))
      .map(([limit, more, grid]) => overrun<FixedWindowQuota>({ limit, grid }, { limit: limit + more })),
    windowMs: ({ grid }) => grid.longestMs,
    largestCost: ({ raised }) => raised.limit,
    allowsMoreThanRemaining: 'marked',
    withSize: (quota, limit) => overrun<FixedWindowQuota>({ ...quota, limit }, { limit: limit + 2 }),
    withoutExpired: (fields) => onlyFields(fields, (name) => name === 'w' || name === slot(fields.w as number)),
    admits: (past, { raised: { limit, grid } }, cost, now) =>
      unitsSince(past, now, ({ at }, latest) => grid.indexAt(at) === grid.indexAt(latest)) + cost <= limit,
    maxAdmitted: ({ raised: { limit, grid } }, from, to) => limit * (grid.indexAt(to) - grid.indexAt(from) + 1),
  }
  describe('on a fixed window obeys the law:', () => obeysTheLaws(windowSpec))

  const paceSpec: AlgorithmSpec<Overrun<GcraQuota>> = {
    algorithm: overrunning(gcra),
    quota: fc
      .record({ limit: anySize, windowMs: anyWindowMs, burst: anySize, more: anyMore })
      .map(({ more, ...quota }) => overrun<GcraQuota>(quota, { burst: quota.burst + more })),
    windowMs: ({ windowMs }) => windowMs,
    largestCost: ({ raised }) => raised.burst,
    allowsMoreThanRemaining: 'marked',
    withSize: (quota, burst) => overrun<GcraQuota>({ ...quota, burst }, { burst: burst + 2 }),
    withNumbers: (quota, limit, burst) => overrun<GcraQuota>({ ...quota, limit, burst }, { burst: burst + 2 }),
    largestSkewMs: 1000,
    refundsLevel: true,
    withoutExpired: (fields) => fields,
    admits: (past, { raised }, cost, now) => fitsPace(past, raised, raised.burst, cost, now),
    maxAdmitted: ({ raised }, from, to) => mostAtPace(raised, from, to),
  }
  describe('on GCRA obeys the law:', () => obeysTheLaws(paceSpec))

  const logSpec: AlgorithmSpec<Overrun<SlidingLogQuota>> = {
    algorithm: overrunning(slidingLog),
    quota: fc
      .record({ limit: anySize, windowMs: anyWindowMs, more: anyMore, countDenied: fc.constant(false) })
      .map(({ more, ...quota }) => overrun<SlidingLogQuota>(quota, { limit: quota.limit + more })),
    windowMs: ({ windowMs }) => windowMs,
    largestCost: ({ raised }) => raised.limit,
    allowsMoreThanRemaining: 'marked',
    withNumbers: (quota, limit) => overrun<SlidingLogQuota>({ ...quota, limit }, { limit: limit + 2 }),
    withoutExpired: ({ v: _, ...fields }) => fields,
    admits: (past, { raised: { limit, windowMs } }, cost, now) =>
      unitsSince(past, now, ({ at }, latest) => at > latest - windowMs) + cost <= limit,
    maxAdmitted: ({ raised: { limit, windowMs } }, from, to) => limit * (1 + Math.floor((to - from) / windowMs)),
  }
  describe('on a sliding log obeys the law:', () => obeysTheLaws(logSpec))
})

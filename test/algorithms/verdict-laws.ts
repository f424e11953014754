import fc from 'fast-check'
import type { Verdict } from '../../limiter/algorithms/algorithm'
import { apply, type Fields } from '../../limiter/algorithms/conditional-write'
import { saysTheSame } from '../../limiter/view'
import {
  type AlgorithmSpec,
  anyCost,
  anyElapsed,
  anyOrderlyRequests,
  anyRequests,
  anySize,
  type Charge,
  inMs,
  NUM_RUNS,
  runHistory,
} from './algorithm-spec'
import { expectEqual, inAnySituation, resize } from './situations'

/** The laws of decisions: how much is admitted, and that each number reported is true. */
export function verdictLaws<Quota>(spec: AlgorithmSpec<Quota>): void {
  const { algorithm, withoutExpired, largestCost, windowMs } = spec
  const checkState = spec.checkState ?? (() => {})
  const peek = (state: Fields, quota: Quota, now: number): Verdict => algorithm.step(state, quota, 0, now).verdict
  const take = (state: Fields, quota: Quota, cost: number, now: number) => {
    const { verdict, write } = algorithm.step(state, quota, cost, now)
    return { verdict, after: write ? apply(write, state) : state }
  }

  it('each decision agrees with the definition of the algorithm, on several instances with outdated views and clocks that differ', () =>
    fc.assert(
      fc.property(spec.quota, anyRequests, (first, requests) => {
        const charges: Charge[] = []
        for (const { take, clock, latest, quota, fields } of runHistory(spec, first, requests)) {
          if (!take) continue
          expectEqual(take.allowed, spec.admits(charges, quota, take.cost, clock), {
            charges,
            quota,
            cost: take.cost,
            clock,
          })
          if (take.recorded) charges.push({ units: take.cost, clock, at: latest })
          checkState(fields, quota)
        }
      }),
      { numRuns: NUM_RUNS },
    ))

  it('no interval admits more than its bound, on several instances whose clocks differ', () =>
    fc.assert(
      fc.property(spec.quota, anyRequests, (quota, requests) => {
        const admitted: { units: number; at: number }[] = []
        for (const { take, latest } of runHistory({ ...spec, withSize: undefined }, quota, requests)) {
          if (!take?.recorded || !take.allowed) continue
          admitted.push({ units: take.cost, at: latest })
          let units = 0
          for (const { at, units: more } of admitted.toReversed()) {
            units += more
            expectEqual(units <= spec.maxAdmitted(quota, at, latest), true, { admitted, quota, from: at, to: latest })
          }
        }
      }),
      { numRuns: NUM_RUNS },
    ))

  it('a retry after retryAfterMs is allowed, one a millisecond sooner is denied', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const { verdict, after } = take(state, quota, cost, now)
      const { allowed, retryAfterMs } = verdict
      const context = { state, quota, cost, now, verdict }
      if (allowed || cost > largestCost(quota)) return expectEqual(retryAfterMs, allowed ? 0 : Infinity, context)
      const retries = [-1, 0].map(
        (early) => algorithm.step(after, quota, cost, now + retryAfterMs + early).verdict.allowed,
      )
      expectEqual({ retries, waits: retryAfterMs > 0 }, { retries: [false, true], waits: true }, context)
    }))

  const { allowsMoreThanRemaining = false } = spec
  it(`the remaining units are allowed at once, ${allowsMoreThanRemaining ? 'and more, which are marked or counted as overage' : 'and not one more'}`, () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const { verdict, after } = take(state, quota, cost, now)
      const passes = (units: number) => {
        const { allowed, exceeded } = algorithm.step(after, quota, units, now).verdict
        return allowsMoreThanRemaining === 'marked' ? allowed && exceeded === undefined : allowed
      }
      const { remaining } = verdict
      const isCount = Number.isInteger(remaining) && remaining >= 0
      const enough = remaining === 0 || passes(remaining)
      expectEqual(
        { isCount, enough, more: passes(remaining + 1) },
        { isCount: true, enough: true, more: allowsMoreThanRemaining === true },
        { state, quota, cost, now, verdict },
      )
    }))

  it('the quota is whole again after resetAfterMs, and not a millisecond sooner', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const { verdict, after } = take(state, quota, cost, now)
      const wholeAt = now + verdict.resetAfterMs
      const context = { state, quota, cost, now, verdict }
      expectEqual(peek(after, quota, wholeAt), peek({}, quota, wholeAt), context)
      if (verdict.resetAfterMs === 0) return
      const early = peek(after, quota, wholeAt - 1)
      expectEqual(early.resetAfterMs, 1, context)
      expectEqual(early.remaining < peek({}, quota, wholeAt - 1).remaining || (early.delayMs ?? 0) > 0, true, context)
    }))

  it('as time passes over one state, room only grows, and an answer that is the same later, times counted down, was the same meanwhile', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const at = (elapsedMs: number) => algorithm.step(state, quota, cost, now + elapsedMs).verdict
      const first = at(0)
      const { resetAfterMs, retryAfterMs } = first
      const edges = [resetAfterMs, retryAfterMs].filter((ms) => ms > 0 && ms < Infinity)
      for (const later of [1, 5, 97, windowMs(quota) / 12, windowMs(quota), ...edges].map(Math.ceil)) {
        for (const elapsedMs of [0, later - 1, later]) {
          const context = { state, quota, cost, now, elapsedMs, first, last: at(elapsedMs) }
          expectEqual(first.allowed && !at(elapsedMs).allowed, false, context)
          if (elapsedMs === 0 || !saysTheSame(first, at(elapsedMs), elapsedMs)) continue
          for (let i = 0; i <= 12; i++) {
            const between = i < 6 ? Math.min(i, elapsedMs) : Math.floor((elapsedMs * (i - 5)) / 8)
            expectEqual(saysTheSame(first, at(between), between), true, { ...context, between })
          }
        }
      }
    }))

  it('a peek writes nothing, and reports the same as the request before it', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const { verdict, after } = take(state, quota, cost, now)
      const { verdict: later, write } = algorithm.step(after, quota, 0, now)
      const seen = { write, remaining: later.remaining, resetAfterMs: later.resetAfterMs }
      expectEqual(
        seen,
        { write: undefined, remaining: verdict.remaining, resetAfterMs: verdict.resetAfterMs },
        { state, quota, cost, now },
      )
    }))

  it('costs add up: a request of a + b leaves the same as one of a and then one of b', () =>
    inAnySituation(spec, ({ state, quota, cost, now }) => {
      const context = { state, quota, cost, now }
      for (const [a, b] of [
        [1, 1],
        [cost, 1],
        [1, cost],
        [cost, cost],
      ] as const) {
        if (a === 0 || b === 0) continue
        const both = take(state, quota, a + b, now)
        const first = take(state, quota, a, now)
        const second = take(first.after, quota, b, now)
        expectEqual(both.verdict.allowed, first.verdict.allowed && second.verdict.allowed, context)
        if (!both.verdict.allowed) continue
        expectEqual(withoutExpired(both.after, quota), withoutExpired(second.after, quota), context)
        expectEqual(both.verdict.remaining, second.verdict.remaining, context)
      }
    }))

  it('state is not needed any more after retentionMs', () =>
    fc.assert(
      fc.property(spec.quota, anyOrderlyRequests, anyCost, anyElapsed, (first, requests, cost, elapsed) => {
        const last = runHistory(spec, first, requests).findLast(({ take }) => take?.recorded)
        if (!last) return
        const { quota, fields, clock } = last
        const now = clock + algorithm.retentionMs(quota) + inMs(elapsed, windowMs(quota))
        expectEqual(take(fields, quota, cost, now).verdict, take({}, quota, cost, now).verdict, {
          fields,
          quota,
          cost,
          now,
        })
      }),
      { numRuns: NUM_RUNS },
    ))

  if (!spec.withSize) return

  it('a smaller or a larger quota takes effect at once', () =>
    fc.assert(
      fc.property(
        spec.quota,
        anyOrderlyRequests,
        anyCost,
        anyElapsed,
        anySize,
        (first, requests, cost, elapsed, size) => {
          const moments = runHistory({ ...spec, withSize: undefined }, first, requests)
          const charges = moments.flatMap(({ take, clock }) =>
            take?.recorded ? [{ units: take.cost, clock, at: clock }] : [],
          )
          const { fields, clock } = moments.at(-1) ?? { fields: {}, clock: 1_700_000_000_000 }
          const quota = resize(spec, first, size)
          const now = clock + inMs(elapsed, windowMs(first))
          const { verdict } = take(fields, quota, cost, now)
          expectEqual(verdict.allowed, spec.admits(charges, quota, cost, now), { fields, first, quota, cost, now })
        },
      ),
      { numRuns: NUM_RUNS },
    ))
}

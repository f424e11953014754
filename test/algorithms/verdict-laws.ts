import fc from 'fast-check'
import type { Verdict } from '../../limiter/algorithms/algorithm'
import { apply, type Fields } from '../../limiter/algorithms/conditional-write'
import { agree, inEveryEncounter, resize } from './encounters'
import {
  type AlgorithmSpec,
  anyCost,
  anyElapsed,
  anyOrderlyRequests,
  anyRequests,
  anySize,
  type Charge,
  inMs,
  live,
  NUM_RUNS,
} from './world'

/** What callers are told, and how much they get. */
export function verdictLaws<Quota>(spec: AlgorithmSpec<Quota>): void {
  const { algorithm, settled, largest, windowMs } = spec
  const intact = spec.intact ?? (() => {})
  const peek = (state: Fields, quota: Quota, now: number): Verdict => algorithm.step(state, quota, 0, now).verdict
  const take = (state: Fields, quota: Quota, cost: number, now: number) => {
    const { verdict, write } = algorithm.step(state, quota, cost, now)
    return { verdict, after: write ? apply(write, state) : state }
  }

  it('decides as its definition says, at the hands of several instances with outdated views and clocks that disagree', () =>
    fc.assert(
      fc.property(spec.quota, anyRequests, (first, requests) => {
        const charges: Charge[] = []
        for (const { take, clock, latest, quota, fields } of live(spec, first, requests)) {
          if (!take) continue
          agree(take.allowed, spec.admits(charges, quota, take.cost, clock), {
            charges,
            quota,
            cost: take.cost,
            clock,
          })
          if (take.recorded) charges.push({ units: take.cost, clock, at: latest })
          intact(fields, quota)
        }
      }),
      { numRuns: NUM_RUNS },
    ))

  it('never admits more than its bound in any interval, at the hands of several instances whose clocks disagree', () =>
    fc.assert(
      fc.property(spec.quota, anyRequests, (quota, requests) => {
        const admitted: { units: number; at: number }[] = []
        for (const { take, latest } of live({ ...spec, resized: undefined }, quota, requests)) {
          if (!take?.recorded || !take.allowed) continue
          admitted.push({ units: take.cost, at: latest })
          let units = 0
          for (const { at, units: more } of admitted.toReversed()) {
            units += more
            agree(units <= spec.most(quota, at, latest), true, { admitted, quota, from: at, to: latest })
          }
        }
      }),
      { numRuns: NUM_RUNS },
    ))

  it('keeps its word: a retry after retryAfterMs passes, one a millisecond sooner does not', () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
      const { verdict, after } = take(state, quota, cost, now)
      const { allowed, retryAfterMs } = verdict
      const context = { state, quota, cost, now, verdict }
      if (allowed || cost > largest(quota)) return agree(retryAfterMs, allowed ? 0 : Infinity, context)
      const retries = [-1, 0].map(
        (early) => algorithm.step(after, quota, cost, now + retryAfterMs + early).verdict.allowed,
      )
      agree({ retries, waits: retryAfterMs > 0 }, { retries: [false, true], waits: true }, context)
    }))

  const { beyond = false } = spec
  it(`remaining units pass at once, and ${beyond ? 'more, which are told' : 'not one more'}`, () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
      const { verdict, after } = take(state, quota, cost, now)
      const passes = (units: number) => {
        const { allowed, exceeded } = algorithm.step(after, quota, units, now).verdict
        return beyond === 'marked' ? allowed && exceeded === undefined : allowed
      }
      const enough = verdict.remaining === 0 || passes(verdict.remaining)
      agree(
        { enough, more: passes(verdict.remaining + 1) },
        { enough: true, more: beyond === true },
        { state, quota, cost, now, verdict },
      )
    }))

  it('the quota is whole again after resetAfterMs, and not a millisecond sooner', () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
      const { verdict, after } = take(state, quota, cost, now)
      const wholeAt = now + verdict.resetAfterMs
      const context = { state, quota, cost, now, verdict }
      agree(peek(after, quota, wholeAt), peek({}, quota, wholeAt), context)
      if (verdict.resetAfterMs === 0) return
      const early = peek(after, quota, wholeAt - 1)
      agree(early.resetAfterMs, 1, context)
      agree(early.remaining < peek({}, quota, wholeAt - 1).remaining || (early.delayMs ?? 0) > 0, true, context)
    }))

  it('a peek writes nothing, and sees what a request before it was told', () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
      const { verdict, after } = take(state, quota, cost, now)
      const { verdict: later, write } = algorithm.step(after, quota, 0, now)
      const seen = { write, remaining: later.remaining, resetAfterMs: later.resetAfterMs }
      agree(
        seen,
        { write: undefined, remaining: verdict.remaining, resetAfterMs: verdict.resetAfterMs },
        { state, quota, cost, now },
      )
    }))

  it('costs add up: one request of a + b is a request of a and then one of b', () =>
    inEveryEncounter(spec, ({ state, quota, cost, now }) => {
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
        agree(both.verdict.allowed, first.verdict.allowed && second.verdict.allowed, context)
        if (!both.verdict.allowed) continue
        agree(settled(both.after, quota), settled(second.after, quota), context)
        agree(both.verdict.remaining, second.verdict.remaining, context)
      }
    }))

  it('state can be forgotten once its life is over', () =>
    fc.assert(
      fc.property(spec.quota, anyOrderlyRequests, anyCost, anyElapsed, (first, requests, cost, elapsed) => {
        const last = live(spec, first, requests).findLast(({ take }) => take?.recorded)
        if (!last) return
        const { quota, fields, clock } = last
        const now = clock + algorithm.retentionMs(quota) + inMs(elapsed, windowMs(quota))
        agree(take(fields, quota, cost, now).verdict, take({}, quota, cost, now).verdict, { fields, quota, cost, now })
      }),
      { numRuns: NUM_RUNS },
    ))

  if (!spec.resized) return

  it('a smaller quota takes effect at once, and so does a larger one', () =>
    fc.assert(
      fc.property(
        spec.quota,
        anyOrderlyRequests,
        anyCost,
        anyElapsed,
        anySize,
        (first, requests, cost, elapsed, size) => {
          const moments = live({ ...spec, resized: undefined }, first, requests)
          const charges = moments.flatMap(({ take, clock }) =>
            take?.recorded ? [{ units: take.cost, clock, at: clock }] : [],
          )
          const { fields, clock } = moments.at(-1) ?? { fields: {}, clock: 1_700_000_000_000 }
          const quota = resize(spec, first, size)
          const now = clock + inMs(elapsed, windowMs(first))
          const { verdict } = take(fields, quota, cost, now)
          agree(verdict.allowed, spec.admits(charges, quota, cost, now), { fields, first, quota, cost, now })
        },
      ),
      { numRuns: NUM_RUNS },
    ))
}

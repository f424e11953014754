import fc from 'fast-check'
import { apply, type Fields, holds } from '../../limiter/algorithms/conditional-write'
import { unitsReturned } from '../../limiter/algorithms/units-returned'
import {
  type AlgorithmSpec,
  anyCost,
  anyElapsed,
  anyOrderlyRequests,
  anyRequests,
  anySize,
  inMs,
  NUM_RUNS,
  runHistory,
  START,
} from './algorithm-spec'
import { expectEqual, fromAnyView, resize } from './situations'

/** The laws of refunds. */
export function refundLaws<Quota>(spec: AlgorithmSpec<Quota>): void {
  const { algorithm, windowMs } = spec
  const checkState = spec.checkState ?? (() => {})
  const remaining = (state: Fields, quota: Quota, now: number): number =>
    algorithm.step(state, quota, 0, now).verdict.remaining

  it('a charge that is refunded at once changes no later decision', () =>
    fc.assert(
      fc.property(
        spec.quota,
        anyOrderlyRequests,
        anyElapsed,
        anyCost,
        anyRequests,
        (first, requests, elapsed, cost, later) => {
          const last = runHistory(spec, first, requests).at(-1)
          const quota = last?.quota ?? first
          let spared = last?.fields ?? {}
          let now = (last?.clock ?? START) + inMs(elapsed, windowMs(quota))
          const { verdict, write } = algorithm.step(spared, quota, cost, now)
          if (!verdict.allowed || !write) return
          const charged = apply(write, spared)
          const refund = algorithm.refund(charged, quota, cost, now, now)
          expectEqual(refund && holds(refund.guard, charged), true, { charged, quota, cost, now })
          let refunded = apply(refund!, charged)
          for (const request of later.slice(0, 5)) {
            const [expected, got] = [spared, refunded].map((state) => algorithm.step(state, quota, request.cost, now))
            expectEqual(got!.verdict, expected!.verdict, { spared, refunded, quota, now })
            if (expected!.write) spared = apply(expected!.write, spared)
            if (got!.write) refunded = apply(got!.write, refunded)
            now += inMs(request.elapsed, windowMs(quota))
          }
        },
      ),
      { numRuns: NUM_RUNS },
    ))

  it('the units that a refund gave back are those asked for, and no more than were charged', () =>
    fc.assert(
      fc.property(spec.quota, anyCost, anyCost, (quota, cost, asked) => {
        const { verdict, write } = algorithm.step({}, quota, cost, START)
        if (!verdict.allowed || !write || asked === 0) return
        const charged = apply(write, {})
        const refund = algorithm.refund(charged, quota, asked, START, START)
        expect(refund && unitsReturned(charged, refund, Number.NaN)).toBe(Math.min(asked, cost))
      }),
      { numRuns: NUM_RUNS },
    ))

  it('a refund never leaves a subject with more than if the units had not been charged', () =>
    fc.assert(
      fc.property(
        spec.quota,
        anyOrderlyRequests,
        fc.record({ cost: fc.integer({ min: 1, max: 6 }), given: fc.integer({ min: 1, max: 6 }) }),
        fc.array(
          fc.record({ elapsed: anyElapsed, cost: anyCost, size: fc.option(anySize, { nil: undefined, freq: 8 }) }),
          {
            maxLength: 6,
          },
        ),
        fc.array(fc.record({ elapsed: anyElapsed, cost: anyCost }), { minLength: 1, maxLength: 8 }),
        (first, before, { cost, given }, between, after) => {
          const last = runHistory(spec, first, before).at(-1)
          let quota = last?.quota ?? first
          let now = last?.clock ?? START
          let charged: Fields = last?.fields ?? {}
          let spared = charged
          const units = Math.min(cost, given)
          const comparable = () => spec.comparable === undefined || spec.comparable(charged, spared)

          /**
           * The same request in both histories, with the charge and without; false if it cannot be the same in both.
           */
          const request = (costs: { charged: number; spared: number }): boolean => {
            const step = algorithm.step(charged, quota, costs.charged, now)
            if (!step.verdict.allowed) return step.write === undefined // the other history would not record this denial
            if (step.write) charged = apply(step.write, charged)
            const other = algorithm.step(spared, quota, costs.spared, now)
            expectEqual(other.verdict.allowed, true, { charged, spared, quota, now })
            if (other.write) spared = apply(other.write, spared)
            return true
          }

          if (!algorithm.step(charged, quota, cost, now).verdict.allowed) return
          request({ charged: cost, spared: cost - units })
          const chargedAt = now
          for (const { elapsed, cost, size } of between) {
            now += inMs(elapsed, windowMs(quota))
            quota = resize(spec, quota, size)
            if (!comparable() || !request({ charged: cost, spared: cost })) return
          }

          const refund = algorithm.refund(charged, quota, units, chargedAt, now)
          if (refund) {
            expectEqual(holds(refund.guard, charged), true, { charged, refund })
            charged = apply(refund, charged)
            checkState(charged, quota)
          }
          for (const { elapsed, cost } of after) {
            if (!comparable()) return
            const better = remaining(charged, quota, now) > remaining(spared, quota, now)
            expectEqual(better, false, { charged, spared, quota, now, chargedAt })
            if (!request({ charged: cost, spared: cost })) return
            now += inMs(elapsed, windowMs(quota))
          }
        },
      ),
      { numRuns: NUM_RUNS },
    ))

  it('a refund made from an outdated view gives back no more than one made from the stored state', () => {
    const held = fromAnyView(spec, ({ known, state, quota, cost, now, chargedAt }) => {
      const write = algorithm.refund(known ?? {}, quota, cost, chargedAt, now)
      if (!write || !holds(write.guard, state)) return 0
      const truth = algorithm.refund(state, quota, cost, chargedAt, now)
      const after = apply(write, state)
      checkState(after, quota)
      for (const windows of [0, 0.3, 0.8, 1, 1.5]) {
        const at = now + Math.floor(windows * windowMs(quota))
        const better = remaining(after, quota, at) > remaining(truth ? apply(truth, state) : state, quota, at)
        expectEqual(better, false, { known, state, quota, cost, now, chargedAt, at })
      }
      return 1
    })
    expect(held).toBeGreaterThan(NUM_RUNS / 10)
  })
}

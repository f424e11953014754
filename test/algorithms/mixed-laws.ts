import fc from 'fast-check'
import {
  type AlgorithmSpec,
  anyHistory,
  anySize,
  type Charge,
  type Event,
  INSTANCES,
  NUM_RUNS,
  runHistory,
} from './algorithm-spec'
import { expectEqual } from './situations'

/** The law for a limit that is being changed: for a while some instances use the new limit, and others the old one. */
export function mixedLaws<Quota>(spec: AlgorithmSpec<Quota>): void {
  const { withSize, withNumbers = withSize && ((quota: Quota, limit: number) => withSize(quota, limit)) } = spec
  if (!withNumbers) return
  const checkState = spec.checkState ?? (() => {})
  const { allowsMoreThanRemaining = false, largestSkewMs = Infinity } = spec
  const anyNumbers = fc.array(fc.tuple(anySize, anySize), { minLength: INSTANCES, maxLength: INSTANCES })

  it('instances with different limits and bursts admit, together, no more than one with the largest of each', () => {
    let refused = 0
    fc.assert(
      fc.property(spec.quota, anyNumbers, anyHistory, (first, numbers, history) => {
        const quotas = numbers.map(([limit, burst]) => withNumbers(first, limit, burst))
        const largest = withNumbers(
          first,
          Math.max(...numbers.map(([limit]) => limit)),
          Math.max(...numbers.map(([, burst]) => burst)),
        )
        const admitted: Charge[] = []
        for (const { take, refund, clock, latest, fields } of runHistory(
          spec,
          first,
          inStep(history, largestSkewMs),
          quotas,
        )) {
          if (take && !take.allowed) refused++
          if (take?.allowed && take.cost > 0) {
            // a clock that is behind does not enlarge the limit
            const at = Math.max(clock, latest, admitted.at(-1)?.at ?? 0)
            expectEqual(spec.admits(admitted, largest, take.cost, at), true, { quotas, admitted, cost: take.cost, at })
            admitted.push({ units: take.cost, clock, at: latest })
          }
          if (refund && spec.refundsLevel) admitted.push({ units: -refund.cost, clock, at: Math.max(latest, clock) })
          else if (refund) without(admitted, refund)
          checkState(fields, largest)
        }
      }),
      { numRuns: 2 * NUM_RUNS },
    )
    if (allowsMoreThanRemaining !== true) expect(refused).toBeGreaterThan(NUM_RUNS / 2)
  })
}

const inStep = (history: readonly Event[], skewMs: number): Event[] =>
  history.map((one) => ({ ...one, skewMs: Math.max(-skewMs / 2, Math.min(skewMs / 2, one.skewMs)) }))

/** Takes a refunded charge out of those admitted. */
function without(admitted: Charge[], { cost, clock }: { readonly cost: number; readonly clock: number }): void {
  const index = admitted.findLastIndex((charge) => charge.clock === clock && charge.units === cost)
  admitted[index] = { ...admitted[index]!, units: 0 }
}

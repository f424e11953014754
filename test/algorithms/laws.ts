import type { AlgorithmSpec } from './algorithm-spec'
import { guardLaws } from './guard-laws'
import { mixedLaws } from './mixed-laws'
import { refundLaws } from './refund-laws'
import { verdictLaws } from './verdict-laws'

/** The promises of docs/algorithms.md, each as a test over random states, quotas, costs and clocks: docs/testing.md. */
export function obeysTheLaws<Quota>(spec: AlgorithmSpec<Quota>): void {
  guardLaws(spec)
  verdictLaws(spec)
  refundLaws(spec)
  mixedLaws(spec)
}

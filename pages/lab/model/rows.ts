import type { Counter } from '../../../limiter/algorithms/counter'
import type { Mistake } from '../../../limiter/errors'
import { CALLER_WAITS } from '../../../limiter/policies/over-limit'
import { parsePolicies } from '../../../limiter/policies/parse-policies'
import { ALGORITHM_NAMES, type AlgorithmName, type Policy, type PolicyInput } from '../../../limiter/policies/policy'
import type { Setting } from './setting'

/** One algorithm with the numbers of a setting. */
export interface Row {
  readonly algorithm: AlgorithmName
  readonly policy: PolicyInput
  readonly parsed: Policy
  readonly counter: Counter
  /** What it counts in, as `quota` of its algorithm. */
  readonly quota: object
}

/** All algorithms, each as the documents advise to use it: the leaky bucket as a queue, GCRA to spread. */
export function rowsOf(setting: Setting): Row[] {
  const policies = ALGORITHM_NAMES.map((algorithm) => policyOf(algorithm, setting))
  const issues: Mistake[] = []
  const parsed = parsePolicies(policies, [], issues, {}, undefined, CALLER_WAITS)
  if (issues.length > 0) throw new Error(issues.map(({ message }) => message).join('; '))
  return parsed.map((one, i) => ({
    algorithm: ALGORITHM_NAMES[i]!,
    policy: policies[i]!,
    parsed: one,
    counter: one.counter,
    quota: one.quota,
  }))
}

/** The policy of a row, as it stands in a tiers file. */
export function policyOf(algorithm: AlgorithmName, { limit, window, burst, spread }: Setting): PolicyInput {
  const plain = { name: algorithm, algorithm, limit, window: durationText(window) }
  switch (algorithm) {
    case 'sliding-buckets': {
      const buckets = bucketsFor(window * 1000)
      return buckets === MAX_BUCKETS ? plain : { ...plain, buckets }
    }
    case 'token-bucket':
      return { ...plain, burst }
    case 'leaky-bucket':
      return { ...plain, burst, mode: 'queue' }
    case 'gcra':
      return { ...plain, burst: spread }
    default:
      return plain
  }
}

/** A policy as one entry of a list in YAML. */
export const yamlOf = (policy: PolicyInput): string =>
  `- { ${Object.entries(policy)
    .map(([field, value]) => `${field}: ${value}`)
    .join(', ')} }\n`

const MAX_BUCKETS = 60

/** The most sub-windows, up to the default, that divide a window of whole seconds. */
function bucketsFor(windowMs: number): number {
  let buckets = MAX_BUCKETS
  while (windowMs % buckets !== 0) buckets--
  return buckets
}

/** Whole seconds in the largest unit that divides them. */
export function durationText(seconds: number): string {
  for (const [unit, size] of [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
  ] as const)
    if (seconds % size === 0) return `${seconds / size}${unit}`
  return `${seconds}s`
}

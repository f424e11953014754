import fc from 'fast-check'
import type { PolicyInput } from '../../limiter'
import { MAX_POLICIES, weightOf } from '../../limiter/policies/parse-policies'
import { issuesIn } from '../policies/issues'

/** An event in the history of a subject. */
export type Event =
  | {
      readonly kind: 'take'
      readonly instance: number
      readonly cost: number
      readonly times: number
      readonly everyMs: number
    }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'refund'; readonly instance: number; readonly units: number; readonly agoMs: number }
  | { readonly kind: 'reset'; readonly instance: number }
  | { readonly kind: 'crash'; readonly instance: number }

export const INSTANCES = 6

const someLimit = fc.oneof(
  fc.integer({ min: 1, max: 30 }),
  fc.integer({ min: 100, max: 2000 }),
  fc.integer({ min: 1e6, max: 1e9 }),
)
const someWindow = fc.oneof(
  fc.integer({ min: 1, max: 90 }).map((seconds) => `${seconds}s`),
  fc.constantFrom('250ms', '1m', '5m', '1h', '1d'),
)
const someAction = fc.constantFrom(
  {},
  {},
  { action: 'observe' },
  { action: 'deprioritize' },
  { overrun: '20%' },
  { action: 'delay', maxDelay: '1s' },
  { blockFor: '2m' },
  { blockFor: '20s', after: 3, extend: true },
)

/** A shape of policies for each way of counting. */
export const KINDS: Readonly<Record<string, fc.Arbitrary<object>>> = {
  fixed: fc.constant({ algorithm: 'fixed-window' }),
  calendar: fc
    .constantFrom('day', 'month')
    .map((window) => ({ algorithm: 'fixed-window', window, timezone: 'Europe/Berlin' })),
  metered: fc.constant({ algorithm: 'fixed-window', overage: 'allow' }),
  anchored: fc.constant({ algorithm: 'anchored-window' }),
  sliding: fc.constant({ algorithm: 'sliding-window' }),
  buckets: fc.constantFrom(2, 10, 50, 120).map((buckets) => ({ algorithm: 'sliding-buckets', buckets, window: '2m' })),
  log: fc.record({ algorithm: fc.constant('sliding-log'), limit: fc.integer({ min: 1, max: 60 }) }),
  countDenied: fc.record({
    algorithm: fc.constant('sliding-log'),
    limit: fc.integer({ min: 1, max: 60 }),
    countDenied: fc.constant(true),
  }),
  tokens: fc.constantFrom('greedy', 'interval').map((refill) => ({ algorithm: 'token-bucket', refill, window: '1m' })),
  leaky: fc.constantFrom('meter', 'queue').map((mode) => ({ algorithm: 'leaky-bucket', mode, window: '1m' })),
  gcra: fc.constant({ algorithm: 'gcra', window: '1m' }),
}

/** One to thirty policies of one kind or of any, with all actions. */
export const anyPolicies: fc.Arbitrary<PolicyInput[]> = fc
  .tuple(
    fc.oneof(fc.constantFrom(...Object.keys(KINDS)), fc.constant(undefined)),
    fc.oneof(fc.constant(30), fc.integer({ min: 1, max: 30 })),
  )
  .chain(([kind, count]) => {
    const anyKind = kind === undefined ? fc.oneof(...Object.values(KINDS)) : KINDS[kind]!
    const anyOne = fc
      .tuple(fc.record({ limit: someLimit, window: someWindow }), anyKind, someAction)
      .map(([plain, of, action]) => [
        { name: 'p', ...plain, ...of, ...action },
        { name: 'p', ...plain, ...of },
      ])
      .map((forms) => forms.find((one) => issuesIn([one]).length === 0))
    return fc.array(anyOne, { minLength: count, maxLength: count })
  })
  .map((found) => found.flatMap((one, i) => (one ? [{ ...one, name: `p${i}` } as PolicyInput] : [])))
  .map((policies) => policies.slice(0, weightOf(policies) > MAX_POLICIES ? MAX_POLICIES / 2 : MAX_POLICIES))
  .filter((policies) => policies.length > 0)

const instance = fc.nat({ max: INSTANCES - 1 })
const someGap = fc.constantFrom(1, 40, 900, 1000, 7000, 65_000)

export const anyHistory: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('take' as const),
        instance,
        cost: fc.integer({ min: 1, max: 5 }),
        times: fc.integer({ min: 1, max: 30 }),
        everyMs: someGap,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        ms: fc.constantFrom(10_000, 65_000, 3_600_000, 90_000_000),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('refund' as const),
        instance,
        units: fc.integer({ min: 1, max: 400 }),
        agoMs: fc.constantFrom(0, 900, 20_000),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('reset' as const), instance }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), instance }) },
  ),
  { minLength: 3, maxLength: 16 },
)

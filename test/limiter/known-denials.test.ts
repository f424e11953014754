import fc from 'fast-check'
import { MemoryStore, type PolicyInput } from '../../limiter'
import { apply, type Fields } from '../../limiter/algorithms/conditional-write'
import { compile } from '../../limiter/compiled-policy'
import { CALLER_WAITS } from '../../limiter/policies/over-limit'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { allStepsAllow, stepAll, verdictsOf } from '../../limiter/steps'
import { KnownDenial, verdictsNow } from '../../limiter/view'
import { runs } from '../runs'
import { CountingStore, everyAlgorithm, limiterOn, MIDNIGHT, TestClock } from './limiters'

const small = { limit: 4, window: '2s' } as const
const VARIANTS: PolicyInput[] = [
  ...everyAlgorithm(4, '3s'),
  { name: 'large', algorithm: 'sliding-window', limit: 5000, window: '2s' },
  { name: 'slow', algorithm: 'gcra', limit: 3, window: '1m', burst: 2 },
  { name: 'bucket', algorithm: 'token-bucket', ...small, burst: 9 },
  { name: 'interval', algorithm: 'token-bucket', refill: 'interval', limit: 2, burst: 7, window: '1s' },
  { name: 'queue', algorithm: 'leaky-bucket', mode: 'queue', ...small, burst: 50, maxDelay: '1500ms' },
  { name: 'delayed', algorithm: 'sliding-window', ...small, action: 'delay', maxDelay: '700ms' },
  { name: 'delayed-log', algorithm: 'sliding-log', ...small, action: 'delay', maxDelay: '700ms' },
  { name: 'observed', algorithm: 'fixed-window', ...small, action: 'observe' },
  { name: 'deprioritized', algorithm: 'gcra', ...small, action: 'deprioritize' },
  { name: 'overrun', algorithm: 'sliding-window', ...small, overrun: '50%' },
  { name: 'overage', algorithm: 'fixed-window', ...small, overage: 'allow' },
  { name: 'denied-too', algorithm: 'sliding-log', ...small, countDenied: true },
  { name: 'lockout', algorithm: 'sliding-window', ...small, blockFor: '5s' },
  { name: 'third-lockout', algorithm: 'fixed-window', ...small, blockFor: '5s', after: 3 },
  { name: 'longer-lockout', algorithm: 'gcra', ...small, blockFor: '5s', extend: true },
]
const withName = (policy: PolicyInput, i: number): PolicyInput => ({ ...policy, name: `${policy.name}-${i}` })
const anyPolicies = fc
  .array(fc.constantFrom(...VARIANTS), { minLength: 1, maxLength: 3 })
  .map((all) => all.map(withName))
const everyVariant = VARIANTS.map((policy) => [policy.name, policy] as const)

const anyCost = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 6 }), fc.constant(5001))
const anyPause = fc.oneof(
  { arbitrary: fc.constantFrom(0, 1, 1, 2), weight: 4 },
  { arbitrary: fc.integer({ min: 0, max: 700 }), weight: 4 },
  { arbitrary: fc.constantFrom(1999, 2000, 2001, 4096, 4097, 60_000), weight: 1 },
)
const anyCharges = fc.array(
  fc.record({ pauseMs: anyPause, cost: anyCost, aheadMs: fc.constantFrom(0, 0, 0, 3, 900) }),
  {
    maxLength: 12,
  },
)

function compiledOf(policies: readonly PolicyInput[]) {
  return parsePolicies(policies, [], [], {}, undefined, CALLER_WAITS).map((policy) => compile(policy))
}

/** Charges each policy by itself, as far as it allows, by clocks that may be ahead; denials are written down, too. */
function statesAfter(policies: ReturnType<typeof compiledOf>, charges: readonly { cost: number; at: number }[]) {
  return policies.map(({ counter }) => {
    let fields: Fields = {}
    for (const { cost, at } of charges) {
      const { write } = counter.step(fields, cost, at)
      if (write) fields = apply(write, fields)
    }
    return fields
  })
}

const anySituation = (policies: fc.Arbitrary<PolicyInput[]>) =>
  fc.record({
    policies,
    charges: anyCharges,
    cost: anyCost,
    startMs: anyPause,
    pauses: fc.array(anyPause, { minLength: 1, maxLength: 40 }),
    aheadMs: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 3000 })),
  })

type Situation = ReturnType<typeof anySituation> extends fc.Arbitrary<infer S> ? S : never

/** Returns how often a cached denial was compared. */
function compare({ policies: inputs, charges, cost, startMs, pauses, aheadMs }: Situation): number {
  const policies = compiledOf(inputs)
  let now = MIDNIGHT - 5000
  const times = charges.map((charge) => {
    now += charge.pauseMs
    return { cost: charge.cost, at: now + charge.aheadMs }
  })
  now += startMs
  const states = statesAfter(policies, times)
  const afresh = (at: number) => {
    const steps = stepAll(states, policies, { cost }, at)
    const isDenied = !allStepsAllow(steps)
    const isWritten = steps.some(({ verdict, write }) => !verdict.allowed && write)
    return { isDenied, verdicts: isDenied && !isWritten ? verdictsOf(steps, states, policies, at) : undefined }
  }
  const { verdicts } = afresh(now)
  if (!verdicts) return 0
  const known = new KnownDenial(policies, states, { cost }, verdicts, now)
  const [told, expected]: object[][] = [[], []]
  let compared = 0
  for (const pauseMs of pauses) {
    now += pauseMs
    const denied = known.deniesAt(now + aheadMs)
    const said = known.saysNow(now)
    told!.push({ now, denied, verdicts: said && verdictsNow(said) })
    expected!.push({ now, denied: afresh(now + aheadMs).isDenied, verdicts: afresh(now).verdicts })
    if (!said) break
    compared++
  }
  const context = { policies: inputs, states, cost }
  expect({ context, told }).toEqual({ context, told: expected }) // once: the comparison takes longer than the decisions
  return compared
}

describe('a cached denial says at each later moment what the policies would say if they were asked', () => {
  it.each(everyVariant)('%s', (_, policy) => {
    let compared = 0
    fc.assert(
      fc.property(anySituation(fc.constant([policy])), (situation) => {
        compared += compare(situation)
      }),
      { numRuns: runs(150, 1500) },
    )
    const neverKnown = policy.countDenied || policy.action === 'observe' || policy.action === 'deprioritize'
    expect(compared > 0).toBe(!neverKnown && !policy.overage)
  })

  it('several policies of one subject', () =>
    fc.assert(
      fc.property(anySituation(anyPolicies), (situation) => void compare(situation)),
      {
        numRuns: runs(400, 4000),
      },
    ))
})

describe('a limiter that remembers denials', () => {
  const anyRequest = fc.oneof(
    { arbitrary: fc.record({ kind: fc.constant('take'), pauseMs: anyPause, cost: anyCost }), weight: 12 },
    { arbitrary: fc.record({ kind: fc.constant('refund'), pauseMs: anyPause, cost: fc.constant(1) }), weight: 1 },
    { arbitrary: fc.record({ kind: fc.constant('reset'), pauseMs: anyPause, cost: fc.constant(1) }), weight: 1 },
    { arbitrary: fc.record({ kind: fc.constant('take'), pauseMs: fc.constant(-300), cost: anyCost }), weight: 1 },
  )

  it('answers as one that reads the item and asks all policies each time, after charges, refunds, resets, and a clock that is set back', () =>
    fc.assert(
      fc.asyncProperty(anyPolicies, fc.array(anyRequest, { maxLength: 40 }), async (policies, requests) => {
        const [clock, store] = [new TestClock(), new MemoryStore()]
        const [limiter, other] = [1, 2].map(() => limiterOn(store, clock, policies))
        for (const { kind, pauseMs, cost } of requests) {
          clock.at += pauseMs
          if (kind === 'refund') await limiter!.refund('client:a')
          if (kind === 'reset') await limiter!.reset('client:a')
          if (kind !== 'take') continue
          const expected = await other!.peek('client:a', { cost })
          const decision = await limiter!.take('client:a', { cost })
          expect(decision.allowed).toBe(expected.allowed)
          if (!decision.allowed) expect(decision).toEqual(expected)
        }
      }),
      { numRuns: runs(150, 1500) },
    ))

  it('counts each denial where a policy counts those, also at the same millisecond', async () => {
    const [clock, store] = [new TestClock(), new CountingStore()]
    const limiter = limiterOn(store, clock, [{ ...small, name: 'log', algorithm: 'sliding-log', countDenied: true }])
    for (let i = 0; i < 7; i++) await limiter.take('client:a')
    expect(store.writes).toBe(7)
  })

  it('asks for a denial of another cost, and by other policies, anew', async () => {
    const [clock, store] = [new TestClock(), new CountingStore()]
    const policies: PolicyInput[] = [
      { name: 'requests', algorithm: 'fixed-window', limit: 10, window: '1h' },
      { name: 'tokens', algorithm: 'fixed-window', limit: 10, window: '1h', cost: 'tokens' },
    ]
    const limiter = limiterOn(store, clock, policies)
    await limiter.take('client:a', { costs: { tokens: 10 } })
    const tokens = async (tokens: number) => (await limiter.take('client:a', { costs: { tokens } })).policy
    const calls = store.calls
    expect([await tokens(1), await tokens(2), await tokens(1)]).toEqual(['tokens', 'tokens', 'tokens'])
    expect(store.calls).toBe(calls)
    expect(await tokens(0)).toBe('requests')
    expect((await limiter.take('client:a', { cost: 9, costs: { tokens: 1 } })).policies).toMatchObject({
      requests: { allowed: false },
      tokens: { allowed: false },
    })
    const one = [{ subject: 'client:a', policies: ['requests'] }]
    expect(await limiter.takeAll(one)).toMatchObject({ allowed: true, remaining: 7 })
    expect(await tokens(1)).toBe('tokens')
  })
})

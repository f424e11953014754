import type { Verdict } from '../../limiter/algorithms/algorithm'
import type { CompiledPolicy } from '../../limiter/compiled-policy'
import { compose, tooLate } from '../../limiter/decision'

const policy = (name: string, limit: number) => ({ name, limit, counter: { isEndedByOthers: false } }) as CompiledPolicy
const allow = (remaining: number, resetAfterMs = 1000): Verdict => ({
  allowed: true,
  remaining,
  resetAfterMs,
  retryAfterMs: 0,
})
const deny = (retryAfterMs: number, remaining = 0): Verdict => ({
  allowed: false,
  remaining,
  resetAfterMs: 5000,
  retryAfterMs,
})

describe('a decision', () => {
  const policies = [policy('a', 10), policy('b', 20), policy('c', 30)]

  it('names the tightest policy if all allow', () => {
    expect(compose([{ policies, verdicts: [allow(3), allow(1), allow(2)] }])).toMatchObject({
      allowed: true,
      policy: 'b',
      limit: 20,
      remaining: 1,
    })
  })

  it('has no field of what its policies do not say', () => {
    const { policies: standings, ...decision } = compose([{ policies, verdicts: [allow(3), allow(1), deny(7)] }])
    const all = ['allowed', 'delayMs', 'limit', 'remaining', 'resetAfterMs', 'retryAfterMs', 'windowMs']
    for (const standing of Object.values(standings)) expect(Object.keys(standing).sort()).toEqual(all)
    for (const field of ['counts', 'overage', 'exceeded', 'lockedOut']) expect(decision).not.toHaveProperty(field)
  })

  it('names, of two equally tight policies, the one with the longer reset time', () => {
    expect(compose([{ policies, verdicts: [allow(1, 1000), allow(1, 9000), allow(1, 3000)] }])).toMatchObject({
      policy: 'b',
      resetAfterMs: 9000,
    })
    expect(compose([{ policies, verdicts: [allow(1), allow(1), allow(1)] }]).policy).toBe('a')
  })

  it('names the first policy that denies, with the longest retry time', () => {
    const decision = compose([{ policies, verdicts: [allow(0), deny(100), deny(700)] }])
    expect(decision).toMatchObject({
      allowed: false,
      policy: 'b',
      limit: 20,
      remaining: 0,
      retryAfterMs: 700,
      delayMs: 0,
    })
    expect(decision.policies).toMatchObject({
      a: { allowed: true },
      b: { retryAfterMs: 100 },
      c: { retryAfterMs: 700, limit: 30 },
    })
  })

  it('has an infinite retry time if one policy can never allow the request', () => {
    expect(compose([{ policies, verdicts: [deny(100), deny(Infinity), allow(5)] }]).retryAfterMs).toBe(Infinity)
  })

  it('has the longest of its delays', () => {
    const verdicts = [{ ...allow(3), delayMs: 200 }, { ...allow(3), delayMs: 900 }, allow(3)]
    expect(compose([{ policies, verdicts }])).toMatchObject({
      allowed: true,
      delayMs: 900,
      policies: { a: { delayMs: 200 }, c: { delayMs: 0 } },
    })
  })

  it('names, of several exhausted policies, the one with the most overage', () => {
    const over = (units: number, resetAfterMs = 1000): Verdict => ({ ...allow(0, resetAfterMs), overage: units })
    const decision = compose([{ policies, verdicts: [over(4, 5000), over(7), allow(0, 9000)] }])
    expect(decision).toMatchObject({ policy: 'b', limit: 20, overage: 7, policies: { a: { overage: 4 } } })
    expect(decision.policies.c).not.toHaveProperty('overage')
    expect(compose([{ policies, verdicts: [over(0), allow(0, 2000), allow(3)] }])).toMatchObject({ policy: 'b' })
    expect(compose([{ policies, verdicts: [over(4), deny(100), allow(3)] }])).not.toHaveProperty('overage')
  })

  it('reports the tighter of two policies with the same name on different subjects', () => {
    const answers = [
      { policies: [policy('a', 10)], verdicts: [allow(7)] },
      { policies: [policy('a', 10)], verdicts: [allow(2)] },
    ]
    expect(compose(answers)).toMatchObject({ remaining: 2, policies: { a: { remaining: 2 } } })
    expect(compose([...answers].reverse()).policies).toMatchObject({ a: { remaining: 2 } })
    expect(compose([answers[0]!, { policies: [policy('a', 10)], verdicts: [deny(5, 9)] }]).policies).toMatchObject({
      a: { allowed: false },
    })
  })

  it('reports no overage that the store has not recorded', () => {
    const answers = [{ policies, verdicts: [{ ...allow(0), overage: 3 }, allow(1), allow(1)] }]
    expect(compose(answers)).toMatchObject({ overage: 3, policies: { a: { overage: 3 } } })
    expect(compose(answers, true)).not.toHaveProperty('overage')
    expect(compose(answers, true).policies.a).not.toHaveProperty('overage')
  })

  it('is marked as degraded if it was made without the store', () => {
    const answers = [{ policies, verdicts: [allow(1), allow(1), allow(1)] }]
    expect([compose(answers).degraded, compose(answers, true).degraded]).toEqual([false, true])
  })
})

describe('a decision also reports', () => {
  const one = [policy('a', 10)]
  const two = [policy('a', 10), policy('b', 20)]
  const at = (chargedAt: number | undefined, verdict = allow(3)): Verdict => ({ ...verdict, chargedAt })

  it('when units were charged: the earliest of several times, or null if none were', () => {
    expect(compose([{ policies: two, verdicts: [at(20), at(10)] }]).chargedAt).toBe(10)
    expect(compose([{ policies: two, verdicts: [at(undefined), at(10)] }]).chargedAt).toBe(10)
    expect(compose([{ policies: one, verdicts: [allow(3)] }]).chargedAt).toBeNull()
    expect(compose([{ policies: two, verdicts: [at(20), deny(100)] }]).chargedAt).toBeNull()
    expect(compose([{ policies: one, verdicts: [at(20)] }], true).chargedAt).toBe(20)
  })

  it('the longest delay of its policies, if it is allowed', () => {
    const verdicts = [
      { ...allow(3), delayMs: 200 },
      { ...allow(3), delayMs: 900 },
    ]
    expect(compose([{ policies: two, verdicts }])).toMatchObject({ delayMs: 900 })
    expect(compose([{ policies: [...two, policy('c', 1)], verdicts: [...verdicts, deny(100)] }]).delayMs).toBe(0)
  })

  it.each([
    [undefined, { overrun: false, observed: false, priority: 'normal' }],
    ['overrun', { overrun: true, observed: false, priority: 'normal' }],
    ['observe', { overrun: false, observed: true, priority: 'normal' }],
    ['deprioritize', { overrun: false, observed: false, priority: 'low' }],
  ] as const)('why it was allowed past a limit: %s', (exceeded, said) => {
    const verdicts = [{ ...allow(0), exceeded }, allow(3)]
    expect(compose([{ policies: two, verdicts }])).toMatchObject(said)
    expect(compose([{ policies: two, verdicts }]).policies.a?.exceeded).toBe(exceeded)
    expect(compose([{ policies: two, verdicts }]).policies.b).not.toHaveProperty('exceeded')
    const denied = compose([{ policies: two, verdicts: [verdicts[0]!, deny(100)] }])
    expect(denied).toMatchObject({ overrun: false, observed: false, priority: 'normal' })
  })

  it('that the retry time is a lower bound, if a denial did not ask all subjects', () => {
    const bound = (verdict: Verdict, ...rest: [boolean?, boolean?]) =>
      compose([{ policies: one, verdicts: [verdict] }], ...rest).retryAfterIsLowerBound
    expect([
      bound(deny(5), false, true),
      bound(deny(5), false, false),
      bound(deny(5)),
      bound(allow(5), false, true),
    ]).toEqual([true, false, false, false])
  })
})

it('a request whose turn comes later than it would wait is denied by the policies whose turn that is', () => {
  const exceeded: Verdict['exceeded'] = 'deprioritize'
  const verdicts = [
    { ...allow(5), delayMs: 500, exceeded },
    { ...allow(5), delayMs: 100 },
  ]
  const late = tooLate(compose([{ policies: [policy('far', 10), policy('near', 10)], verdicts }]), 100)
  const denied = { allowed: false, delayMs: 0, retryAfterMs: 400 }
  expect(late).toMatchObject({ ...denied, policy: 'far', overrun: false, observed: false, priority: 'normal' })
  expect(late.policies).toMatchObject({ far: denied, near: { allowed: true, delayMs: 100, retryAfterMs: 0 } })
})

it('a policy on running requests says so, and no other', () => {
  const running = { ...policy('running', 10), counter: { isEndedByOthers: true } } as CompiledPolicy
  const { policies } = compose([{ policies: [running, policy('all', 10)], verdicts: [allow(5), allow(5)] }])
  expect([policies.running!.counts, policies.all!.counts]).toEqual(['running', undefined])
})

import type { Verdict } from '../../lambda/algorithms/algorithm'
import type { CompiledPolicy } from '../../lambda/limiter/compiled-policy'
import { compose } from '../../lambda/limiter/compose'

const policy = (name: string, limit: number) => ({ name, limit }) as CompiledPolicy
const allow = (remaining: number, resetAfterMs = 1000): Verdict => ({ allowed: true, remaining, resetAfterMs, retryAfterMs: 0 })
const deny = (retryAfterMs: number, remaining = 0): Verdict => ({ allowed: false, remaining, resetAfterMs: 5000, retryAfterMs })

describe('a decision', () => {
  const policies = [policy('a', 10), policy('b', 20), policy('c', 30)]

  it('is named after the tightest policy when all allow', () => {
    expect(compose([{ policies, verdicts: [allow(3), allow(1), allow(2)] }])).toMatchObject({
      allowed: true,
      policy: 'b',
      limit: 20,
      remaining: 1,
    })
  })

  it('prefers, of two that are as tight, the one that takes longer to be whole', () => {
    expect(compose([{ policies, verdicts: [allow(1, 1000), allow(1, 9000), allow(1, 3000)] }])).toMatchObject({
      policy: 'b',
      resetAfterMs: 9000,
    })
    expect(compose([{ policies, verdicts: [allow(1), allow(1), allow(1)] }]).policy).toBe('a')
  })

  it('is named after the first policy that denies, with the longest of the waits', () => {
    const decision = compose([{ policies, verdicts: [allow(0), deny(100), deny(700)] }])
    expect(decision).toMatchObject({ allowed: false, policy: 'b', limit: 20, remaining: 0, retryAfterMs: 700, delayMs: 0 })
    expect(decision.policies).toMatchObject({ a: { allowed: true }, b: { retryAfterMs: 100 }, c: { retryAfterMs: 700, limit: 30 } })
  })

  it('waits for ever when one policy can never allow', () => {
    expect(compose([{ policies, verdicts: [deny(100), deny(Infinity), allow(5)] }]).retryAfterMs).toBe(Infinity)
  })

  it('waits for the longest of the queues it stands in', () => {
    const verdicts = [{ ...allow(3), delayMs: 200 }, { ...allow(3), delayMs: 900 }, allow(3)]
    expect(compose([{ policies, verdicts }])).toMatchObject({
      allowed: true,
      delayMs: 900,
      policies: { a: { delayMs: 200 }, c: { delayMs: 0 } },
    })
  })

  it('is named, of several that have nothing left, after the policy that is furthest past its quota', () => {
    const over = (units: number, resetAfterMs = 1000): Verdict => ({ ...allow(0, resetAfterMs), over: units })
    const decision = compose([{ policies, verdicts: [over(4, 5000), over(7), allow(0, 9000)] }])
    expect(decision).toMatchObject({ policy: 'b', limit: 20, over: 7, policies: { a: { over: 4 } } })
    expect(decision.policies.c).not.toHaveProperty('over')
    expect(compose([{ policies, verdicts: [over(0), allow(0, 2000), allow(3)] }])).toMatchObject({ policy: 'b' })
    expect(compose([{ policies, verdicts: [over(4), deny(100), allow(3)] }])).not.toHaveProperty('over')
  })

  it('lets a name that two subjects share stand for the tighter one', () => {
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

  it('tells of nothing past a quota that the store has not recorded', () => {
    const answers = [{ policies, verdicts: [{ ...allow(0), over: 3 }, allow(1), allow(1)] }]
    expect(compose(answers)).toMatchObject({ over: 3, policies: { a: { over: 3 } } })
    expect(compose(answers, true)).not.toHaveProperty('over')
    expect(compose(answers, true).policies.a).not.toHaveProperty('over')
  })

  it('says when it was made without the store', () => {
    const answers = [{ policies, verdicts: [allow(1), allow(1), allow(1)] }]
    expect([compose(answers).degraded, compose(answers, true).degraded]).toEqual([false, true])
  })
})

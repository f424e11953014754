import { type CompiledPolicy, compile, distinct, fieldsOf, idOf } from '../../limiter/compiled-policy'
import { ConfigError, Mistake } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import type { Policy, PolicyInput } from '../../limiter/policies/policy'
import { NO_ITEM } from '../../limiter/stores/store'

const fixed = (more: Partial<PolicyInput> = {}): PolicyInput =>
  ({ name: 'p', algorithm: 'fixed-window', limit: 100, window: '1m', ...more }) as PolicyInput
function parsed(input: PolicyInput): Policy {
  const issues: Mistake[] = []
  const [policy] = parsePolicies([input], [], issues)
  expect(issues).toEqual([])
  return policy!
}
const of = (more: Partial<PolicyInput> = {}, ...rest: [scope?: string, autoLease?: boolean]) =>
  compile(parsed(fixed(more)), ...rest)

describe('a compiled policy', () => {
  it('has the same attribute prefix whoever compiles it, and another one for another name, state schema or scope', () => {
    expect(of().prefix).toBe(of({ limit: 7 }).prefix)
    expect(
      new Set(
        [
          of(),
          of({ name: 'q' }),
          of({ window: '1h' }),
          of({}, 'GET /'),
          of({}, 'GET /').elsewhere(),
          of().elsewhere(),
        ].map(({ prefix }) => prefix),
      ).size,
    ).toBe(6)
    expect(of().elsewhere().prefix).toBe(of().elsewhere().prefix)
  })

  it('says whether its requests are charged at their queue slot', () => {
    expect([of(), of({ action: 'delay', maxDelay: '5s' })].map(({ chargesAtTurn }) => chargesAtTurn)).toEqual([
      false,
      true,
    ])
  })

  it('may be leased where it admits what its item cannot take, unless it cannot be, or autoLease is off', () => {
    const many = { limit: 1000 }
    const leasable = (...policies: CompiledPolicy[]) => policies.map(({ autoLease }) => autoLease)
    expect(leasable(of(many), of(many, '', false), of({ ...many, action: 'delay', maxDelay: '5s' }))).toEqual([
      ...[true, false, false],
    ])
    expect(leasable(of(many).elsewhere(), of(many, '', false).elsewhere())).toEqual([true, false])
    const bucket = { algorithm: 'token-bucket' as const, limit: 1000, window: '1s' }
    expect(leasable(of({ limit: 999 }), of({ action: 'observe' }), of({ ...bucket, burst: 10 }))).toEqual([
      ...[false, true, true],
    ])
  })

  it('keeps its state for as long as its window counts', () => {
    expect([of(), of({ algorithm: 'sliding-window' })].map(({ counter }) => counter.retentionMs)).toEqual([
      60_000, 120_000,
    ])
  })

  it('has variants that count under the same prefix: a share of it, and one without a limit', () => {
    const policy = of({}, 'GET /')
    const share = policy.shareOf(0.25)
    expect([share.prefix, share.limit]).toEqual([policy.prefix, 25])
    const { prefix, counter } = policy.unlimited()
    expect([prefix, counter.step({}, 1_000_000, 0).verdict.allowed]).toEqual([policy.prefix, true])
    expect(policy.unlimited()).toBe(policy.unlimited())
  })
})

describe('the policies of one subject', () => {
  /** A policy whose attribute prefix is that of another. */
  const colliding = (name: string, prefix: string, limit = 1): CompiledPolicy => ({
    ...of({ limit }),
    name,
    prefix,
    elsewhere: () => colliding(name, `${prefix}+`, limit),
  })

  it('are counted once if one is listed twice', () => {
    const [one, other] = [of(), of({ name: 'q' })]
    expect(distinct([one, other, of(), one])).toEqual([one, other])
  })

  it('that count as one are reduced to the strictest of them', () => {
    const observing = of({ limit: 1, action: 'observe' })
    const [strict, looser, overrun] = [of({ limit: 5 }), of({ limit: 7 }), of({ limit: 5, overrun: '20%' })]
    for (const all of [
      [looser, strict, observing, overrun],
      [overrun, observing, looser, strict],
      [strict, observing],
    ])
      expect(distinct(all)).toEqual([strict])
    const [burst, calm] = [20, 10].map((burst) => of({ algorithm: 'token-bucket', burst }))
    expect(distinct([burst!, calm!])).toEqual([calm])
  })

  it('that count as one are reduced to one that denies, if another only observes', () => {
    const [observes, denies] = [of({ limit: 5, action: 'observe' }), of({ limit: 9 })]
    expect([distinct([observes, denies]), distinct([denies, observes])]).toEqual([[denies], [denies]])
  })

  it('whose prefixes collide are rejected by name, unless a listener is given', () => {
    const pair = [colliding('a', 'x'), colliding('b', 'x')]
    expect(() => distinct(pair)).toThrow(
      new ConfigError([
        new Mistake('state_collision', 'policies "a" and "b" happen to share an attribute prefix, rename one of them'),
      ]),
    )
  })

  it('whose prefixes collide are stored apart if a listener is given', () => {
    const told: string[] = []
    const three = [colliding('a', 'x'), colliding('b', 'x'), colliding('c', 'x'), colliding('b', 'x')]
    const placed = distinct(three, (issue) => void told.push(issue))
    expect(placed.map(({ name, prefix }) => [name, prefix])).toEqual([
      ['a', 'x'],
      ['b', 'x+'],
      ['c', 'x++'],
    ])
    expect(told[0]).toContain('"a" and "b"')
    expect(told.slice(1, 3)).toEqual([expect.stringContaining('"a" and "c"'), expect.stringContaining('"b" and "c"')])
  })

  it('are identified by their prefixes in order', () => {
    const [one, other] = [of(), of({ name: 'q' })]
    expect(idOf([one, other])).toBe(idOf([of({ limit: 5 }), other]))
    expect(new Set([[one, other], [other, one], [one], [other], []].map(idOf)).size).toBe(5)
    const list = [one]
    expect(idOf(list)).toBe(idOf(list))
  })
})

it('the fields of a policy are empty if an item does not have them, and undefined without an item', () => {
  const policy = of()
  expect([fieldsOf(undefined, policy), fieldsOf(NO_ITEM, policy)]).toEqual([undefined, {}])
  expect(fieldsOf({ ...NO_ITEM, policies: { [policy.prefix]: { w: 1 } } }, policy)).toEqual({ w: 1 })
})

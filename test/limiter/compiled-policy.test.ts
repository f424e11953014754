import { type CompiledPolicy, compile, distinct, fieldsOf, idOf } from '../../limiter/compiled-policy'
import { ConfigError } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import type { Policy, PolicyInput } from '../../limiter/policies/policy'
import { NO_ITEM } from '../../limiter/stores/store'

const fixed = (more: Partial<PolicyInput> = {}): PolicyInput =>
  ({ name: 'p', algorithm: 'fixed-window', limit: 100, window: '1m', ...more }) as PolicyInput
function parsed(input: PolicyInput): Policy {
  const issues: string[] = []
  const [policy] = parsePolicies([input], [], issues)
  expect(issues).toEqual([])
  return policy!
}
const of = (more: Partial<PolicyInput> = {}, ...rest: [scope?: string, autoLease?: boolean]) =>
  compile(parsed(fixed(more)), ...rest)

describe('a policy with the place of its state', () => {
  it('stores under the same prefix whoever compiles it, and elsewhere for another name, state schema or scope', () => {
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

  it('says whether its requests are charged at a later turn', () => {
    expect([of(), of({ action: 'delay', maxDelay: '5s' })].map(({ chargesAtTurn }) => chargesAtTurn)).toEqual([
      false,
      true,
    ])
  })

  it('may have units taken ahead unless it cannot, or somebody does not want it', () => {
    expect(
      [of(), of({}, '', false), of({ action: 'delay', maxDelay: '5s' })].map(({ autoLease }) => autoLease),
    ).toEqual([true, false, false])
    expect([of().elsewhere(), of({}, '', false).elsewhere()].map(({ autoLease }) => autoLease)).toEqual([true, false])
  })

  it('matters as long as its window', () => {
    expect([of(), of({ algorithm: 'sliding-window' })].map(({ counter }) => counter.retentionMs)).toEqual([
      60_000, 120_000,
    ])
  })

  it('has variants that count in the same place: a share of it, and without a limit', () => {
    const policy = of({}, 'GET /')
    const share = policy.shareOf(0.25)
    expect([share.prefix, share.limit]).toEqual([policy.prefix, 25])
    const { prefix, counter } = policy.unlimited()
    expect([prefix, counter.step({}, 1_000_000, 0).verdict.allowed]).toEqual([policy.prefix, true])
    expect(policy.unlimited()).toBe(policy.unlimited())
  })
})

describe('policies of one subject', () => {
  /** One that would store where another does. */
  const colliding = (name: string, prefix: string, limit = 1): CompiledPolicy => ({
    ...of({ limit }),
    name,
    prefix,
    elsewhere: () => colliding(name, `${prefix}+`, limit),
  })

  it('are counted once where they stand twice', () => {
    const [one, other] = [of(), of({ name: 'q' })]
    expect(distinct([one, other, of(), one])).toEqual([one, other])
  })

  it('that would count as one are the strictest of them', () => {
    const lenient = of({ limit: 1, action: 'observe' })
    const [strict, looser, overrun] = [of({ limit: 5 }), of({ limit: 7 }), of({ limit: 5, overrun: '20%' })]
    for (const all of [
      [looser, strict, lenient, overrun],
      [overrun, lenient, looser, strict],
      [strict, lenient],
    ])
      expect(distinct(all)).toEqual([strict])
    const [burst, calm] = [20, 10].map((burst) => of({ algorithm: 'token-bucket', burst }))
    expect(distinct([burst!, calm!])).toEqual([calm])
  })

  it('that would share a place are refused by name, unless somebody else is told of them', () => {
    const pair = [colliding('a', 'x'), colliding('b', 'x')]
    expect(() => distinct(pair)).toThrow(
      new ConfigError(['policies "a" and "b" happen to share a storage code, rename one of them']),
    )
  })

  it('that would share a place store apart, where it is only told', () => {
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

  it('are known by where they store, in their order', () => {
    const [one, other] = [of(), of({ name: 'q' })]
    expect(idOf([one, other])).toBe(idOf([of({ limit: 5 }), other]))
    expect(new Set([[one, other], [other, one], [one], [other], []].map(idOf)).size).toBe(5)
    const list = [one]
    expect(idOf(list)).toBe(idOf(list))
  })
})

it('an item that does not hold a policy holds no fields of it; of no item nothing is known', () => {
  const policy = of()
  expect([fieldsOf(undefined, policy), fieldsOf(NO_ITEM, policy)]).toEqual([undefined, {}])
  expect(fieldsOf({ ...NO_ITEM, policies: { [policy.prefix]: { w: 1 } } }, policy)).toEqual({ w: 1 })
})

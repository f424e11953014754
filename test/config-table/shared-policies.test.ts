import {
  parseGlobal,
  parseRoute,
  parseTier,
  placeOf,
  unknownRoute,
  unknownTier,
} from '../../lambda/config-table/items/tiers'
import type { Mistake } from '../../limiter/errors'
import { policy } from '../policies/issues'

type Parse<T> = (issues: Mistake[]) => T | undefined

/** What is parsed without a mistake. */
function valid<T>(parse: Parse<T>): T {
  const issues: Mistake[] = []
  const parsed = parse(issues)
  expect(issues.map(String)).toEqual([])
  return parsed!
}

/** The codes and sentences of what is wrong, in which case nothing is parsed. */
function mistakesOf(parse: Parse<unknown>) {
  const issues: Mistake[] = []
  expect(parse(issues)).toBeUndefined()
  return issues.map((issue) => [issue.code, String(issue)])
}

const globalOf = (input: unknown) => (issues: Mistake[]) => parseGlobal(input, ['f'], issues)
const routeOf =
  (input: unknown, text = 'GET /a') =>
  (issues: Mistake[]) =>
    parseRoute(text, input, ['f'], issues)
const tierOf =
  (input: unknown, text = 'free') =>
  (issues: Mistake[]) =>
    parseTier(text, input, ['f'], issues)

describe('policies that all callers share', () => {
  const consistencyOf = (changes: Readonly<Record<string, unknown>>) =>
    valid(globalOf({ policies: [policy(changes)] }))[0]!.consistency

  it('are leased where nothing else is written, since one item takes only so many writes', () => {
    expect(consistencyOf({})).toBe('leased')
    expect(consistencyOf({ by: 'api' })).toBe('leased')
    expect(valid(routeOf({ by: 'global', policies: [policy()] })).policies[0]!.consistency).toBe('leased')
  })

  it.each(['strict', 'eventual'])('are %s where that is written', (consistency) => {
    expect(consistencyOf({ consistency })).toBe(consistency)
  })

  it('are strict where each unit has to be charged by itself', () => {
    expect(consistencyOf({ algorithm: 'leaky-bucket', mode: 'queue' })).toBe('strict')
  })

  it('are strict where they are counted for each caller', () => {
    expect(consistencyOf({ by: 'ip' })).toBe('strict')
    expect(consistencyOf({ by: ['api', 'client'] })).toBe('strict')
    expect(valid(tierOf({ policies: [policy()] })).policies[0]!.consistency).toBe('strict')
  })
})

describe('policies of some tiers', () => {
  const two = (some: unknown, others: unknown) =>
    globalOf({ policies: [policy({ tiers: some }), policy({ tiers: others })] })

  it('may have one name where no tier has both', () => {
    expect(valid(two(['free', 'basic'], ['pro'])).map(({ tiers }) => tiers)).toEqual([['free', 'basic'], ['pro']])
  })

  it.each([
    [['free', 'pro'], ['pro']],
    [['pro'], ['free', 'pro']],
    [undefined, ['pro']],
    [['pro'], undefined],
  ])('may not where a tier has both: %j and %j', (some, others) => {
    expect(mistakesOf(two(some, others))).toHaveLength(1)
  })

  it('hold for all tiers where they name none', () => {
    expect(valid(globalOf({ policies: [policy()] }))[0]).not.toHaveProperty('tiers')
  })
})

describe('the global policies', () => {
  it.each([
    [null, ['invalid_value', 'global must be an object, got null (f, global)']],
    [{ policies: [], cost: 1 }, ['unknown_field', 'unknown field "cost", known are by, policies (f, global)']],
    [
      { policies: [policy(), policy({ name: 'b', limit: 0 })] },
      ['invalid_value', 'limit must be a positive integer, got 0 (f, global, policy "b")'],
    ],
  ])('are none at all where one of them is wrong: %j', (input, mistake) => {
    expect(mistakesOf(globalOf(input))).toEqual([mistake])
  })
})

test.each([
  ['invalid_name', tierOf({ policies: [] }, 'a b')],
  ['field_not_applicable', tierOf({ apis: ['a1'], policies: [] }, 'anonymous')],
  ['invalid_route', routeOf({}, 'FETCH /a')],
])('%s is the code of a mistake that programs know it by', (code, parse: Parse<unknown>) => {
  expect(mistakesOf(parse).map(([found]) => found)).toEqual([code])
})

describe('an item for some APIs only', () => {
  const scoped = { apis: ['a1'], policies: [policy()] }

  it('counts apart from the items for other APIs, in the same subject', () => {
    const items = [tierOf({ policies: [policy()] }), tierOf(scoped, 'free @x'), tierOf(scoped, 'free @y')]
    const places = items.map((item) => placeOf(valid(item).policies[0]!, 'GET /a'))
    expect(places[0]).toBe('GET /a')
    expect(new Set(places).size).toBe(3)
    expect(new Set(items.map((item) => placeOf(valid(item).policies[0]!, ''))).size).toBe(3)
  })

  it('counts apart on each of its routes', () => {
    const { policies } = valid(routeOf(scoped, 'GET /a @x'))
    expect(placeOf(policies[0]!, 'GET /a')).not.toBe(placeOf(policies[0]!, 'GET /b'))
  })
})

describe('an invalid item that has no valid version', () => {
  it('leaves anonymous callers without a tier of their own, and other callers in the default tier', () => {
    expect(unknownTier('anonymous')).toEqual({ name: 'anonymous', credentials: 'unknown', weight: 1, policies: [] })
    expect(unknownTier('free')).toBeUndefined()
  })

  it('leaves its route, where nobody knows whether credentials are required', () => {
    expect(unknownRoute('GET /a')).toMatchObject({
      pattern: { text: 'GET /a' },
      cost: 1,
      credentials: 'unknown',
      policies: [],
    })
    expect(unknownRoute('GET /a @x', ['a1'])?.scope).toEqual({ variant: '@x', apis: [{ api: 'a1' }] })
    expect(unknownRoute('FETCH /a')).toBeUndefined()
  })
})

import { Plans } from '../lambda/charge-plans'
import { AccessList } from '../lambda/config-table/items/access-list'
import { parseTiersFile } from '../lambda/config-table/items/parse-tiers-file'
import { NO_FACTS, unitsFor } from '../lambda/cost'
import { rulesFor, rulesOf } from '../lambda/rules'
import { policy } from './policies/issues'

const setOf = (routes: Record<string, unknown>, more: object = {}) =>
  parseTiersFile({ tiers: { anonymous: { policies: [] } }, routes, ...more }, 'tiers.yaml')
const textsOf = (routes: Record<string, unknown>, method: string, path: string) =>
  rulesOf(setOf(routes), method, path).routes.map(({ pattern }) => pattern.text)

describe('of the rules of all readings, the strictest hold', () => {
  const set = setOf({
    'GET /search': { cost: 5 },
    'ANY /public/*': { cost: 0 },
    'ANY /admin/*': { credentials: 'required' },
    'GET /Export': { cost: 9 },
  })
  const told = (path: string, method = 'GET') => {
    const { costs, credentials } = rulesOf(set, method, path)
    return `${unitsFor(costs, NO_FACTS).cost} ${credentials}`
  }

  it.each([
    ['/search', '5 optional'],
    ['/public/x', '0 optional'],
    ['/public/%2e%2e/search', '5 optional'],
    ['/public/%2e%2e/admin/x', '1 required'],
    ['/public/..;/search', '5 optional'],
    ['/public/../public/x', '0 optional'], // in every reading it is public
    ['/x/../public/x', '1 optional'], // a backend that leaves dots alone serves something else by it
    ['/public/%78', '0 optional'],
    ['/public//x', '0 optional'],
    ['/PUBLIC/x', '1 optional'],
    ['/Admin/x', '1 required'],
    ['/export', '9 optional'],
    ['/EXPORT', '9 optional'],
    ['/elsewhere', '1 optional'],
  ])('GET %s: %s', (path, expected) => {
    expect(told(path)).toBe(expected)
  })

  it('and a path that can be read in too many ways has none', () => {
    const path = '//a/..;x\\%2e%252e%2f;y//b/../c?z;#w;/%20/\\%255c..//;'
    expect(rulesFor(set, { method: 'GET', path, resource: '$default', pathParameters: new Map() })).toBeUndefined()
  })

  it('but of an alias that has no rules, such as the base path in front, nothing is made', () => {
    const target = {
      method: 'GET',
      path: '/v1/public/x',
      resource: '/{proxy+}',
      pathParameters: new Map([['proxy', 'public/x']]),
    }
    expect(rulesFor(set, target)).toMatchObject({ costs: [{ cost: 0 }] })
    const both = setOf({ 'ANY /public/*': { cost: 0 }, 'ANY /v1/*': { cost: 3 } })
    expect(rulesFor(both, target)).toMatchObject({
      costs: [{ cost: 0 }, { cost: 3 }],
      scopes: ['ANY /public/*', 'ANY /v1/*'],
    })
  })

  it('with the base paths of the settings taken off as another reading', () => {
    const routes = { 'ANY /admin/*': { cost: 7 }, 'GET /health': { cost: 0 }, 'GET /v1/health': { cost: 0 } }
    const behind = setOf(routes, { settings: { basePaths: ['/v1', '/v2'] } })
    const costsOf = (path: string) => rulesOf(behind, 'GET', path).costs.map(({ cost }) => cost)
    expect(costsOf('/v1/admin/x')).toContain(7)
    expect(costsOf('/v1/health')).toEqual([0, 0])
    expect(costsOf('/v2/health')).toContain(1) // a client may have made it up
  })
})

describe('HEAD', () => {
  it('is held to the rules of GET, unless it has its own for that path', () => {
    const routes = {
      'GET /a': {},
      'ANY /a': {},
      'HEAD /b': {},
      'GET /b': {},
      'ANY /c': {},
      'POST /d': {},
      'HEAD /*': {},
      'GET /e': {},
    }
    expect(textsOf(routes, 'HEAD', '/a')).toEqual(['GET /a'])
    expect(textsOf(routes, 'HEAD', '/b')).toEqual(['HEAD /b'])
    expect(textsOf(routes, 'HEAD', '/c')).toEqual(['ANY /c'])
    expect(textsOf(routes, 'HEAD', '/d')).toEqual(['HEAD /*'])
    expect(textsOf(routes, 'HEAD', '/e')).toEqual(['GET /e'])
    expect(textsOf(routes, 'GET', '/b')).toEqual(['GET /b'])
  })
})

describe('a WebSocket that connects', () => {
  const rules = (routes: Record<string, unknown>) =>
    rulesFor(setOf(routes), { method: 'GET', path: '$connect', resource: '$connect', pathParameters: new Map() })!

  it('is held to the rules of $connect only', () => {
    const routes = { 'GET /': { cost: 0 }, 'ANY /*': { cost: 0 }, 'GET /$connect': { cost: 0 } }
    expect(rules(routes)).toMatchObject({ routes: [], costs: [{ cost: 1 }] })
    expect(rules({ ...routes, $connect: { cost: 3 } })).toMatchObject({ costs: [{ cost: 3 }], scopes: ['$connect'] })
  })

  it('has rules that hold for no path', () => {
    const routes = { 'GET $connect': { cost: 9 } }
    for (const path of ['/', '/$connect', '/%24connect', '/x']) expect(textsOf(routes, 'GET', path)).toEqual([])
  })
})

describe('a request that can be taken for several routes', () => {
  const plans = new Plans(() => {})
  const planOf = (routes: Record<string, unknown>, path: string, tier: unknown[] = []) => {
    const policies = setOf(routes, { tiers: { anonymous: { policies: tier } } })
    return plans.planFor(
      { policies, access: new AccessList([]) },
      policies.tiers.get('anonymous'),
      rulesOf(policies, 'GET', path),
    )
  }
  const codesOf = (...plan: Parameters<typeof planOf>) =>
    planOf(...plan).groups.flatMap(({ who, route, policies }) =>
      policies.map(({ prefix: code }) => `${who.join() || route} ${code}`),
    )

  it('is held to the policies of all of them, each where it counts otherwise: no spelling has a fresh bucket', () => {
    const own = (name: string) => ({ policies: [policy({ name }), policy({ name: `${name}-all`, by: 'route' })] })
    const routes = { 'GET /a': own('a'), 'GET /b': own('b') }
    const tier = [policy({ name: 'each', by: ['client', 'route'] }), policy({ name: 'route', by: 'route' })]
    const several = codesOf(routes, '/a/../b', tier)
    for (const path of ['/b', '/elsewhere'])
      expect(several).toEqual(expect.arrayContaining(codesOf(routes, path, tier)))
    expect(codesOf(routes, '/a;/../b', tier)).toEqual(
      expect.arrayContaining([...codesOf(routes, '/a', tier), ...several]),
    )
    expect(codesOf(routes, '/a;/../b', tier)).toEqual(codesOf(routes, '/a;x/../b', tier))
  })

  it('is held to the stricter of two policies that count in one place', () => {
    const shared = (limit: number, more: object = {}) => ({ policies: [policy({ limit, by: 'client', ...more })] })
    const limits = (one: object, other: object) =>
      planOf({ 'GET /a': one, 'GET /a/{x}': other }, '/a/').groups.flatMap(({ policies }) =>
        policies.map(({ limit }) => limit),
      )
    expect(limits(shared(100), shared(10))).toEqual([10])
    expect(limits(shared(10), shared(100))).toEqual([10])
    expect(limits(shared(10, { action: 'observe' }), shared(100))).toEqual([100])
    expect(limits(shared(10, { name: 'other' }), shared(100))).toEqual([100, 10])
  })

  it('is not decided when all their policies are more than one request may have, and each by itself is', () => {
    const many = (name: string) => ({ policies: Array.from({ length: 20 }, (_, i) => policy({ name: `${name}${i}` })) })
    const routes = { 'GET /a': many('a'), 'GET /a/{x}': many('x') }
    expect(planOf(routes, '/a').isTooMuch).toBe(false)
    expect(planOf(routes, '/a/1').isTooMuch).toBe(false)
    expect(planOf(routes, '/a/').isTooMuch).toBe(true)
  })
})

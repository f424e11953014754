import fc from 'fast-check'
import { COST_FIELD } from '../../lambda/config-table/items/cost'
import { BY_FIELD } from '../../lambda/config-table/items/counted-by'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import type { PolicySet } from '../../lambda/config-table/items/policy-set'
import { DEFAULT_SETTINGS } from '../../lambda/config-table/items/settings'
import { parseRoute, parseTier } from '../../lambda/config-table/items/tiers'
import { rulesOf } from '../../lambda/rules'
import { Mistake } from '../../limiter/errors'
import { issuesOf, policy, RUBBISH } from '../policies/issues'
import { runs } from '../runs'

const anonymous = { by: 'ip', policies: [policy()] }
const COST = `cost must be ${COST_FIELD.wanted}`
const BY = `by must be ${BY_FIELD.wanted}`

/** The set of a file whose tier `anonymous` is right. */
const setOf = ({
  tiers = {},
  routes = {},
}: {
  tiers?: Record<string, unknown>
  routes?: Record<string, unknown>
}): PolicySet => parseTiersFile({ tiers: { anonymous, ...tiers }, routes }, 'tiers.yaml')

const issuesInTier = (tier: unknown, name = 'free') => issuesOf(() => setOf({ tiers: { [name]: tier } }))
const issuesInRoute = (route: unknown, text = 'GET /search') => issuesOf(() => setOf({ routes: { [text]: route } }))

describe('mistakes in a file', () => {
  it.each(RUBBISH)('%p is reported, as the file, its tiers, its routes, a tier and a route', (rubbish) => {
    const isObject = typeof rubbish === 'object' && rubbish !== null && !Array.isArray(rubbish)
    expect(issuesOf(() => parseTiersFile(rubbish, 'tiers.yaml')).length).toBeGreaterThan(0)
    expect(issuesOf(() => parseTiersFile({ tiers: rubbish }, 'tiers.yaml')).length).toBeGreaterThan(0)
    expect(issuesInTier(rubbish).length).toBeGreaterThan(0)
    if (isObject && Object.keys(rubbish).length === 0) {
      expect(setOf({ routes: { 'GET /a': rubbish } }).routes).toHaveLength(1) // a route with nothing to say
      return
    }
    expect(
      issuesOf(() => parseTiersFile({ tiers: { anonymous }, routes: rubbish }, 'tiers.yaml')).length,
    ).toBeGreaterThan(0)
    expect(issuesInRoute(rubbish).length).toBeGreaterThan(0)
  })

  it('of the file itself', () => {
    expect(issuesOf(() => parseTiersFile(null, 'my.yaml'))).toEqual(['the file must be an object, got null (my.yaml)'])
    expect(issuesOf(() => parseTiersFile({}, 'my.yaml'))).toEqual([
      'tiers is missing, it must be tiers by name (my.yaml)',
    ])
    expect(issuesOf(() => parseTiersFile({ tiers: [anonymous] }, 'my.yaml'))).toEqual([
      'tiers must be tiers by name, got a list (my.yaml)',
    ])
    expect(issuesOf(() => parseTiersFile({ tiers: { anonymous }, routes: 'x' }, 'my.yaml'))).toEqual([
      'routes must be routes by method and path, got "x" (my.yaml)',
    ])
    expect(issuesOf(() => parseTiersFile({ tiers: { anonymous }, route: {} }, 'my.yaml'))).toEqual([
      'unknown field "route", did you mean "routes"? (my.yaml)',
    ])
  })

  it('of a tier, with the policy and the field', () => {
    expect(issuesInTier({ policies: [policy({ limit: 0 })] })).toEqual([
      'limit must be a positive integer, got 0 (tiers.yaml, tier "free", policy "per-minute")',
    ])
    expect(issuesInTier(null)).toEqual(['a tier must be an object, got null (tiers.yaml, tier "free")'])
    expect(issuesInTier([policy()])).toEqual(['a tier must be an object, got a list (tiers.yaml, tier "free")'])
    expect(issuesInTier({})).toEqual(['policies is missing, it must be a list of policies (tiers.yaml, tier "free")'])
    expect(issuesInTier({ policies: null })).toEqual(['policies must be a list, got null (tiers.yaml, tier "free")'])
    expect(issuesInTier({ policies: [], cost: 5 })).toEqual([
      'unknown field "cost", known are apis, by, credentials, failureMode, weight, policies (tiers.yaml, tier "free")',
    ])
    expect(issuesInTier({ policys: [] })[0]).toBe(
      'unknown field "policys", did you mean "policies"? (tiers.yaml, tier "free")',
    )
  })

  it('of a tier’s name', () => {
    for (const name of ['', ' ', 'a b', '-a', '__proto__', 'x'.repeat(65), 'tier#1']) {
      const file = {
        tiers: Object.defineProperty({ anonymous } as Record<string, unknown>, name, {
          value: { policies: [] },
          enumerable: true,
        }),
      }
      expect(issuesOf(() => parseTiersFile(file, 'f'))).toEqual([
        expect.stringMatching(/^a tier's name must be 1 to 64 letters, digits, "\.", "_" or "-", got ".*" \(f\)$/),
      ])
    }
    for (const name of ['constructor', 'toString', '0', 'x'.repeat(64)])
      expect(setOf({ tiers: { [name]: { policies: [] } } }).tiers.has(name)).toBe(true)
  })

  it('of a route', () => {
    expect(issuesInRoute({}, 'FETCH /a')).toEqual([
      'a route method must be one of ANY, DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT, got "FETCH" (tiers.yaml, route "FETCH /a")',
    ])
    expect(issuesInRoute({}, 'search')[0]).toMatch(
      /^a route must be a method and a path such as .* \(tiers\.yaml, route "search"\)$/,
    )
    expect(issuesInRoute(null)).toEqual(['a route must be an object, got null (tiers.yaml, route "GET /search")'])
    expect(issuesInRoute({ cost: -1 })).toEqual([`${COST}, got -1 (tiers.yaml, route "GET /search")`])
    expect(issuesInRoute({ cost: 1.5 })).toEqual([`${COST}, got 1.5 (tiers.yaml, route "GET /search")`])
    expect(issuesInRoute({ cost: '5' })).toEqual([`${COST}, got "5" (tiers.yaml, route "GET /search")`])
    expect(issuesInRoute({ policies: null })).toEqual([
      'policies must be a list, got null (tiers.yaml, route "GET /search")',
    ])
    expect(issuesInRoute({ policies: [policy({ limit: '10' })] })).toEqual([
      'limit must be a positive integer, got "10" (tiers.yaml, route "GET /search", policy "per-minute")',
    ])
  })

  it.each([
    null,
    'routes',
    [],
    'header:',
    'claim:',
    'header:a b',
    'header:ä',
    ['client', 'client'],
    ['header:A', 'header:a'],
    ['global', 'client'],
    ['client', 'ip', 'user', 'route', 'claim:a', 'claim:b'],
    ['client', 'route', 'route'],
    [['client']],
    7,
    {},
  ])('of whom it counts: %j', (by) => {
    expect(issuesInTier({ by, policies: [] })).toEqual([expect.stringContaining(`${BY}, got `)])
    expect(issuesInRoute({ by })).toEqual([expect.stringContaining(`${BY}, got `)])
    expect(issuesInTier({ policies: [policy({ by })] })).toEqual([
      expect.stringContaining('(tiers.yaml, tier "free", policy "per-minute")'),
    ])
  })

  it('of a lock-out that would be one of all callers', () => {
    const login = policy({ blockFor: '15m' })
    const shared = 'blockFor does not go with a policy that callers share'
    for (const by of ['global', 'api', 'stage', ['api', 'stage']]) {
      expect(issuesInTier({ by, policies: [login] })).toEqual([
        `${shared} (tiers.yaml, tier "free", policy "per-minute")`,
      ])
    }
    for (const by of ['route', ['global', 'route']])
      expect(issuesInRoute({ policies: [{ ...login, by }] })).toEqual([
        `${shared} (tiers.yaml, route "GET /search", policy "per-minute")`,
      ])
    for (const by of ['client', 'user', 'ip', 'claim:org', ['ip', 'route'], ['client', 'api']])
      expect(setOf({ tiers: { free: { by, policies: [login] } } }).tiers.size).toBe(2)
    expect(setOf({ routes: { 'POST /login': { policies: [login] } } }).tiers.size).toBe(1)
  })

  it('are all reported at once, wherever they are', () => {
    const file = {
      teirs: {},
      tiers: {
        anonymous: { by: 'ip', policies: [policy({ limit: 0 })] },
        'a b': { by: 'nobody', policies: [policy({ window: 'x' })] },
      },
      routes: { 'GET a': { cost: -1, policies: [policy({ name: '' })] }, 'GET /b': { policies: [null] } },
    }
    expect(issuesOf(() => parseTiersFile(file, 'f'))).toEqual([
      'unknown field "teirs", did you mean "tiers"? (f)',
      'limit must be a positive integer, got 0 (f, tier "anonymous", policy "per-minute")',
      expect.stringMatching(/^a tier's name .* got "a b" \(f\)$/),
      `${BY}, got "nobody" (f, tier "a b")`,
      expect.stringMatching(/^window must be .* got "x" \(f, tier "a b", policy "per-minute"\)$/),
      expect.stringMatching(/^a route must be a method and a path .* \(f, route "GET a"\)$/),
      `${COST}, got -1 (f, route "GET a")`,
      expect.stringMatching(/^name must be .* got "" \(f, route "GET a", policy ""\)$/),
      'a policy must be an object, got null (f, route "GET /b", policy 1)',
    ])
  })

  it('a file without the tier of unknown callers, even beside others', () => {
    const missing = 'tiers must have "anonymous", the tier of callers without a known key (f)'
    expect(issuesOf(() => parseTiersFile({ tiers: {} }, 'f'))).toEqual([missing])
    expect(issuesOf(() => parseTiersFile({ tiers: { free: { policies: [policy({ limit: 0 })] } } }, 'f'))).toEqual([
      expect.stringContaining('limit must be'),
      missing,
    ])
  })
})

describe('mistakes between tiers and routes', () => {
  it('two routes that match the same requests', () => {
    const routes = { 'GET /users/{id}': {}, 'get /users/{name}/': {}, '/users/{id}': {}, 'GET /users/me': {} }
    expect(issuesOf(() => setOf({ routes }))).toEqual([
      'routes "GET /users/{id}" and "GET /users/{name}" match the same requests, keep one (tiers.yaml)',
    ])
  })

  const many = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => policy({ name: `${prefix}${i}` }))

  it('a route and a tier whose policies are too many for one write', () => {
    const tiers = { small: { policies: many('s', 1) }, big: { policies: many('b', 20) } }
    expect(setOf({ tiers, routes: { 'GET /a': { policies: many('r', 10) } } }).routes).toHaveLength(1)
    expect(issuesOf(() => setOf({ tiers, routes: { 'GET /a': { policies: many('r', 11) }, 'GET /b': {} } }))).toEqual([
      'policies must be at most 30 with those of tier "big", got 31 (tiers.yaml, route "GET /a")',
    ])
  })

  it('a route’s policy that would share its count with a tier’s: only one of the two limits would hold', () => {
    const tiers = { free: { policies: [policy()] } }
    const shared = (route: unknown, others = tiers) =>
      issuesOf(() => setOf({ tiers: others, routes: { 'GET /a': route } }))
    const sentence = (tier: string) => [
      `name must differ from that of a policy of tier "${tier}", or both would count as one (tiers.yaml, route "GET /a", policy "per-minute")`,
    ]
    expect(shared({ policies: [policy({ limit: 5, by: 'client' })] })).toEqual(sentence('free'))
    expect(shared({ by: 'client', policies: [policy({ limit: 5 })] })).toEqual(sentence('free'))
    expect(shared({ by: 'ip', policies: [policy({ limit: 5 })] })).toEqual(sentence('anonymous'))
    const perRoute = { free: { by: ['client', 'route'], policies: [policy()] } }
    expect(shared({ policies: [policy({ limit: 5 })] }, perRoute)).toEqual(sentence('free'))
  })

  it('but not one that counts each route apart, another window, or another subject', () => {
    const tiers = { free: { policies: [policy({ name: 'per-second', window: '1s' })] } }
    for (const route of [
      { policies: [policy()] },
      { by: 'client', policies: [policy({ window: '2m' })] },
      { by: 'ip', policies: [policy({ name: 'per-second', window: '1s' })] },
    ]) {
      expect(setOf({ tiers, routes: { 'GET /a': route } }).routes).toHaveLength(1)
    }
  })
})

describe('a valid set', () => {
  it('counts clients by default, and each route by itself', () => {
    const set = setOf({
      tiers: {
        free: { policies: [policy(), policy({ name: 'b', by: ['route', 'ip'] })] },
        ip: { by: ['ip'], policies: [policy(), policy({ name: 'b', by: 'client' })] },
      },
      routes: {
        'GET /a': { policies: [policy(), policy({ name: 'b', by: 'ip' })] },
        'GET /b': { by: 'ip', policies: [policy({ name: 'c' })] },
      },
    })
    const by = (policies: PolicySet['routes'][number]['policies']) => policies.map((one) => one.by)
    expect(by(set.tiers.get('free')!.policies)).toEqual([
      { who: ['client'], perRoute: false },
      { who: ['ip'], perRoute: true },
    ])
    expect(by(set.tiers.get('ip')!.policies)).toEqual([
      { who: ['ip'], perRoute: false },
      { who: ['client'], perRoute: false },
    ])
    expect(by(rulesOf(set, 'GET', '/a').routes[0]!.policies)).toEqual([
      { who: ['client'], perRoute: true },
      { who: ['ip'], perRoute: false },
    ])
    expect(by(rulesOf(set, 'GET', '/b').routes[0]!.policies)).toEqual([{ who: ['ip'], perRoute: false }])
  })

  it('has routes that cost one by default, and nothing where the cost is 0', () => {
    const set = setOf({ routes: { 'GET /a': {}, 'GET /b': { cost: 0 }, 'GET /c': { cost: 7 } } })
    expect(['/a', '/b', '/c'].map((one) => rulesOf(set, 'GET', one).costs.map(({ cost }) => cost))).toEqual([
      [1],
      [0],
      [7],
    ])
  })

  it('finds the most specific route, in whatever order routes are listed', () => {
    const texts = [
      'ANY /*',
      'ANY /users/{id}',
      'GET /users/{id}',
      'GET /users/me',
      'GET /users/*',
      'GET /users/{id}/posts',
    ]
    fc.assert(
      fc.property(fc.shuffledSubarray(texts, { minLength: texts.length }), (shuffled) => {
        const set = setOf({ routes: Object.fromEntries(shuffled.map((text) => [text, {}])) })
        const found = (method: string, one: string) => rulesOf(set, method, one).routes[0]?.pattern.text
        expect(found('GET', '/users/me')).toBe('GET /users/me')
        expect(found('GET', '/users/%6de/')).toBe('GET /users/me')
        expect(found('POST', '/users/me')).toBe('ANY /users/{id}')
        expect(found('GET', '/users/7')).toBe('GET /users/{id}')
        expect(found('GET', '/users/7/posts')).toBe('GET /users/{id}/posts')
        expect(found('GET', '/users/7/likes')).toBe('GET /users/*')
        expect(found('PUT', '/users/7/likes')).toBe('ANY /*')
        expect(found('GET', '/')).toBeUndefined()
      }),
    )
  })

  it('finds a route among thousands in negligible time, however long the path', () => {
    const routes = Array.from({ length: 5000 }, (_, i) => parseRoute(`GET /api/v1/things-${i}/{id}`, {}, [], [])!)
    const set: PolicySet = { settings: DEFAULT_SETTINGS, tiers: new Map(), routes, global: [] }
    expect(rulesOf(set, 'GET', '/api/v1/things-4999/7').routes[0]!.pattern.text).toBe('GET /api/v1/things-4999/{id}')
    const upperCase = jest.spyOn(String.prototype, 'toUpperCase')
    try {
      expect(rulesOf(set, 'GET', `/api/v1${'/x'.repeat(10_000)}`).routes).toEqual([])
      expect(upperCase).not.toHaveBeenCalled()
    } finally {
      upperCase.mockRestore()
    }
  })

  it('may have tiers without policies, and no routes at all', () => {
    expect(parseTiersFile({ tiers: { anonymous: { policies: [] } } }, 'f').routes).toEqual([])
  })
})

describe('whatever is written', () => {
  const anything = fc.oneof(
    fc.anything({ maxDepth: 1, maxKeys: 3 }),
    fc.constantFrom(...RUBBISH),
    fc.constant([policy()]),
    fc.constant('ip'),
    fc.constant(5),
  )
  const object = fc.dictionary(
    fc.oneof(
      fc.constantFrom('tiers', 'routes', 'by', 'policies', 'cost', 'anonymous', 'GET /a', '__proto__', 'constructor'),
      fc.string(),
    ),
    anything,
    { maxKeys: 6 },
  )

  it('a file gives a set or throws a ConfigError', () => {
    const file = fc.record(
      {
        tiers: fc.oneof(fc.dictionary(fc.string(), object), object, anything),
        routes: fc.oneof(fc.dictionary(fc.string(), object), object, anything),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(file, object, anything), (input) => {
        let set: PolicySet | undefined
        const parsing = () => {
          set = parseTiersFile(input, 'f')
        }
        try {
          parsing()
        } catch {
          expect(issuesOf(parsing).filter((issue) => !/\(f[,)]/.test(issue))).toEqual([])
        }
        if (set) expect(set.tiers.has('anonymous')).toBe(true)
      }),
      { numRuns: runs(60, 500) },
    )
  })

  it('a tier with the former name of its failure mode is the same, and with both names it is a mistake', () => {
    const issues: Mistake[] = []
    const tier = parseTier('free', { onStoreError: 'deny', policies: [] }, [], issues)
    expect(tier).toEqual(parseTier('free', { failureMode: 'deny', policies: [] }, [], issues))
    expect(tier?.failureMode).toBe('deny')
    expect(issues).toEqual([])
    expect(parseTier('free', { onStoreError: 'deny', failureMode: 'deny', policies: [] }, [], issues)).toBeUndefined()
    expect(issues.map(({ code }) => code)).toEqual(['unknown_field'])
  })

  it('a tier or a route exists exactly when it is valid', () => {
    fc.assert(
      fc.property(fc.string(), fc.oneof(object, anything), (name, input) => {
        for (const parseOne of [parseTier, parseRoute]) {
          const issues = [new Mistake('invalid_value', 'one from before')]
          expect(parseOne(name, input, [], issues) === undefined).toBe(issues.length > 1)
        }
      }),
      { numRuns: runs(60, 500) },
    )
  })

  it('a megabyte as a name is not repeated', () => {
    const megabyte = 'x'.repeat(1_000_000)
    for (const issues of [
      issuesInTier({}, megabyte),
      issuesInRoute({ by: megabyte }, `${megabyte} /${megabyte}`),
      issuesInTier({ [megabyte]: 1, policies: [] }),
    ]) {
      for (const issue of issues) expect(issue.length).toBeLessThan(400)
    }
  })
})

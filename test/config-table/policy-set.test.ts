import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { checkAnonymous, checkDefaultTier, checkNoneRequired } from '../../lambda/config-table/items/policy-set-checks'
import type { Mistake } from '../../limiter/errors'
import { issuesOf, policy } from '../policies/issues'

const anonymous = { by: 'ip', policies: [policy({ limit: 20 })] }
const setOf = (file: object) => parseTiersFile({ tiers: { anonymous }, ...file }, 'tiers.yaml')
const issuesIn = (file: object) => issuesOf(() => setOf(file))
const many = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => policy({ name: `${prefix}${i}` }))

describe('global policies', () => {
  it('count all callers together by default', () => {
    const { global } = setOf({
      global: { policies: [policy({ name: 'all' }), policy({ name: 'each', by: 'client' })] },
    })
    expect(global.map(({ name, by }) => [name, by])).toEqual([
      ['all', { who: ['global'], perRoute: false }],
      ['each', { who: ['client'], perRoute: false }],
    ])
    expect(setOf({}).global).toEqual([])
  })

  it('are checked like all other policies', () => {
    expect(issuesIn({ global: { policies: [policy({ name: 'all', limit: 0 })], limits: 3 } })).toEqual([
      'unknown field "limits", known are by, policies (tiers.yaml, global)',
      'limit must be a positive integer, got 0 (tiers.yaml, global, policy "all")',
    ])
    expect(issuesIn({ global: [] })).toEqual(['global must be policies of every request, got a list (tiers.yaml)'])
  })

  it('lock nobody out where callers share them', () => {
    const login = policy({ name: 'login', blockFor: '15m' })
    expect(issuesIn({ global: { policies: [login] } })).toEqual([
      'blockFor does not go with a policy that callers share (tiers.yaml, global, policy "login")',
    ])
    expect(setOf({ global: { by: 'client', policies: [login] } }).global).toHaveLength(1)
  })

  it('may not count what a tier or a route counts under the same name', () => {
    const double = (title: string, place: string) => [
      `name must differ from that of a policy of ${title}, or both would count as one (tiers.yaml, ${place}, policy "per-minute")`,
    ]
    expect(issuesIn({ global: { by: 'ip', policies: [policy()] } })).toEqual(double('tier "anonymous"', 'global'))
    expect(issuesIn({ global: { by: 'client', policies: [policy()] } })).toEqual(double('tier "anonymous"', 'global'))
    const routes = { 'GET /a': { by: 'global', policies: [policy()] } }
    expect(issuesIn({ global: { policies: [policy()] }, routes })).toEqual(double('route "GET /a"', 'global'))
    expect(setOf({ global: { policies: [policy()] } }).global).toHaveLength(1)
  })

  it('and a caller without a user or a header may not be counted twice under one name either', () => {
    const settings = { trustedHeaders: ['x-tenant'] }
    const tiers = { anonymous, pro: { policies: [policy({ name: 'own' })] } }
    for (const by of ['user', 'client']) {
      expect(issuesIn({ tiers, global: { by, policies: [policy({ name: 'own' })] } })).toHaveLength(1)
    }
    expect(issuesIn({ settings, global: { by: 'header:X-Tenant', policies: [policy()] } })).toHaveLength(1)
  })

  it('count towards what one write can hold', () => {
    expect(setOf({ global: { policies: many('g', 29) } }).global).toHaveLength(29)
    expect(issuesIn({ global: { policies: many('g', 30) } })).toEqual([
      'policies must be at most 30 with those of tier "anonymous", got 31 (tiers.yaml, global)',
    ])
    const locking = many('g', 15).map((one) => ({ ...one, blockFor: '1m', by: 'client' }))
    expect(issuesIn({ global: { policies: locking } })).toEqual([
      'policies must be at most 30 with those of tier "anonymous", got 31 (tiers.yaml, global)',
    ])
    expect(
      issuesIn({ global: { policies: many('g', 20) }, routes: { 'GET /a': { policies: many('r', 10) } } }),
    ).toEqual([
      'policies must be at most 30 with those of tier "anonymous" and global, got 31 (tiers.yaml, route "GET /a")',
    ])
  })
})

describe('a route’s policies for some tiers', () => {
  const tiers = {
    anonymous,
    free: { policies: [policy({ name: 'own' })] },
    pro: { policies: [policy({ name: 'own' })] },
  }
  const search = (names: unknown, more: object = {}) => policy({ name: 'search', tiers: names, ...more })
  const route = (...policies: object[]) => ({ tiers, routes: { 'GET /search': { policies } } })

  it('may have one name where no caller is held to both, so that an upgrade forgets nothing', () => {
    const set = setOf(route(search(['free', 'anonymous'], { limit: 5 }), search(['pro'], { limit: 50 })))
    expect(set.routes[0]!.policies.map(({ name, limit, tiers: of }) => [name, limit, of])).toEqual([
      ['search', 5, ['free', 'anonymous']],
      ['search', 50, ['pro']],
    ])
  })

  it('may not have one name where a caller is held to both', () => {
    const twice = [
      'name must be unique, and policy 1 has this one already (tiers.yaml, route "GET /search", policy "search")',
    ]
    expect(issuesIn(route(search(['free', 'pro']), search(['pro'])))).toEqual(twice)
    expect(issuesIn(route(search(undefined), search(['pro'])))).toEqual(twice)
  })

  it('must name tiers that exist', () => {
    expect(issuesIn(route(search(['fre'])))).toEqual([
      'tiers must be names of tiers, got "fre", but there is no such tier (tiers.yaml, route "GET /search", policy "search")',
    ])
    expect(issuesIn(route(search([])))).toEqual([
      'tiers must be a list of names of tiers, got a list (tiers.yaml, route "GET /search", policy "search")',
    ])
    expect(issuesIn({ tiers: { anonymous: { policies: [policy({ tiers: ['anonymous'] })] } } })[0]).toMatch(
      /^unknown field "tiers"/,
    )
  })
})

describe('credentials', () => {
  it('are optional unless a tier or a route requires them', () => {
    const { tiers, routes } = setOf({
      tiers: { anonymous: { ...anonymous, credentials: 'required' }, free: { policies: [] } },
      routes: { 'GET /a': { credentials: 'required' }, 'GET /b': { credentials: 'optional' }, 'GET /c': {} },
    })
    expect([...tiers.values()].map(({ name, credentials }) => [name, credentials])).toEqual([
      ['anonymous', 'required'],
      ['free', 'optional'],
    ])
    expect(routes.map(({ credentials }) => credentials)).toEqual(['required', 'optional', 'optional'])
  })

  it('may be required nowhere, for all APIs or for some, where nobody has to show any', () => {
    const issuesWith = (credentials: string) => {
      const issues: Mistake[] = []
      const set = setOf({
        tiers: { anonymous: { ...anonymous, credentials }, 'free @x': { apis: ['x'], credentials, policies: [] } },
        routes: { 'GET /a': { credentials }, 'GET /a @x': { apis: ['x'], credentials } },
      })
      checkNoneRequired(set, ['here'], issues)
      expect(issues.every(({ code }) => code === 'credentials_disabled')).toBe(true)
      return issues.map(String)
    }
    const wrong = 'credentials must not be "required" where the deployment has authentication "none"'
    expect(issuesWith('required')).toEqual([
      `${wrong} (here, tier "anonymous")`,
      `${wrong} (here, tier "free @x")`,
      `${wrong} (here, route "GET /a")`,
      `${wrong} (here, route "GET /a @x")`,
    ])
    expect(issuesWith('optional')).toEqual([])
  })

  it('are refused with any other value', () => {
    expect(issuesIn({ routes: { 'GET /a': { credentials: true } } })).toEqual([
      'credentials must be "required" or "optional", got true (tiers.yaml, route "GET /a")',
    ])
  })
})

describe('settings', () => {
  it('have defaults', () => {
    expect(setOf({}).settings).toEqual({
      identity: [
        { source: 'api-key', header: 'x-api-key' },
        { source: 'api-gateway-key' },
        { source: 'ip', trustedHops: 0, viewerAddress: false },
      ],
      trustedHeaders: [],
      localShare: 0.2,
      autoLease: true,
      failedCredentials: 30,
      mode: 'enforce',
      nearing: 80,
      preflight: expect.objectContaining({ name: 'preflight', limit: 600, windowMs: 60_000 }),
      basePaths: [],
    })
    expect(setOf({ settings: {} }).settings).toEqual(setOf({}).settings)
  })

  it('limit preflights by a policy of any kind, which has no name', () => {
    const preflight = { limit: 50, window: '10s', algorithm: 'token-bucket', burst: 100 }
    expect(setOf({ settings: { preflight } }).settings.preflight).toMatchObject({
      name: 'preflight',
      limit: 50,
      windowMs: 10_000,
    })
    const place = '(tiers.yaml, settings, policy "preflight")'
    expect(issuesIn({ settings: { preflight: { ...preflight, name: 'x' } } })).toEqual([
      'preflight has no name of its own (tiers.yaml, settings)',
    ])
    const running = { algorithm: 'concurrency', limit: 5, timeout: '1m' }
    expect(issuesIn({ settings: { preflight: running } })).toEqual([
      'preflight does not go with algorithm "concurrency": no backend ends it (tiers.yaml, settings)',
    ])
    expect(issuesIn({ settings: { preflight: { limit: 0, window: '1m' } } })).toEqual([
      `limit must be a positive integer, got 0 ${place}`,
    ])
    expect(issuesIn({ settings: { preflight: 600 } })).toEqual([
      'a policy must be an object, got 600 (tiers.yaml, settings, policy 1)',
    ])
  })

  it('keep base paths in one spelling', () => {
    expect(setOf({ settings: { basePaths: ['v1', '/v1/', '/shop/api'] } }).settings.basePaths).toEqual([
      '/v1',
      '/shop/api',
    ])
    for (const wrong of ['', '/', 'a//b', '/a?b', '/a b', '/%61']) {
      expect(issuesIn({ settings: { basePaths: [wrong] } })).toEqual([
        expect.stringMatching(/^basePaths must be a list of at most 16/),
      ])
    }
  })

  it('have at most 16 base paths and 32 trusted headers', () => {
    const basePaths = Array.from({ length: 17 }, (_, i) => `/v${i}`)
    const trustedHeaders = Array.from({ length: 33 }, (_, i) => `x-${i}`)
    const most = { basePaths: basePaths.slice(1), trustedHeaders: trustedHeaders.slice(1) }
    expect(setOf({ settings: most }).settings).toMatchObject(most)
    expect([...issuesIn({ settings: { basePaths, trustedHeaders } })].sort()).toEqual([
      expect.stringMatching(/^basePaths must be a list of at most 16 base paths/),
      expect.stringMatching(/^trustedHeaders must be a list of at most 32 names of headers/),
    ])
  })

  it('must name a default tier that exists', () => {
    expect(setOf({ settings: { defaultTier: 'anonymous' } }).settings.defaultTier).toBe('anonymous')
    expect(issuesIn({ settings: { defaultTier: 'free' } })).toEqual([
      'defaultTier must be the name of a tier, got "free", but there is no such tier (tiers.yaml, settings)',
    ])
  })

  it('must declare a header trusted before a policy may count by it', () => {
    const tiers = { anonymous, pro: { policies: [policy({ name: 'tenant', by: ['client', 'header:X-Tenant'] })] } }
    expect(setOf({ tiers, settings: { trustedHeaders: ['X-TENANT'] } }).settings.trustedHeaders).toEqual(['x-tenant'])
    expect(issuesIn({ tiers })).toEqual([
      'by counts by the header "x-tenant": settings must name "x-tenant" among its trustedHeaders, to say that callers cannot set it ' +
        '(tiers.yaml, tier "pro", policy "tenant")',
    ])
  })

  it('are checked field by field', () => {
    expect(issuesIn({ settings: { trustedHeaders: ['a b'], identiy: [], defaultTier: '' } })).toEqual([
      'unknown field "identiy", did you mean "identity"? (tiers.yaml, settings)',
      'defaultTier must be the name of a tier, got "" (tiers.yaml, settings)',
      'trustedHeaders must be a list of at most 32 names of headers, got a list (tiers.yaml, settings)',
    ])
  })
})

test('mistakes in what tiers there are have codes', () => {
  const issues: Mistake[] = []
  checkAnonymous(['free'], [], issues)
  checkDefaultTier({ ...setOf({}).settings, defaultTier: 'pro' }, ['free'], [], issues)
  expect(issues.map(({ code }) => code)).toEqual(['missing_anonymous_tier', 'unknown_tier'])
})

test('accept the fields that an export adds', () =>
  expect(setOf({ exported: { 'tier#anonymous': 'abc' } }).tiers.size).toBe(1))

import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { checkAttributePrefixes, checkItemSizes, scopeIn, tooLargeWith } from '../../lambda/config-table/items/storage'
import { parseRoute } from '../../lambda/config-table/items/tiers'
import { ConfigError, createLimiter, MemoryStore, type PolicyInput } from '../../limiter'
import { Mistake } from '../../limiter/errors'
import { prefixOf } from '../../limiter/stores/attribute-prefix'
import { issuesOf, parsed, policy } from '../policies/issues'

const log = (name: string, limit: number, more: object = {}): PolicyInput => ({
  name,
  algorithm: 'sliding-log',
  limit,
  window: '1h',
  ...more,
})
const anonymous = { by: 'ip', policies: [policy()] }
const issuesIn = (file: object) => issuesIfAny(() => parseTiersFile({ tiers: { anonymous }, ...file }, 'tiers.yaml'))
const limiterIssues = (policies: PolicyInput[]) =>
  issuesIfAny(() => createLimiter({ store: new MemoryStore(), policies }))
const logs = (count: number, limit: number, more: object = {}) =>
  Array.from({ length: count }, (_, i) => log(`log-${i}`, limit, more))

/** What a call reports; none where it does not throw. */
function issuesIfAny(call: () => unknown): readonly string[] {
  try {
    call()
    return []
  } catch {
    return issuesOf(call)
  }
}

describe('what one subject can store', () => {
  it('is bounded by the size of an item, over all policies of a limiter', () => {
    expect(limiterIssues(logs(5, 10_000))).toEqual([
      'one subject could store 440 KB, and an item of DynamoDB holds 400 KB: the largest of its policies are ' +
        '"log-0" 88 KB, "log-1" 88 KB, "log-2" 88 KB, "log-3" 88 KB, "log-4" 88 KB',
    ])
    createLimiter({ store: new MemoryStore(), policies: logs(4, 10_000) })
    createLimiter({ store: new MemoryStore(), policies: logs(30, 1400) })
  })

  it('includes the overrun of a limit', () => {
    expect(limiterIssues(logs(3, 8000, { overrun: '25%' }))).toEqual([])
    expect(limiterIssues(logs(30, 1000, { overrun: '60%' }))[0]).toMatch(/^one subject could store 424 KB/)
  })

  it('allows thirty policies of any other algorithm, with state of the largest size', () => {
    const thirty = (more: object) =>
      Array.from({ length: 30 }, (_, i) => policy({ name: `p${i}`, limit: 1000, ...more }) as never)
    for (const more of [
      { algorithm: 'sliding-buckets', buckets: 120 },
      { algorithm: 'fixed-window', overage: 'allow' },
      { algorithm: 'sliding-window', overrun: '10%' },
      { algorithm: 'token-bucket', refill: 'interval' },
    ])
      createLimiter({ store: new MemoryStore(), policies: thirty(more) })
  })

  it('is bounded over the global policies, the route’s and the tier’s that count it', () => {
    const file = (tier: number, route: number, global: number) => ({
      tiers: { anonymous, pro: { policies: logs(tier, 10_000) } },
      routes: {
        'GET /a': { by: 'client', policies: Array.from({ length: route }, (_, i) => log(`route-${i}`, 10_000)) },
      },
      global: { by: 'client', policies: Array.from({ length: global }, (_, i) => log(`global-${i}`, 10_000)) },
    })
    expect(issuesIn(file(2, 1, 1))).toEqual([])
    expect(issuesIn(file(2, 2, 1))[0]).toMatch(/^a subject by client could store 440 KB.*\(tiers.yaml\)$/)
  })

  it('is bounded over all routes that are counted apart within it', () => {
    const routes = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`GET /r${i}`, {}]))
    const tiers = { anonymous, pro: { policies: [log('log', 10_000, { by: ['client', 'route'] })] } }
    expect(issuesIn({ tiers, routes: routes(3) })).toEqual([])
    expect(issuesIn({ tiers, routes: routes(4) })).toEqual([
      'a subject by client could store 440 KB, and an item of DynamoDB holds 400 KB: the largest of its policies are "log" 440 KB (tiers.yaml)',
    ])
  })

  it('adds up the tiers by which one address is counted, and not those of which a client has one', () => {
    const tiers = (by: string) => ({
      anonymous,
      free: { by, policies: [log('free', 10_000), log('more', 10_000)] },
      pro: { by, policies: [log('pro', 10_000), log('most', 10_000), log('last', 10_000)] },
    })
    expect(issuesIn({ tiers: tiers('client') })).toEqual([])
    expect(issuesIn({ tiers: tiers('ip') })[0]).toMatch(/^a subject by ip could store 442 KB/)
  })

  it('counts a policy of several routes once, and only for the tiers that it holds for', () => {
    const routes = (policies: object[]) =>
      Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [`GET /${name}`, { by: 'client', policies }]))
    const tiers = { anonymous, free: { policies: [] }, pro: { policies: [] } }
    expect(issuesIn({ tiers, routes: routes([log('same', 10_000)]) })).toEqual([])
    expect(
      issuesIn({
        tiers,
        routes: routes([...logs(3, 10_000, { tiers: ['free'] }), log('for-pro', 10_000, { tiers: ['pro'] })]),
      }),
    ).toEqual([])
  })

  it('includes what anonymous callers are counted by, where a client has no other name than its address', () => {
    const tiers = { anonymous: { by: 'ip', policies: [log('x', 10_000), log('y', 10_000)] } }
    const byClient = { by: 'client', policies: logs(3, 10_000) }
    const wrong = [expect.stringMatching(/^a subject by ip could store 440 KB/)]
    expect(issuesIn({ tiers, global: byClient })).toEqual(wrong)
    expect(issuesIn({ tiers, routes: { 'GET /a': byClient } })).toEqual(wrong)
  })

  it('has a code of its own where it is too much', () => {
    const issues: Mistake[] = []
    const route = parseRoute('GET /a', { by: 'ip', policies: logs(5, 10_000) }, [], [])!
    checkItemSizes({ tiers: [], routes: [route], global: [] }, [], issues)
    expect(issues.map(({ code }) => code)).toEqual(['state_too_large'])
  })
})

describe('what one subject can store where tiers are for some APIs only', () => {
  const tierOf = (name: string, count: number, more: object = {}) => ({
    policies: Array.from({ length: count }, (_, i) => log(`${name}-${i}`, 10_000)),
    ...more,
  })
  const beta = tierOf('beta', 3, { apis: ['x'] })

  it('includes the default tier, in which callers of such a tier are at all other APIs', () => {
    const tiers = { anonymous, beta, free: tierOf('free', 2) }
    expect(issuesIn({ tiers })).toEqual([])
    expect(issuesIn({ tiers, settings: { defaultTier: 'free' } })).toEqual([
      expect.stringMatching(/^a subject by client could store 440 KB/),
    ])
    expect(issuesIn({ tiers: { ...tiers, free: tierOf('free', 1) }, settings: { defaultTier: 'free' } })).toEqual([])
  })

  it('does not include the default tier where the tier is at all APIs, too', () => {
    const tiers = { anonymous, beta: { policies: [] }, 'beta @x': beta, free: tierOf('free', 2) }
    expect(issuesIn({ tiers, settings: { defaultTier: 'free' } })).toEqual([])
  })

  it('adds up all tiers of one name', () => {
    expect(issuesIn({ tiers: { anonymous, beta: tierOf('all', 2), 'beta @x': beta } })).toEqual([
      expect.stringMatching(/^a subject by client could store 440 KB/),
    ])
  })
})

describe('a message about what is stored', () => {
  it('is given once, whatever the number of subjects that it holds for', () => {
    const global = { by: 'client', policies: logs(5, 10_000) }
    expect(issuesIn({ tiers: { anonymous: { policies: [] } }, global })).toHaveLength(1)
  })

  it('speaks of a route where all its callers are counted together', () => {
    expect(issuesIn({ routes: { 'GET /a': { by: 'route', policies: logs(5, 10_000) } } })[0]).toMatch(
      /^a route could store 440 KB/,
    )
  })

  it.each([
    ['header:x-client', 1],
    ['header:client', 1],
    ['client', 0],
    ['user', 0],
    [['client', 'ip'], 0],
    [['ip', 'user'], 0],
    [['user', 'header:x-client'], 0],
  ])('adds up the tiers of subjects by %j only where they may have several: %d', (by, count) => {
    const tiers = {
      anonymous: { policies: [] },
      free: { by, policies: logs(2, 10_000) },
      pro: { by, policies: [log('x', 10_000), log('y', 10_000), log('z', 10_000)] },
    }
    expect(issuesIn({ tiers, settings: { trustedHeaders: ['x-client', 'client'] } })).toHaveLength(count)
  })
})

describe('the overrides of one client', () => {
  const five = (name: string) => Array.from({ length: 5 }, (_, i) => log(`${name}-${i}`, 1000))
  const { tiers, routes, global } = parseTiersFile(
    {
      tiers: { anonymous, pro: { policies: five('tier') } },
      routes: { 'GET /a': { by: 'client', policies: five('route') } },
      global: { by: 'client', policies: five('global') },
    },
    'tiers.yaml',
  )
  /** With this limit for policies of these names. */
  const wrongWith = (limit: number, names: RegExp) =>
    tooLargeWith({ tiers: [...tiers.values()], routes, global }, (one) =>
      names.test(one.name) ? parsed({ ...log(one.name, limit) }) : one,
    )

  it('may fill an item', () => {
    expect(wrongWith(1000, /./)).toBeUndefined()
    expect(wrongWith(10_000, /tier-[01]|route-0/)).toBeUndefined()
  })

  it.each(['tier', 'route', 'global'])('do not fit where they make the policies of a %s too large', (name) => {
    expect(wrongWith(10_000, new RegExp(name))).toMatch(/^could store [45]\d\d KB, and an item of DynamoDB holds/)
  })

  it('are added up over the tier, the route and the global policies', () => {
    expect(wrongWith(10_000, /-0|tier-1/)).toMatch(/^could store 4\d\d KB.* "(tier|route|global)-0" 88 KB/)
  })
})

describe('attribute prefixes', () => {
  const form = 'sliding-window 60000'
  /** Names of two policies that happen to have one code. */
  const [one, other] = collision((name) => prefixOf(name, form))
  const shared = `policies "${one}" and "${other}" happen to share an attribute prefix, rename one of them`

  it('shared by two policies of one subject are reported', () => {
    const both = [one, other].map((name) => policy({ name, limit: 2 }))
    expect(() => createLimiter({ store: new MemoryStore(), policies: both as never })).toThrow(
      new ConfigError([new Mistake('state_collision', shared)]),
    )
    expect(issuesIn({ tiers: { anonymous: { policies: both } } })).toEqual([`${shared} (tiers.yaml)`])
    expect(
      issuesIn({ routes: { 'GET /a': { by: 'ip', policies: [both[0]] } }, global: { by: 'ip', policies: [both[1]] } }),
    ).toHaveLength(1)
    expect(
      issuesIn({ tiers: { anonymous: { policies: [both[0]] }, free: { by: 'ip', policies: [both[1]] } } }),
    ).toHaveLength(1)
  })

  it('shared by several subjects are reported once', () => {
    const both = [one, other].map((name) => policy({ name, limit: 2 }))
    expect(issuesIn({ tiers: { anonymous: { policies: [] } }, global: { by: 'client', policies: both } })).toEqual([
      `${shared} (tiers.yaml)`,
    ])
  })

  it('are compared where there are no tiers yet, and no more of them than asked for', () => {
    const routes = [one, other].map(
      (name, i) => parseRoute(`GET /${i}`, { by: 'user', policies: [policy({ name, limit: 2 })] }, [], [])!,
    )
    const displacedOf = (most: number) => checkAttributePrefixes({ tiers: [], routes, global: [] }, [], [], most).size
    expect([1, 2, 3].map(displacedOf)).toEqual([0, 1, 1])
  })

  it('are compared with those of a tier of the same name that is for some APIs only', () => {
    const [plain, scoped] = collision(
      (name) => prefixOf(name, form),
      (name) => prefixOf(name, form, ' @shop'),
    )
    const tiers = {
      anonymous,
      free: { policies: [policy({ name: plain })] },
      'free @shop': { apis: ['shop'], policies: [policy({ name: scoped })] },
    }
    expect(issuesIn({ tiers })).toEqual([
      `policies "${plain}" and "${scoped}" of "@shop" happen to share an attribute prefix, rename one of them (tiers.yaml)`,
    ])
  })

  it('that collide make one of the two policies use another prefix, the same one in every set', () => {
    const [first, second] = [one, other].map((name) => policy({ name, limit: 2 }))
    const scopesIn = (...routes: (typeof first)[]) => {
      const parsed = routes.map((each, i) => parseRoute(`GET /${i}`, { by: 'ip', policies: [each] }, [], [])!)
      const issues: Mistake[] = []
      const displaced = checkAttributePrefixes({ tiers: [], routes: parsed, global: [] }, [], issues)
      expect(issues.map(String)).toEqual([expect.stringContaining('happen to share an attribute prefix')])
      expect(issues[0]!.code).toBe('state_collision')
      const policies = parsed.flatMap((route) => route.policies)
      return policies.map((each) => [each.name, scopeIn({ displaced }, each, '')]).sort()
    }
    const scopes = scopesIn(first, second)
    const [unknown] = parseRoute('GET /a', { policies: [policy()] }, [], [])!.policies
    expect([{}, { displaced: new Map() }].map((set) => scopeIn(set, unknown!, 'GET /a'))).toEqual(['GET /a', 'GET /a'])
    expect(scopes).toEqual(scopesIn(second, first))
    expect(scopes.map(([, scope]) => scope).sort()).toEqual(['', ' elsewhere'])
    expect(new Set(scopes.map(([name, scope]) => prefixOf(name!, form, scope))).size).toBe(2)
  })

  it('may be shared by two policies that never count one subject', () => {
    const [mine, yours] = [one, other].map((name) => policy({ name, limit: 2 }))
    expect(issuesIn({ tiers: { anonymous, free: { policies: [mine] }, pro: { policies: [yours] } } })).toEqual([])
    expect(
      issuesIn({ routes: { 'GET /a': { by: 'ip', policies: [mine] } }, global: { by: 'global', policies: [yours] } }),
    ).toEqual([])
  })

  it('are compared for every route that is counted apart', () => {
    const [plain, scoped] = collision(
      (name) => prefixOf(name, form),
      (name) => prefixOf(name, form, 'GET /a'),
    )
    const routes = { 'GET /a': { policies: [policy({ name: scoped, by: ['ip', 'route'] })] } }
    expect(issuesIn({ routes, global: { by: 'ip', policies: [policy({ name: plain })] } })).toEqual([
      `policies "${plain}" and "${scoped}" of route "GET /a" happen to share an attribute prefix, rename one of them (tiers.yaml)`,
    ])
  })
})

function collision(codeOfOne: (name: string) => string, codeOfOther = codeOfOne): [string, string] {
  const seen = new Map<string, string>()
  for (let i = 0; ; i++) {
    const name = `p${i}`
    const found = seen.get(codeOfOther(name))
    if (found !== undefined) return [found, name]
    seen.set(codeOfOne(name), name)
  }
}

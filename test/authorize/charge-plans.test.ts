import { type Plan, Plans } from '../../lambda/charge-plans'
import { AccessList } from '../../lambda/config-table/items/access-list'
import type { Client } from '../../lambda/config-table/items/client-item'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { rulesOf } from '../../lambda/rules'
import { FakeLog } from '../config-table/fake-table'
import { policy } from '../policies/issues'
import { thoroughly } from '../runs'

const FILE = {
  settings: { trustedHeaders: ['x-device'] },
  tiers: {
    anonymous: { by: 'ip', policies: [policy({ limit: 20 })] },
    free: {
      policies: [
        policy(),
        policy({ name: 'per-address', by: 'ip' }),
        policy({ name: 'per-route', by: ['client', 'route'] }),
      ],
    },
    pro: { policies: [policy({ limit: 600 }), policy({ name: 'paced', algorithm: 'gcra', limit: 60, burst: 10 })] },
  },
  routes: {
    'GET /search': {
      policies: [policy({ name: 'search', window: '1s' }), policy({ name: 'search-ip', by: ['ip', 'route'] })],
    },
    'GET /find': {
      policies: [policy({ name: 'search', window: '1s' }), policy({ name: 'find', by: 'route', limit: 1000 })],
    },
    'POST /batch': { cost: 5 },
  },
  global: {
    policies: [policy({ name: 'all', limit: 9000 }), policy({ name: 'device', by: ['user', 'header:x-device'] })],
  },
}

const configure = () => ({ policies: parseTiersFile(FILE, 'tiers.yaml'), access: new AccessList([]) })
const configuration = configure()
const set = configuration.policies
const log = new FakeLog()
const plans = new Plans(log.write)
const client = (overrides: Client['overrides']): Client => ({ id: 'acme', tier: 'pro', overrides, disabled: false })
const planFor = (name: string, method = 'GET', path = '/', of = plans, who?: Client) =>
  of.planFor(configuration, set.tiers.get(name), rulesOf(set, method, path), who)

/** The policies that count each kind of subject, by name. */
const told = (plan: Plan) =>
  Object.fromEntries(plan.groups.map(({ who, policies }) => [who.join() || 'route', policies.map(({ name }) => name)]))
const all = (plan: Plan) => plan.groups.flatMap(({ policies }) => policies)
const codeOf = (plan: Plan, policy: string) => all(plan).find(({ name }) => name === policy)!.prefix

describe('a plan', () => {
  it('holds a request to the global policies first, then to its route’s, then to its tier’s', () => {
    const plan = planFor('free', 'GET', '/search')
    expect(plan.groups.map(({ who }) => who.join())).toEqual(['global', 'header:x-device,user', 'client', 'ip'])
    expect(told(plan)).toEqual({
      global: ['all'],
      'header:x-device,user': ['device'],
      client: ['search', 'per-minute', 'per-route'],
      ip: ['search-ip', 'per-address'],
    })
  })

  it('counts a route itself as a subject of its own', () => {
    expect(told(planFor('pro', 'GET', '/find'))).toMatchObject({
      route: ['find'],
      client: ['search', 'per-minute', 'paced'],
    })
  })

  it('holds a caller to those of a route’s policies that are for its tier', () => {
    const policies = parseTiersFile(
      {
        tiers: { anonymous: { policies: [] }, free: { policies: [] }, pro: { policies: [] } },
        routes: {
          'GET /a': {
            policies: [
              policy({ limit: 5, tiers: ['free'] }),
              policy({ limit: 50, tiers: ['pro'] }),
              policy({ name: 'all' }),
            ],
          },
        },
        global: { policies: [policy({ name: 'together', tiers: ['free'] })] },
      },
      'f',
    )
    const limits = (name: string | undefined) =>
      all(
        plans.planFor(
          { policies, access: new AccessList([]) },
          policies.tiers.get(name ?? ''),
          rulesOf(policies, 'GET', '/a'),
        ),
      ).map((one) => `${one.name} ${one.limit}`)
    expect(limits('free')).toEqual(['together 60', 'per-minute 5', 'all 60'])
    expect(limits('pro')).toEqual(['per-minute 50', 'all 60'])
    expect(limits('anonymous')).toEqual(['all 60'])
    expect(limits(undefined)).toEqual(['all 60'])
  })

  it('charges each subject once, for all policies that count it', () => {
    const charges = planFor('free', 'GET', '/search').chargesFor(['g', 'd', 'c', 'a'], { cost: 7 })
    expect(charges.map(({ key, policies, cost }) => [key, policies.length, cost])).toEqual([
      ['g', 1, 7],
      ['d', 1, 7],
      ['c', 3, 7],
      ['a', 2, 7],
    ])
    const stranger = planFor('anonymous', 'GET', '/search').chargesFor(['g', 'ip', 'ip', 'ip'], { cost: 1 })
    expect(stranger.map(({ key, policies }) => [key, policies.map(({ name }) => name)])).toEqual([
      ['g', ['all']],
      ['ip', ['device', 'search', 'search-ip', 'per-minute']],
    ])
  })

  it('has the same lists of policies for the same kind of request, so that requests can share writes', () => {
    for (const keys of [
      ['g', 'd', 'c', 'a'],
      ['g', 'ip', 'ip', 'ip'],
    ]) {
      const others = keys.map((key) => `another ${key}`)
      const charges = planFor('free', 'GET', '/search').chargesFor(keys, { cost: 1 })
      const again = planFor('free', 'HEAD', '/search').chargesFor(others, { cost: 5 })
      expect(again).toHaveLength(charges.length)
      for (const [i, { policies }] of charges.entries()) expect(again[i]!.policies).toBe(policies)
    }
    expect(planFor('free', 'GET', '/anything')).toBe(planFor('free', 'PUT', '/else'))
  })

  it('differs for another tier, route, override or configuration', () => {
    const kinds = [
      planFor('free'),
      planFor('pro'),
      planFor('free', 'GET', '/search'),
      planFor('free', 'GET', '/find'),
      planFor('pro', 'GET', '/', plans, client({ 'per-minute': { limit: 7 } })),
      planFor('pro', 'GET', '/', plans, client({ 'per-minute': { limit: 8 } })),
      plans.planFor(configure(), set.tiers.get('free'), rulesOf(set, 'GET', '/')),
    ]
    expect(new Set(kinds).size).toBe(kinds.length)
    expect(planFor('pro', 'GET', '/', plans, client({}))).toBe(planFor('pro'))
  })

  it('without a tier has the global and the route’s policies only', () => {
    const plan = plans.planFor(configuration, undefined, rulesOf(set, 'GET', '/find'))
    expect(all(plan).map(({ name }) => name)).toEqual(['all', 'device', 'search', 'find'])
  })

  thoroughly('is remembered for a bounded number of kinds of requests', () => {
    const first = planFor('pro', 'GET', '/', plans, client({ 'per-minute': { limit: 1 } }))
    for (let limit = 2; limit < 6000; limit++) planFor('pro', 'GET', '/', plans, client({ 'per-minute': { limit } }))
    expect(planFor('pro', 'GET', '/', plans, client({ 'per-minute': { limit: 1 } }))).not.toBe(first)
  })
})

describe('a client’s overrides', () => {
  const own = (overrides: Client['overrides']) => planFor('pro', 'GET', '/', plans, client(overrides))

  it('replace the policy’s numbers, and keep what it has counted', () => {
    const plan = own({ 'per-minute': { limit: 7 }, paced: { limit: 120, burst: 30 } })
    expect(all(plan)).toMatchObject([
      { name: 'all', limit: 9000 },
      { name: 'device' },
      { limit: 7 },
      { limit: 120, quota: { burst: 30 } },
    ])
    expect(codeOf(plan, 'per-minute')).toBe(codeOf(planFor('pro'), 'per-minute'))
    expect(codeOf(plan, 'paced')).toBe(codeOf(planFor('pro'), 'paced'))
  })

  it('leave a burst that they do not name unchanged', () => {
    expect(all(own({ paced: { limit: 120 } })).at(-1)).toMatchObject({ limit: 120, quota: { burst: 10 } })
  })

  it('may multiply the policy’s present numbers, its burst too', () => {
    const plan = own({ 'per-minute': { factor: 2 }, paced: { factor: 1.5 } })
    expect(all(plan)).toMatchObject([{}, {}, { limit: 1200 }, { limit: 90, quota: { burst: 15 } }])
  })

  it('do not apply to policies that count all callers together', () => {
    expect(all(own({ all: { limit: 1 } }))[0]).toMatchObject({ name: 'all', limit: 9000 })
  })

  it('are reported and ignored when they are invalid for the policy', () => {
    expect(all(own({ 'per-minute': { limit: 7, burst: 3 } }))).toMatchObject([
      {},
      {},
      { name: 'per-minute', limit: 600 },
      {},
    ])
    expect(log.entries.at(-1)).toMatchObject({
      level: 'error',
      details: {
        client: 'acme',
        issues: [
          'burst does not apply to algorithm "sliding-window", only to token-bucket, leaky-bucket, gcra (client, override "per-minute")',
        ],
      },
    })
  })

  it('are ignored for policies that do not exist, also under names from Object.prototype', () => {
    expect(all(own({ nothing: { limit: 1 }, constructor: { limit: 1 } })).map(({ limit }) => limit)).toEqual([
      9000, 60, 600, 60,
    ])
  })
})

describe('the place of a policy’s state', () => {
  it('is separate for each route that counts by itself', () => {
    expect(codeOf(planFor('free', 'GET', '/search'), 'search')).not.toBe(
      codeOf(planFor('free', 'GET', '/find'), 'search'),
    )
  })

  it('is the same on every route for policies that do not', () => {
    expect(
      new Set(['/', '/search', '/find', '/other'].map((path) => codeOf(planFor('free', 'GET', path), 'per-minute')))
        .size,
    ).toBe(1)
  })

  it('is separate for each configured route, and one for all others, where a tier counts by route', () => {
    const code = (method: string, path: string) => codeOf(planFor('free', method, path), 'per-route')
    const codes = [
      code('GET', '/search'),
      code('GET', '/find'),
      code('POST', '/batch'),
      code('GET', '/'),
      code('GET', '/other'),
    ]
    expect(new Set(codes).size).toBe(4)
    expect(code('GET', '/')).toBe(code('PUT', '/other'))
  })

  it('is the same in every instance', () => {
    const elsewhere = new Plans(log.write)
    const codes = (plan: Plan) => all(plan).map(({ prefix: code }) => code)
    expect(codes(planFor('free', 'GET', '/search', elsewhere))).toEqual(codes(planFor('free', 'GET', '/search')))
  })

  it('is the same in tiers that name a policy alike, so that an upgrade forgets nothing', () => {
    expect(codeOf(planFor('free'), 'per-minute')).toBe(codeOf(planFor('pro'), 'per-minute'))
  })
})

import { parseTiersFile, routeOf } from '../../lambda/policies/tiers'
import { Plans } from '../../lambda/tiers/plans'
import { policy } from '../policies/issues'

const FILE = {
  tiers: {
    anonymous: { by: 'ip', policies: [policy({ limit: 20 })] },
    free: { policies: [policy(), policy({ name: 'per-address', by: 'ip' }), policy({ name: 'per-route', by: ['client', 'route'] })] },
    pro: { policies: [policy({ limit: 600 })] },
  },
  routes: {
    'GET /search': { policies: [policy({ name: 'search', window: '1s' }), policy({ name: 'search-ip', by: ['ip', 'route'] })] },
    'GET /find': { policies: [policy({ name: 'search', window: '1s' })] },
    'POST /batch': { cost: 5 },
  },
}

const set = parseTiersFile(FILE, 'tiers.yaml')
const plans = new Plans({ current: async () => set })
const tier = (name: string) => set.tiers.get(name)
const planFor = (name: string, method = 'GET', path = '/', known = true, of = plans) =>
  of.planFor(set, set.tiers.get(name), routeOf(set, method, path), known)
const names = (policies: readonly { readonly name: string }[]) => policies.map(({ name }) => name)
const codes = (policies: readonly { readonly code: string }[]) => policies.map(({ code }) => code)

describe('a plan', () => {
  it('holds a request to its route’s policies first, then to its tier’s', () => {
    const { caller, address, cost } = planFor('free', 'GET', '/search')
    expect(names(caller)).toEqual(['search', 'per-minute', 'per-route'])
    expect(names(address)).toEqual(['search-ip', 'per-address'])
    expect(cost).toBe(1)
  })

  it('has the cost of the route', () => {
    expect(planFor('free', 'POST', '/batch')).toMatchObject({ cost: 5 })
    expect(planFor('free', 'GET', '/batch')).toMatchObject({ cost: 1 })
  })

  it('counts a caller who is not known by address throughout', () => {
    const { caller, address } = planFor('anonymous', 'GET', '/search', false)
    expect(names(caller)).toEqual(['search', 'search-ip', 'per-minute'])
    expect(address).toEqual([])
    expect(names(planFor('anonymous', 'GET', '/search', true).address)).toEqual(['search-ip', 'per-minute'])
  })

  it('is the same lists for the same kind of request, so that requests can share writes', () => {
    for (const [name, method, path, known] of [
      ['free', 'GET', '/search', true],
      ['free', 'GET', '/', true],
      ['anonymous', 'GET', '/', false],
    ] as const) {
      const plan = planFor(name, method, path, known)
      expect(planFor(name, method, path, known)).toBe(plan)
      expect(planFor(name, method, `${path}/`, known).caller).toBe(plan.caller)
    }
    expect(planFor('free', 'GET', '/anything')).toBe(planFor('free', 'PUT', '/else'))
  })

  it('is another for another tier, route, kind of caller or set', () => {
    const kinds = [
      planFor('free'),
      planFor('pro'),
      planFor('free', 'GET', '/search'),
      planFor('free', 'GET', '/find'),
      planFor('free', 'GET', '/', false),
      plans.planFor(parseTiersFile(FILE, 'tiers.yaml'), tier('free'), undefined, true),
    ]
    expect(new Set(kinds).size).toBe(kinds.length)
  })

  it('without a tier holds to the route alone', () => {
    expect(plans.planFor(set, undefined, routeOf(set, 'GET', '/find'), true)).toMatchObject({
      caller: [{ name: 'search' }],
      address: [],
      cost: 1,
    })
  })

  it('asks for the set that is in force', async () => {
    expect(await plans.current()).toBe(set)
  })
})

describe('where a policy’s state is kept', () => {
  it('is apart for each route that counts by itself', () => {
    const [search] = planFor('free', 'GET', '/search').caller
    const [find] = planFor('free', 'GET', '/find').caller
    expect(search!.name).toBe(find!.name)
    expect(search!.code).not.toBe(find!.code)
  })

  it('is the same on every route for policies that do not', () => {
    const code = (path: string) => planFor('free', 'GET', path).caller.find(({ name }) => name === 'per-minute')!.code
    expect(new Set(['/', '/search', '/find', '/other'].map(code)).size).toBe(1)
  })

  it('is apart for each configured route, and one for all others, where a tier counts by route', () => {
    const code = (method: string, path: string) => planFor('free', method, path).caller.find(({ name }) => name === 'per-route')!.code
    expect(
      new Set([code('GET', '/search'), code('GET', '/find'), code('POST', '/batch'), code('GET', '/'), code('GET', '/other')]).size,
    ).toBe(4)
    expect(code('GET', '/')).toBe(code('PUT', '/other'))
  })

  it('is the same in every instance', () => {
    const elsewhere = new Plans({ current: async () => undefined })
    expect(codes(planFor('free', 'GET', '/search', true, elsewhere).caller)).toEqual(codes(planFor('free', 'GET', '/search').caller))
  })

  it('is the same in tiers that name a policy alike, so that an upgrade forgets nothing', () => {
    expect(codes(planFor('free').caller)[0]).toBe(codes(planFor('pro').caller)[0])
  })
})

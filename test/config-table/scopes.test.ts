import fc from 'fast-check'
import { readPolicySet } from '../../cli/tiers/read-policy-set'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { toPolicySet } from '../../lambda/config-table/items/policy-set'
import { byVariant } from '../../lambda/config-table/items/scoped-parts'
import { setFor } from '../../lambda/config-table/items/scoped-set'
import {
  type ApiStage,
  Apis,
  mostSpecific,
  type Scope,
  scopedName,
  scopeOfInvalid,
} from '../../lambda/config-table/items/scopes'
import { parseTier, type Tier, unknownTier } from '../../lambda/config-table/items/tiers'
import { issuesOf, policy } from '../policies/issues'
import { runs } from '../runs'
import { issuesAmong, setFrom } from './scoped'

const anonymous = { policies: [] }
const at = (apiId?: string, stageName?: string): ApiStage => ({ apiId, stageName })
const limitOf = (set: ReturnType<typeof setFrom>, request: ApiStage, tier = 'free') =>
  setFor(set, request).tiers.get(tier)?.policies[0]?.limit

describe('a tier for some APIs', () => {
  const set = setFrom({
    'api#a1': { name: 'Shop API', label: 'shop' },
    'api#b2': { name: 'Cart API' },
    'tier#anonymous': anonymous,
    'tier#free': { policies: [policy({ limit: 1 })] },
    'tier#free @shop': { apis: ['shop'], policies: [policy({ limit: 2 })] },
    'tier#free @shop-prod': { apis: ['shop/prod'], policies: [policy({ limit: 3 })] },
    'tier#free @dev': { apis: ['*/dev'], policies: [policy({ limit: 4 })] },
    'tier#beta': { apis: ['Cart API/*', 'c3'], policies: [policy({ limit: 5 })] },
  })

  test.each([
    ['API and stage before the API alone', at('a1', 'prod'), 3],
    ['the API alone before the stage alone', at('a1', 'dev'), 2],
    ['the stage alone before none', at('b2', 'dev'), 4],
    ['none of them', at('b2', 'prod'), 1],
    ['`$default`, a stage like any other', at('a1', '$default'), 2],
    ['an API that nobody has named', at('zz', 'prod'), 1],
    ['a request that does not say its API', at(undefined, 'dev'), 1],
    ['a request that does not say its stage', at('a1'), 1],
  ])('takes %s', (_, request, limit) => {
    expect(limitOf(set, request)).toBe(limit)
  })

  it('exists for these APIs only, by name, or by an id that is not in the table', () => {
    expect(
      [at('b2', 'prod'), at('c3', 'dev'), at('a1', 'prod'), at()].map((request) => limitOf(set, request, 'beta')),
    ).toEqual([5, 5, undefined, undefined])
  })

  it('does not change other APIs, which share one object', () => {
    expect(setFor(set, at('x', 'prod'))).toBe(setFor(set, at('y', 'live')))
    expect(setFor(set, at('x', 'prod'))).not.toBe(setFor(set, at('a1', 'prod')))
    expect(setFor(set, at('a1', 'prod'))).toBe(setFor(set, at('a1', 'prod')))
  })

  it('has counts of its own', () => {
    const variants = [at('zz', 'prod'), at('a1', 'live'), at('a1', 'prod')].map(
      (one) => setFor(set, one).tiers.get('free')!.policies[0]!.variant,
    )
    expect(variants).toEqual([undefined, '@shop', '@shop-prod'])
    expect(setFor(set, at('c3', 'x')).tiers.get('beta')!.policies[0]!.variant).toBe('@ beta')
  })
})

describe('a word for an API', () => {
  const items = {
    'tier#anonymous': anonymous,
    'tier#free': { policies: [policy({ limit: 1 })] },
    'tier#free @shop': { apis: ['shop', 'a1b2c3d4e5'], policies: [policy({ limit: 2 })] },
    'api#a1': { label: 'shop', name: 'x' },
  }
  it('means its label, whatever the names of other APIs', () => {
    const set = setFrom({ ...items, 'api#b2': { name: 'shop', label: 'b' }, 'api#c3': { name: 'shop' } })
    expect(['a1', 'b2', 'c3'].map((id) => limitOf(set, at(id, 'prod')))).toEqual([2, 1, 1])
  })

  it('means an id first: no name and no label makes it mean another API', () => {
    const set = setFrom({ ...items, 'api#b2': { name: 'a1b2c3d4e5' }, 'api#c3': { name: 'a1' } })
    expect(['a1b2c3d4e5', 'b2'].map((id) => limitOf(set, at(id, 'prod')))).toEqual([2, 1])
    expect([...set.apis!.idsOf('a1')]).toEqual(['a1'])
    expect(issuesAmong({ ...items, 'api#d4': { label: 'a1b2c3d4e5' } })).toEqual([
      expect.stringContaining('as ids are, got "a1b2c3d4e5"'),
    ])
    expect(issuesAmong({ ...items, 'api#d4': { label: 'a1' } })).toEqual([
      'label "a1" of API d4 is also the name of API a1: each API needs its own',
    ])
  })
})

test('an id means its API although it is not in the table, and whatever the label of another', () => {
  const apis = new Apis([{ id: 'd4', label: 'a1' }])
  expect(apis.isCalled('a1', 'a1')).toBe(true)
  expect(apis.isCalled('b2', 'a1')).toBe(false)
})

test('an API whose item is invalid is called by nothing but its id', () => {
  const { configuration, issues } = readPolicySet(
    Object.entries({
      'tier#anonymous': anonymous,
      'tier#free': { policies: [policy({ limit: 1 })] },
      'tier#free @shop': { apis: ['shop', 'b2'], policies: [policy({ limit: 2 })] },
      'api#a1': { name: 'shop', label: '' },
      'api#b2': { name: 'cart', label: '' },
    }).map(([sk, item]) => ({ pk: 'policy-set', sk, ...item })),
  )
  expect(issues).toHaveLength(2)
  expect(['a1', 'b2'].map((id) => limitOf(configuration.policies, at(id, 'prod')))).toEqual([1, 2])
})

describe('routes and settings for some APIs', () => {
  const set = setFrom({
    'tier#anonymous': anonymous,
    'route#GET /health @shop': { apis: ['shop1'], cost: 0 },
    'route#GET /search': { cost: 2 },
    'route#GET /search @dev': { apis: ['*/dev'], cost: 3 },
    'settings @dev': { apis: ['*/dev'], mode: 'observe' },
    'settings @off': { apis: ['shop1/dev'], mode: 'off' },
  })
  const costs = (request: ApiStage) => setFor(set, request).routes.map(({ pattern, cost }) => `${pattern.text} ${cost}`)

  it('have each route once', () => {
    expect(costs(at('shop1', 'prod'))).toEqual(['GET /health 0', 'GET /search 2'])
    expect(costs(at('cart1', 'prod'))).toEqual(['GET /search 2'])
    expect(costs(at('cart1', 'dev'))).toEqual(['GET /search 3'])
  })

  it('have a mode of their own', () => {
    const modes = [at('cart1', 'prod'), at('cart1', 'dev'), at('shop1', 'dev'), at()].map(
      (one) => setFor(set, one).settings.mode,
    )
    expect(modes).toEqual(['enforce', 'observe', 'off', 'enforce'])
  })
})

describe('the set of one API', () => {
  const plain = { 'tier#anonymous': anonymous, 'tier#free': anonymous, 'route#GET /a': {}, 'route#GET /b': {} }

  it('is the whole set where nothing is for some APIs only', () => {
    const set = setFrom(plain)
    expect(setFor(set, at('a1', 'prod'))).toBe(set)
  })

  it('shares the routes where all of them hold', () => {
    const set = setFrom({ ...plain, 'tier#beta': { apis: ['a1'], policies: [] } })
    expect(setFor(set, at('a1', 'prod')).routes).toBe(set.routes)
  })

  it('is another one where only a route differs', () => {
    const set = setFrom({ ...plain, 'route#GET /a @x': { apis: ['x'], cost: 2 }, 'route#GET /a @y': { apis: ['y'] } })
    expect(['x', 'y'].map((id) => setFor(set, at(id, 'prod')).routes[0]!.scope?.variant)).toEqual(['@x', '@y'])
    const two = setFrom({ ...plain, 'route#GET /a @x': { apis: ['x'] }, 'route#GET /b @x': { apis: ['y'] } })
    expect(['x', 'y'].map((id) => setFor(two, at(id, 'prod')).routes.map(({ scope }) => scope?.variant))).toEqual([
      ['@x', undefined],
      [undefined, '@x'],
    ])
  })

  it('lists the tiers that its callers may be in, each once', () => {
    const set = setFrom({
      ...plain,
      'tier#beta': { apis: ['a1'], policies: [] },
      'tier#free @a': { apis: ['a1'], policies: [] },
    })
    expect([...setFor(set, at('a1', 'prod')).tiers.keys()].sort()).toEqual(['anonymous', 'beta', 'free'])
    expect([...setFor(set, at('b2', 'prod')).tiers.keys()].sort()).toEqual(['anonymous', 'free'])
  })

  it('is remembered for a thousand pairs of API and stage, then all are forgotten', () => {
    const set = setFrom({ ...plain, 'tier#beta': { apis: ['a1'], policies: [] } })
    const first = setFor(set, at('a1', 'prod'))
    for (let i = 1; i < 1000; i++) setFor(set, at('a1', `s${i}`))
    expect(setFor(set, at('a1', 'prod'))).toBe(first)
    const next = setFor(set, at('a1', 's1000'))
    expect(next).not.toBe(first)
    expect(next).toEqual(first)
    expect(setFor(set, at('a1', 'prod'))).toBe(next)
  })
})

test('an invalid item holds for the APIs that it names, and for all requests where these are invalid, too', () => {
  expect(scopeOfInvalid('free', undefined)).toBeUndefined()
  expect(scopeOfInvalid('free', ['shop/prod'])).toEqual({ variant: '@ free', apis: [{ api: 'shop', stage: 'prod' }] })
  expect(scopeOfInvalid('free @x', ['*/dev'])).toEqual({ variant: '@x', apis: [{ stage: 'dev' }] })
  for (const apis of [undefined, 1, ['*']]) expect(scopeOfInvalid('free @x', apis)).toEqual({ variant: '@x', apis: [] })
  const [unknown, exact] = [{ scope: scopeOfInvalid('free @x', 1)! }, { scope: scopeOfInvalid('free @y', ['a1'])! }]
  expect(mostSpecific([exact, unknown], at('a1', 'prod'), new Apis())).toEqual([unknown])
  expect(mostSpecific([exact, unknown], at(), new Apis())).toEqual([unknown])
})

test('an API is shown by its label, or its id', () => {
  const apis = new Apis([{ id: 'a1', label: 'shop' }, { id: 'b2' }])
  expect(['a1', 'b2', 'c3'].map((id) => apis.labelOf(id))).toEqual(['shop', 'b2', 'c3'])
})

test('items for all APIs come before those for some, which are ordered by their words', () => {
  const items = [{ scope: { variant: '@b', apis: [] } }, {}, { scope: { variant: '@a', apis: [] } }]
  const inOrder = ['', '@a', '@b']
  for (const list of [items, items.toReversed(), items.toSorted(byVariant)])
    expect([...list].sort(byVariant).map(({ scope }) => scope?.variant ?? '')).toEqual(inOrder)
  expect([byVariant({}, {}), byVariant(items[0]!, items[0]!)]).toEqual([0, 0])
})

describe('two tiers of one name for the same API, which is a mistake', () => {
  const free = (word: string, more: object = {}) =>
    parseTier(`free @${word}`, { apis: ['a1'], policies: [policy({ name: word })], ...more }, [], [])!
  const heldTo = (tiers: Tier[], name = 'free') =>
    setFor(toPolicySet({ tiers, routes: [] }, [], []), at('a1', 'prod')).tiers.get(name)!

  it('hold their callers to the policies of both', () => {
    expect(heldTo([free('x'), free('y')]).policies.map(({ name }) => name)).toEqual(['x', 'y'])
  })

  it('require credentials and deny in an outage where one of them does', () => {
    const strict = free('y', { credentials: 'required', failureMode: 'deny' })
    for (const both of [
      [free('x'), strict],
      [strict, free('z', { failureMode: 'allow' })],
    ])
      expect(heldTo(both)).toMatchObject({ credentials: 'required', failureMode: 'deny' })
  })

  it('do neither where none of them does', () => {
    const both = [free('x', { failureMode: 'allow' }), free('y', { failureMode: 'local' })]
    expect(heldTo(both)).toMatchObject({ credentials: 'optional', failureMode: 'allow' })
    expect(heldTo([free('x'), free('y')])).not.toHaveProperty('failureMode')
  })

  it('require what nobody knows where one of them is invalid', () => {
    const invalid = unknownTier('anonymous @x', ['a1'])!
    const valid = parseTier('anonymous @y', { apis: ['a1'], policies: [] }, [], [])!
    expect(heldTo([invalid, valid], 'anonymous').credentials).toBe('unknown')
    expect(heldTo([invalid, { ...valid, credentials: 'required' }], 'anonymous').credentials).toBe('required')
  })

  it('are one that is left as it is where the other is for another API', () => {
    const mine = free('x')
    expect(heldTo([mine, free('y', { apis: ['b2'] })])).toBe(mine)
  })
})

describe('mistakes', () => {
  const inFile = (file: object) =>
    issuesOf(() =>
      parseTiersFile({ tiers: { anonymous, ...(file as { tiers?: object }).tiers }, ...without(file) }, 'f'),
    )
  const without = ({ tiers: _, ...others }: { tiers?: object }) => others

  test.each([
    [
      { 'free @shop': { policies: [] } },
      'apis is missing: "@shop" is for some APIs, and must name them (f, tier "free @shop")',
    ],
    [
      { 'free @a b': { apis: ['x'], policies: [] } },
      'the part after "@" must be 1 to 64 letters, digits, ".", "_" or "-", got "a b" (f, tier "free @a b")',
    ],
    [
      { 'free @a': { apis: ['x/y'], policies: [] }, 'free @b': { apis: ['z', 'x/y'], policies: [] } },
      'apis: tier "free @a" and tier "free @b" are both for "x/y", and both hold there (f)',
    ],
    [
      { 'free @a': { apis: ['*/dev'], policies: [] }, 'free @b': { apis: ['x', '*/dev'], policies: [] } },
      'apis: tier "free @a" and tier "free @b" are both for "*/dev", and both hold there (f)',
    ],
    [
      { ' @a': { apis: ['x'], policies: [] } },
      'a tier\'s name must be 1 to 64 letters, digits, ".", "_" or "-", got "" (f)',
    ],
  ])('in tiers: %j', (tiers, issue) => {
    expect(inFile({ tiers })).toEqual([issue])
  })

  test.each([[[]], [['*']], [['*/*']], [['']], [['a/b/c']], [['/dev']], [['a*']], ['a'], [[1]], [Array(33).fill('a')]])(
    'in apis: %j',
    (apis) => {
      const one = [expect.stringMatching(/^apis must be a list of 1 to 32 APIs/)]
      expect(inFile({ tiers: { free: { apis, policies: [] } } })).toEqual(one)
      expect(inFile({ tiers: { 'free @a': { apis, policies: [] } } })).toEqual(one)
      expect(inFile({ tiers: {}, 'settings @a': { apis, mode: 'off' } })).toEqual(one)
    },
  )

  it('in what is for all APIs', () => {
    expect(issuesAmong({ 'tier#anonymous': { apis: ['a'], policies: [] } })).toContain(
      'apis must not be here: "anonymous" is for all APIs, and "anonymous @word" for some of them (item "tier#anonymous", tier "anonymous")',
    )
    expect(issuesAmong({ 'tier#anonymous': anonymous, settings: { apis: ['a'], mode: 'off' } })).toEqual([
      expect.stringContaining('unknown field "apis"'),
    ])
    expect(issuesAmong({ 'tier#anonymous': anonymous, global: { apis: ['a'], policies: [] } })).toEqual([
      expect.stringContaining('unknown field "apis"'),
    ])
  })

  it('in settings that are for the same APIs', () => {
    const settings = { apis: ['*/dev'], mode: 'off' }
    expect(inFile({ 'settings @a': settings, 'settings @b': settings })).toEqual([
      'apis: settings @a and settings @b are both for "*/dev", and both hold there (f)',
    ])
  })

  it('in settings of which only the mode may differ', () => {
    expect(inFile({ 'settings @dev': { apis: ['*/dev'], mode: 'off', defaultTier: 'free' } })).toEqual([
      'unknown field "defaultTier", known are apis, mode (f, settings @dev)',
    ])
  })

  it('in labels that do not tell APIs apart, and in words that mean the same API', () => {
    const items = {
      'tier#anonymous': anonymous,
      'api#a1': { label: 'shop' },
      'api#b2': { label: 'shop' },
      'route#GET /a @x': { apis: ['shop'] },
      'route#GET /a @y': { apis: ['b2'] },
      'route#GET /a @z': { apis: ['b2/prod', '*/prod'] },
    }
    expect(issuesAmong(items)).toEqual([
      'label "shop" of API a1 is also the name of API b2: each API needs its own',
      'label "shop" of API b2 is also the name of API a1: each API needs its own',
      'apis: route "GET /a @x" and route "GET /a @y" are both for "b2/*", and both hold there',
    ])
  })

  it('in the item of an API', () => {
    expect(
      issuesAmong({ 'tier#anonymous': anonymous, 'api#a b': {}, 'api#c': { label: '' }, 'api#d': { note: 1 } }),
    ).toEqual([
      'an API\'s id must be letters, digits, "-" or "_", got "a b" (item "api#a b")',
      'label must be a label of 1 to 64 letters, digits, ".", "_" or "-", and not 10 lower-case letters and digits, as ids are, got "" (item "api#c")',
      'unknown field "note", did you mean "name"? (item "api#d")',
    ])
  })
})

describe('law', () => {
  const API_IDS = ['a1', 'b2', 'c3']
  const apis = new Apis([
    { id: 'a1', label: 'shop' },
    { id: 'b2', name: 'cart', label: 'c.a.r.t' },
  ])
  const called: Record<string, string[]> = { a1: ['a1', 'shop'], b2: ['b2', 'cart', 'c.a.r.t'], c3: ['c3'] }
  const word = fc.constantFrom('a1', 'shop', 'b2', 'cart', 'c.a.r.t', 'c3', undefined)
  const stage = fc.constantFrom('dev', 'prod', '$default', undefined)
  const pattern = fc.record({ api: word, stage }).filter((one) => one.api !== undefined || one.stage !== undefined)
  const scopes = fc.uniqueArray(
    fc.record({ variant: fc.constantFrom('@a', '@b', '@c', '@d', '@e'), apis: fc.array(pattern, { minLength: 1 }) }),
    {
      selector: ({ variant }) => variant,
    },
  )
  const request = fc.record({
    apiId: fc.constantFrom(...API_IDS, undefined),
    stageName: fc.constantFrom('dev', 'prod', '$default', undefined),
  })

  /** Says it once more: goes through all questions from the most to the least specific. */
  function slowly(all: readonly (Scope | undefined)[], { apiId, stageName }: ApiStage): Scope | undefined {
    const names = apiId === undefined || stageName === undefined ? [] : called[apiId]!
    const questions = [
      ...names.map((name) => [name, stageName] as const),
      ...names.map((name) => [name, undefined] as const),
      ...(names.length > 0 ? [[undefined, stageName] as const] : []),
    ]
    const ranks = [
      questions.slice(0, names.length),
      questions.slice(names.length, 2 * names.length),
      questions.slice(2 * names.length),
    ]
    for (const rank of ranks) {
      for (const scope of all) {
        if (scope?.apis.some((one) => rank.some(([api, stage]) => one.api === api && one.stage === stage))) return scope
      }
    }
    return undefined
  }

  test('of items with one name the one that holds is the most specific', () => {
    fc.assert(
      fc.property(scopes, request, fc.boolean(), (made, asked, hasPlain) => {
        const items = [...(hasPlain ? [{ scope: undefined }] : []), ...made.map((scope) => ({ scope }))]
        const [found] = mostSpecific(items, asked, apis)
        expect(found?.scope).toEqual(slowly(made, asked))
        expect(found !== undefined).toBe(hasPlain || slowly(made, asked) !== undefined)
      }),
      { numRuns: runs(250, 3000) },
    )
  })

  test('a name with its word says both again', () => {
    expect(scopedName('free', undefined)).toBe('free')
    expect(scopedName('free', { variant: '@shop', apis: [] })).toBe('free @shop')
    expect(scopedName('free', { variant: '@ free', apis: [] })).toBe('free')
  })
})

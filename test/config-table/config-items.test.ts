import fc from 'fast-check'
import { parseClientItem } from '../../lambda/config-table/items/client-item'
import { fromAttributes, parsePolicyItem, partsOf, toPlaceholder } from '../../lambda/config-table/items/config-items'
import {
  apiKey,
  clientKey,
  lastValidKey,
  routeKey,
  settingsKey,
  switchKey,
  tierKey,
} from '../../lambda/config-table/items/config-keys'
import { Mistake } from '../../limiter/errors'
import { itemsOf, tierItem } from './fake-table'

describe('keys of the config table', () => {
  it('are readable', () => {
    expect(tierKey('free')).toEqual({ pk: 'policy-set', sk: 'tier#free' })
    expect(routeKey('GET /search')).toEqual({ pk: 'policy-set', sk: 'route#GET /search' })
    expect(settingsKey()).toEqual({ pk: 'policy-set', sk: 'settings' })
    expect(switchKey()).toEqual({ pk: 'policy-set', sk: 'switch' })
    expect(apiKey('abc')).toEqual({ pk: 'policy-set', sk: 'api#abc' })
    expect(lastValidKey('tier#free')).toEqual({ pk: 'last-valid', sk: 'tier#free' })
    expect(clientKey('abc')).toEqual({ pk: 'client#abc', sk: 'client' })
  })
})

describe('an item', () => {
  it('is a tier, under the name in its key', () => {
    const issues: Mistake[] = []
    expect(parsePolicyItem(tierItem('free', 60, { by: 'ip' }), issues)).toMatchObject({
      tier: { name: 'free', policies: [{ name: 'per-minute', limit: 60, by: { who: ['ip'] } }] },
    })
    expect(issues).toEqual([])
  })

  it('is a route, whatever its pattern holds', () => {
    const issues: Mistake[] = []
    expect(parsePolicyItem({ ...routeKey('GET /a#b/{id}'), cost: 3 }, issues).route).toBeUndefined()
    expect(issues.map(String)).toEqual([expect.stringContaining('a route is a path without a query')])
    expect(parsePolicyItem({ ...routeKey('get /users/{id}'), cost: 3 }, []).route).toMatchObject({
      pattern: { text: 'GET /users/{id}' },
      cost: 3,
    })
  })

  it.each([
    ['global', { policies: [] }, { global: [] }],
    ['switch', { mode: 'off' }, { modeSwitch: { mode: 'off' } }],
    ['api#abc123', { label: 'Shop' }, { api: { id: 'abc123', label: 'Shop' } }],
    ['block#client#a#b', {}, { access: { access: 'block', whom: { client: 'a#b' }, expiresAt: Infinity } }],
    ['allow#client#a', {}, { access: { access: 'allow', whom: { client: 'a' }, expiresAt: Infinity } }],
    [
      'settings @dev',
      { apis: ['*/dev'], mode: 'off' },
      { scopedSettings: { scope: { variant: '@dev', apis: [{ stage: 'dev' }] }, mode: 'off' } },
    ],
  ])('under the key %j is what the key says', (sk, fields, expected) => {
    const issues: Mistake[] = []
    expect(parsePolicyItem({ pk: 'policy-set', sk, ...fields }, issues)).toEqual(expected)
    expect(issues).toEqual([])
    expect(parsePolicyItem({ pk: 'policy-set', sk: 'settings', mode: 'off' }, []).settings?.mode).toBe('off')
  })

  it('with a mistake is named in its message', () => {
    const issues: Mistake[] = []
    parsePolicyItem({ pk: 'policy-set', sk: 'switch', mode: 'enforce' }, issues)
    parsePolicyItem({ pk: 'policy-set', sk: 'tiers' }, issues)
    expect(issues.map(String)).toEqual([
      'mode must be observe or off, got "enforce" (item "switch")',
      'sk must be "global", "settings" or "switch", or begin with "tier#", "route#", "settings @", "api#", "block#" or "allow#", got "tiers"',
    ])
    expect(issues[1]?.code).toBe('invalid_item_key')
  })

  it('that is invalid and has no valid version has a stand-in where its key says enough', () => {
    expect(toPlaceholder('tier#anonymous')).toMatchObject({ tier: { name: 'anonymous', credentials: 'unknown' } })
    expect(toPlaceholder('tier#anonymous @dev', { apis: ['*/dev'] })).toMatchObject({
      tier: { scope: { variant: '@dev', apis: [{ stage: 'dev' }] } },
    })
    expect(toPlaceholder('tier#free')).toEqual({ tier: undefined })
    expect(toPlaceholder('route#GET /a#b')).toEqual({ route: undefined })
    expect(toPlaceholder('route#GET /a', { apis: 7 })).toMatchObject({
      route: { pattern: { text: 'GET /a' }, cost: 1, credentials: 'unknown', scope: { apis: [] } },
    })
    expect(toPlaceholder('block#client#a#b')).toMatchObject({ access: { whom: { client: 'a#b' } } })
    expect(toPlaceholder('allow#client#a')).toEqual({})
    expect(toPlaceholder('settings')).toEqual({})
  })

  it('is one part of the policy set', () => {
    const [tier, route] = [{ name: 'free' }, { cost: 3 }] as never[]
    const items = [
      {},
      { tier },
      { route },
      { global: [] },
      { settings: 1 },
      { scopedSettings: 2 },
      { modeSwitch: 3 },
      { api: 4 },
    ]
    expect(partsOf(items as never)).toEqual({
      tiers: [tier],
      routes: [route],
      global: [],
      settings: 1,
      scopedSettings: [2],
      modeSwitch: 3,
      apis: [4],
    })
    expect(partsOf([])).toEqual({ tiers: [], routes: [], scopedSettings: [], apis: [] })
  })

  it.each([undefined, null, 7, '', 'tier', 'tiers#free', 'global#x', 'settings#', '#', '__proto__#x', 'constructor#x'])(
    'under the key %j is nothing',
    (sk) => {
      const issues: Mistake[] = []
      expect(parsePolicyItem({ pk: 'policy-set', sk }, issues)).toEqual({})
      expect(issues.length).toBeGreaterThan(0)
    },
  )

  it('is either valid or its mistakes are reported, and nothing is thrown, whatever it holds', () => {
    const anyItem = fc.record(
      {
        pk: fc.anything(),
        sk: fc.oneof(
          fc.constantFrom(
            'tier#free',
            'route#GET /a',
            'global',
            'settings',
            'block#ip#1.2.3.4',
            'allow#client#a',
            'block#ip#x',
          ),
          fc.anything(),
        ),
        policies: fc.anything(),
        by: fc.anything(),
        identity: fc.oneof(
          fc.anything(),
          fc.array(fc.oneof(fc.anything(), fc.constantFrom('ip', 'header', 'api-key'))),
        ),
        expiresAt: fc.oneof(fc.anything(), fc.constantFrom('2027-01-31', '2027-02-31T')),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(anyItem, (item) => {
        const issues: Mistake[] = []
        const found = Object.values(parsePolicyItem(item, issues)).filter((one) => one !== undefined)
        expect(found.length === 0).toBe(issues.length > 0)
        const clientIssues = [new Mistake('invalid_value', 'one from before')]
        expect(parseClientItem(item, clientIssues)).toBeUndefined()
        expect(clientIssues.length).toBeGreaterThanOrEqual(3)
      }),
    )
  })
})

describe('attributes', () => {
  it('become plain values', () => {
    const [item] = itemsOf([{ text: 'a', number: 1.5, list: [1, null], map: { yes: true } }])
    expect(fromAttributes(item!)).toEqual({ text: 'a', number: 1.5, list: [1, null], map: { yes: true } })
  })

  it('that cannot be converted are left out', () => {
    expect(fromAttributes({ a: { X: 1 } } as never)).toEqual({})
    expect(fromAttributes({ a: null } as never)).toEqual({})
  })

  it('too large for an exact number become the nearest one, which every check refuses as an integer', () => {
    expect(fromAttributes({ a: { N: '9007199254740993' }, b: { N: '1e400' } })).toEqual({
      a: 9007199254740992,
      b: Infinity,
    })
  })
})

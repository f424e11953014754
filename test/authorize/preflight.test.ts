import { parseAccess } from '../../lambda/config-table/items/access-list'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { policy } from '../policies/issues'
import { Gateway, PREFLIGHT, times } from './gateway'

const preflight = { method: 'OPTIONS', headers: PREFLIGHT }
const setOf = (more: object = {}) =>
  parseTiersFile(
    { tiers: { anonymous: { by: 'ip', credentials: 'required', policies: [policy({ limit: 5 })] } }, ...more },
    'f',
  )

describe.each(['rest', 'http'] as const)('a preflight of a %s API', (api) => {
  it('needs no credentials, and is not charged to its caller’s limits', async () => {
    const gateway = new Gateway({ set: setOf() })
    expect(await gateway[api](preflight)).toMatchObject({
      effect: 'Allow',
      reason: 'ok',
      policy: 'preflight',
      limit: 600,
      remaining: 599,
    })
    expect(gateway.store.size).toBe(1)
    const open = new Gateway()
    for (let i = 0; i < 20; i++) await open[api](preflight)
    expect(await open[api]()).toMatchObject({ effect: 'Allow', remaining: 19 })
  })

  it('is limited by address, as the settings say', async () => {
    const gateway = new Gateway({ set: setOf({ settings: { preflight: { limit: 3, window: '1m' } } }) })
    const passed = []
    for (let i = 0; i < 5; i++) passed.push((await gateway[api]({ ...preflight, path: `/x${i}` })).effect)
    expect(passed).toEqual(['Allow', 'Allow', 'Allow', 'Deny', 'Deny'])
    expect(await gateway[api](preflight)).toMatchObject({ reason: 'over-limit', policy: 'preflight' })
    expect(await gateway[api]({ ...preflight, ip: '203.0.113.9' })).toMatchObject({ effect: 'Allow' })
  })

  it('is denied from a blocked address, and not counted from an allowed one', async () => {
    const access = (kind: 'block' | 'allow') => [parseAccess(kind, 'ip#198.51.100.7', {}, [], [])!]
    expect(await new Gateway({ access: access('block') })[api](preflight)).toMatchObject({
      effect: 'Deny',
      reason: 'blocked',
    })
    expect(await new Gateway({ access: access('allow') })[api](preflight)).toMatchObject({
      effect: 'Allow',
      reason: 'exempt',
    })
  })

  it('is held to a route for OPTIONS, and not to a route for ANY', async () => {
    const routes = {
      'OPTIONS /export': { policies: [policy({ name: 'export', limit: 1, by: 'ip' })] },
      'ANY /*': { cost: 3, credentials: 'required' },
    }
    const gateway = new Gateway({
      set: parseTiersFile({ tiers: { anonymous: { by: 'ip', policies: [policy()] } }, routes }, 'f'),
    })
    expect(await gateway[api]({ ...preflight, path: '/else' })).toMatchObject({ effect: 'Allow', policy: 'preflight' })
    expect(await gateway[api]({ ...preflight, path: '/export' })).toMatchObject({
      effect: 'Allow',
      policy: 'export',
      remaining: 0,
    })
    expect(await gateway[api]({ ...preflight, path: '/export' })).toMatchObject({ effect: 'Deny', policy: 'export' })
  })

  it('passes uncounted in mode off, and is counted but never denied in mode observe', async () => {
    const settings = (mode: string) => ({ settings: { mode, preflight: { limit: 1, window: '1m' } } })
    expect(await new Gateway({ set: setOf(settings('off')) })[api](preflight)).toMatchObject({
      effect: 'Allow',
      reason: 'uncounted',
    })
    const watched = new Gateway({ set: setOf(settings('observe')) })
    await watched[api](preflight)
    expect(await watched[api](preflight)).toMatchObject({ effect: 'Allow', observed: true })
  })
})

it('OPTIONS without the preflight headers is a request like any other', async () => {
  const options = { method: 'OPTIONS' }
  expect(await new Gateway().allowed(times(25, options))).toBe(20)
  const { Origin } = PREFLIGHT
  await expect(new Gateway({ set: setOf() }).rest({ ...options, headers: { Origin } })).rejects.toThrow('Unauthorized')
})

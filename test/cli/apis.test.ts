import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { API_IDS } from '../../local/gateway/api'
import { restEvent } from '../authorize/gateway'
import { newAuthorizer } from './authorizer'
import { type Deployment, deploy } from './command-line'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const now = { now: NOW }
const limit = (units: number, more: object = {}) => ({
  policies: [{ name: 'per-hour', limit: units, window: '1h', ...more }],
})
const tier = (name: string, fields: object) => ({ pk: 'policy-set', sk: `tier#${name}`, ...fields })

const folder = mkdtempSync(path.join(tmpdir(), 'sluice-apis-'))
afterAll(() => rmSync(folder, { recursive: true }))

let at: Deployment
beforeAll(async () => {
  at = await deploy()
  await at.put(
    tier('anonymous', { by: 'ip', ...limit(5) }),
    tier('free', limit(10)),
    tier('free @shop', { apis: ['shop'], ...limit(20) }),
    tier('sum', limit(9, { by: 'stage' })),
    tier('each', limit(7, { by: ['client', 'api'] })),
    { pk: 'policy-set', sk: 'global', policies: [{ name: 'api', limit: 100, window: '1h', by: 'api' }] },
  )
  await at.json(['apis', 'label', 'a1b2c3d4e5', 'shop'])
  await at.put({ pk: 'policy-set', sk: 'api#f6g7h8i9j0', name: 'Cart' })
})
afterAll(async () => at?.close())

/** Requests of the authorizer to the API of `shop`. */
const ask = (event: object) => newAuthorizer(at, NOW)(event)

const inShop = (key?: string) => {
  const event = restEvent({ key })
  return { ...event, requestContext: { ...(event.requestContext as object), apiId: 'a1b2c3d4e5', stage: 'prod' } }
}

describe('the labels of APIs', () => {
  it('are listed, changed and removed', async () => {
    expect(await at.json(['apis', 'list'])).toEqual([
      { id: 'a1b2c3d4e5', label: 'shop' },
      { id: 'f6g7h8i9j0', name: 'Cart' },
    ])
    await at.json(['apis', 'label', 'f6g7h8i9j0', 'cart'])
    expect((await at.json(['apis', 'list']))[1]).toEqual({ id: 'f6g7h8i9j0', name: 'Cart', label: 'cart' })
    await at.json(['apis', 'label', 'k1k1k1k1k1', 'old'])
    await at.json(['apis', 'remove', 'k1k1k1k1k1', '--yes'])
    expect(await at.sluice(['apis', 'remove', 'k1k1k1k1k1', '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no API "k1k1k1k1k1"'),
    })
  })

  it.each([
    ['shop', 'label "shop" is already used by API a1b2c3d4e5'],
    ['Cart', 'label "Cart" is already used by API f6g7h8i9j0'],
    ['a1b2c3d4e5', 'label "a1b2c3d4e5" is already used by API a1b2c3d4e5'],
    ['a/b', 'label must be a label of 1 to 64 letters'],
  ])('must be valid and unique: %s is refused', async (label, sentence) => {
    const { code, err } = await at.sluice(['apis', 'label', 'x0x0x0x0x0', label])
    expect([code, err]).toEqual([1, expect.stringContaining(sentence)])
  })
})

describe('limits of some APIs', () => {
  const of = async (...args: string[]) => {
    const { policies } = await at.json(['usage', ...args], now)
    return policies.map((one: { policy: string; used: number; limit: number }) => [one.policy, one.used, one.limit])
  }

  it('tiers list shows limits with the APIs that they apply to', async () => {
    const { apiKey: key } = await at.json(['clients', 'create', 'acme', '--tier', 'free'])
    await ask(inShop(key))
    expect(await of('acme')).toEqual([['per-hour', 0, 10]])
    expect(await of('acme', '--api', 'shop')).toEqual([['per-hour', 1, 20]])
    expect(await of('acme', '--api', 'a1b2c3d4e5/prod')).toEqual([['per-hour', 1, 20]])
    expect(await of('acme', '--api', 'cart')).toEqual([['per-hour', 0, 10]])
    expect(await of('api:shop')).toEqual([['api', expect.any(Number), 100]])
    expect((await at.sluice(['usage', 'acme', '--api', 'shop'], now)).out).toContain('client:acme (tier free @shop)')
  })

  it('usage, refund and reset work on limits that count by API', async () => {
    const { apiKey: key } = await at.json(['clients', 'create', 'bolt', '--tier', 'each'])
    for (let i = 0; i < 3; i++) await ask(inShop(key))
    expect((await at.sluice(['usage', 'bolt'], now)).err).toContain('has no policies')
    expect(await of('bolt', '--api', 'shop')).toEqual([['per-hour', 3, 7]])
    await at.json(['refund', 'bolt', '1', '--api', 'shop', '--policy', 'per-hour'], now)
    expect(await of('bolt', '--api', 'shop')).toEqual([['per-hour', 2, 7]])
    expect(await at.json(['peek', 'bolt', '--api', 'shop'], now)).toMatchObject({ allowed: true, remaining: 4 })
    await at.json(['reset', 'bolt', '--api', 'shop'], now)
    expect(await of('bolt', '--api', 'shop')).toEqual([['per-hour', 0, 7]])
  })

  it('what a tier counts by stage is found with the tier, and a subject that only tiers count says so', async () => {
    const { code, err } = await at.sluice(['usage', 'stage:shop/prod'], now)
    expect([code, err]).toEqual([1, 'stage:a1b2c3d4e5/prod has no policies for all tiers: add --tier sum\n'])
    expect(await of('stage:shop/prod', '--tier', 'sum')).toEqual([['per-hour', 0, 9]])
  })

  it('--api names an API by its id, label or name', async () => {
    expect((await at.sluice(['usage', 'acme', '--api', 'a/b/c'], now)).err).toContain(
      '--api must name an API or its stage',
    )
    expect((await at.sluice(['usage', 'stage:shop'], now)).err).toContain('a subject must be')
  })

  it.each([
    [
      ['usage', 'acme', '--api', 'shpo'],
      '--api names API "shpo", and no API has this id, label or name: did you mean "shop"?\n',
    ],
    [
      ['peek', 'acme', '--api', 'shpo/prod'],
      '--api names API "shpo", and no API has this id, label or name: did you mean "shop"?\n',
    ],
    [
      ['reset', 'api:foo'],
      'a subject names API "foo", and no API has this id, label or name: known are shop, a1b2c3d4e5, cart, ',
    ],
    [['usage', 'stage:foo/prod'], 'a subject names API "foo", and no API has this id, label or name: known are '],
  ])('a misspelt API is refused, not taken for one without limits of its own: %j', async (args, said) => {
    const { code, out, err } = await at.sluice(args, now)
    expect([code, out, err]).toEqual([1, '', expect.stringContaining(said)])
  })

  it.each([API_IDS.apiId, 'z9y8x7w6v5'])('an API without a label is named by its id: %s', async (id) => {
    expect(await of('acme', '--api', id)).toEqual([['per-hour', 0, 10]])
    expect((await at.json(['peek', 'acme', '--api', `${id}/prod`], now)).allowed).toBe(true)
  })

  it('the doctor warns of limits that name an unknown API', async () => {
    const file = path.join(folder, 'event.json')
    writeFileSync(file, JSON.stringify(inShop()))
    await at.put(tier('free @typo', { apis: ['shpo'], ...limit(1) }))
    const { event, checks } = await at.json(['doctor', '--event', file])
    expect(event).toMatchObject({ api: 'shop/prod', tier: 'anonymous' })
    expect(checks.find(({ name }: { name: string }) => name === 'apis')).toMatchObject({
      status: 'warning',
      found: 'tier free @typo names API "shpo", which is not an API’s id, label or name here',
    })
  })

  it('an export keeps limits of some APIs unchanged', async () => {
    const { out } = await at.sluice(['tiers', 'export'])
    expect(out).toContain('free @shop:\n')
    const file = path.join(folder, 'tiers.yaml')
    writeFileSync(file, `${out.replace('exported:', 'settings @dev: { apis: ["*/dev"], mode: observe }\nexported:')}`)
    expect((await at.sluice(['tiers', 'apply', file, '--yes'])).out).toContain('applied: 1 added')
    expect((await at.sluice(['tiers', 'diff', file])).out).not.toContain('settings')
    expect((await at.sluice(['tiers', 'get', 'free @shop'])).out).toContain('apis:')
    expect((await at.sluice(['tiers', 'list'])).out).toContain('settings @dev')
  })

  it('tiers apply refuses limits of some APIs that contradict each other', async () => {
    const file = path.join(folder, 'double.yaml')
    const tiers = { anonymous: { policies: [] }, 'free @x': { apis: ['a1b2c3d4e5'], policies: [] } }
    writeFileSync(file, JSON.stringify({ tiers }))
    const { code, err } = await at.sluice(['tiers', 'apply', file, '--yes'])
    expect([code, err]).toEqual([1, expect.stringContaining('are both for "a1b2c3d4e5/*"')])
  })
})

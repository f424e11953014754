import { parseAccess } from '../../lambda/config-table/items/access-list'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { unknownRoute, unknownTier } from '../../lambda/config-table/items/tiers'
import { subjectKey } from '../../limiter/subject-key'
import { policy } from '../policies/issues'
import { Gateway, KEYS, restEvent, times } from './gateway'

const anonymous = { by: 'ip', policies: [policy({ limit: 3 })] }
const setOf = (file: object) =>
  parseTiersFile({ tiers: { anonymous, free: { policies: [policy({ limit: 5 })] } }, ...file }, 'tiers.yaml')
const { free, pro } = KEYS
const access = (...entries: string[]) =>
  entries.map((entry) => {
    const [kind, words] = entry.split(' ') as ['block' | 'allow', string]
    return parseAccess(kind, words, {}, [], [])!
  })

describe('global policies', () => {
  const set = setOf({ global: { policies: [policy({ name: 'all', limit: 8 })] } })

  it('limit all callers together', async () => {
    const gateway = new Gateway({ set })
    expect(await gateway.allowed(times(9, { key: free }))).toBe(5)
    expect(await gateway.allowed(times(9, { ip: '198.51.100.1' }))).toBe(3)
    expect(await gateway.rest({ ip: '198.51.100.2' })).toMatchObject({
      effect: 'Deny',
      policy: 'all',
      limit: 8,
      remaining: 0,
    })
  })

  it('are not charged when a caller’s own policy denies', async () => {
    const gateway = new Gateway({ set })
    await gateway.allowed(times(5, { key: free }))
    const { policies } = (await gateway.store.read(subjectKey('global'))) as {
      policies: Record<string, Record<string, number>>
    }
    expect(await gateway.allowed(times(19, { key: free }))).toBe(0)
    expect((await gateway.store.read(subjectKey('global'))).policies).toEqual(policies)
    expect((await gateway.rest({ key: free })).policy).toBe('per-minute')
    expect(await gateway.allowed(times(9, { ip: '198.51.100.1' }))).toBe(3)
  })
})

describe('the subject of a policy', () => {
  it('may be all callers of a route together', async () => {
    const gateway = new Gateway({
      set: setOf({ routes: { 'GET /export': { policies: [policy({ name: 'export', limit: 2, by: 'route' })] } } }),
    })
    expect(
      await gateway.allowed([
        { path: '/export', key: free },
        { path: '/export' },
        { path: '/export', ip: '198.51.100.1' },
      ]),
    ).toBe(2)
    expect(await gateway.rest({ path: '/export', key: free })).toMatchObject({ effect: 'Deny', policy: 'export' })
    expect(await gateway.rest({ path: '/other', key: free })).toMatchObject({ effect: 'Allow' })
  })

  it('may be the tenant in a trusted header, or else the address', async () => {
    const settings = { trustedHeaders: ['x-tenant'] }
    const gateway = new Gateway({
      set: setOf({ settings, global: { policies: [policy({ name: 'tenant', limit: 2, by: 'header:x-tenant' })] } }),
    })
    const from = (tenant: string | undefined, ip: string) => {
      const event = restEvent({ ip })
      return gateway.authorize({
        ...event,
        multiValueHeaders: undefined,
        headers: { ...(event.headers as object), ...(tenant && { 'X-Tenant': tenant }) },
      })
    }
    const effects = []
    for (const [tenant, ip] of [
      ['north', '198.51.100.1'],
      ['north', '198.51.100.2'],
      ['north', '198.51.100.3'],
      ['south', '198.51.100.4'],
      [undefined, '198.51.100.5'],
      [undefined, '198.51.100.6'],
    ] as const) {
      const answer = (await from(tenant, ip)) as unknown as { policyDocument: { Statement: [{ Effect: string }] } }
      effects.push(answer.policyDocument.Statement[0].Effect)
    }
    expect(effects).toEqual(['Allow', 'Allow', 'Deny', 'Allow', 'Allow', 'Allow'])
  })
})

it('is never an untrusted header, whatever a policy says', async () => {
  const settings = { trustedHeaders: ['x-tenant'] }
  const good = setOf({ settings, global: { policies: [policy({ name: 'tenant', limit: 2, by: 'header:x-tenant' })] } })
  const gateway = new Gateway({ set: { ...good, settings: { ...good.settings, trustedHeaders: [] } } })
  for (let i = 0; i < 9; i++) {
    const event = restEvent()
    await gateway.authorize({
      ...event,
      multiValueHeaders: undefined,
      headers: { ...(event.headers as object), 'X-Tenant': `made up ${i}` },
    })
  }
  expect(gateway.store.size).toBe(1)
  expect(await gateway.rest()).toMatchObject({ effect: 'Deny', policy: 'tenant' })
})

describe('a client', () => {
  const client = (more: object) => ({
    clients: { find: async () => ({ id: 'acme', tier: 'free', overrides: {}, disabled: false, ...more }) },
  })

  it('has its overrides in force', async () => {
    const gateway = new Gateway({ set: setOf({}), ...client({ overrides: { 'per-minute': { limit: 7 } } }) })
    expect(await gateway.allowed(times(9, { key: 'any' }))).toBe(7)
  })

  it('has its overrides until they expire by the instance’s clock, and keeps what it has used', async () => {
    const overrides = { 'per-minute': { limit: 7, until: Infinity } }
    const gateway = new Gateway({ set: setOf({}), ...client({ overrides }) })
    overrides['per-minute'].until = gateway.clock.now + 1000
    expect(await gateway.allowed(times(6, { key: 'any' }))).toBe(6)
    gateway.clock.now += 999
    expect(await gateway.allowed(times(2, { key: 'any' }))).toBe(1)
    gateway.clock.now += 1
    expect(await gateway.rest({ key: 'any' })).toMatchObject({ effect: 'Deny', limit: 5 })
    gateway.clock.now += 120_000
    expect(await gateway.allowed(times(9, { key: 'any' }))).toBe(5)
  })

  it('whose tier does not exist has the default tier, and without that the anonymous one', async () => {
    const lost = client({ tier: 'platinum' })
    expect(
      await new Gateway({ set: setOf({ settings: { defaultTier: 'free' } }), ...lost }).rest({ key: 'any' }),
    ).toMatchObject({
      tier: 'free',
      limit: 5,
    })
    expect(await new Gateway({ set: setOf({}), ...lost }).rest({ key: 'any' })).toMatchObject({
      tier: 'anonymous',
      limit: 3,
    })
  })

  it('that is disabled gets a 401, not a 429', async () => {
    const gateway = new Gateway({ set: setOf({}), ...client({ disabled: true }) })
    await expect(gateway.rest({ key: 'any' })).rejects.toThrow(/^Unauthorized$/)
    expect(await gateway.http({ key: 'any' })).toMatchObject({
      effect: 'Deny',
      reason: 'unauthorized',
      rateLimited: false,
      retryAfter: 1,
    })
    expect(gateway.store.size).toBe(0)
  })
})

describe('credentials', () => {
  it('may be required by a tier', async () => {
    const gateway = new Gateway({
      set: setOf({ tiers: { anonymous: { ...anonymous, credentials: 'required' }, free: { policies: [policy()] } } }),
    })
    await expect(gateway.rest()).rejects.toThrow('Unauthorized')
    await expect(gateway.rest({ key: 'made up' })).rejects.toThrow('Unauthorized')
    expect(await gateway.rest({ key: free })).toMatchObject({ effect: 'Allow' })
  })

  it('may be required by a route', async () => {
    const gateway = new Gateway({ set: setOf({ routes: { 'ANY /admin/*': { credentials: 'required' } } }) })
    await expect(gateway.rest({ path: '/admin/users' })).rejects.toThrow('Unauthorized')
    expect(await gateway.rest({ path: '/hello' })).toMatchObject({ effect: 'Allow' })
    expect(await gateway.rest({ path: '/admin/users', key: free })).toMatchObject({ effect: 'Allow' })
  })

  it('that cannot be verified admit no caller, and are not reported as invalid', async () => {
    const sources = {
      of: () => ({
        list: [{ resolve: async () => ({ kind: 'unavailable' as const, cause: new Error('slow issuer') }) }],
        address: { trustedHops: 0, viewerAddress: false },
      }),
    }
    const gateway = new Gateway({ set: setOf({}), sources: sources as never })
    await expect(gateway.rest()).rejects.toThrow('callers cannot be verified')
    expect(await gateway.http()).toMatchObject({ effect: 'Deny', reason: 'unverified', rateLimited: false })
    const entry = { level: 'error', event: 'identity_unavailable', details: { error: 'slow issuer' } }
    expect(gateway.entries).toMatchObject([entry, entry])
  })

  it('that are required and cannot be looked up are neither accepted nor rejected; where they are not required the caller is anonymous', async () => {
    const clients = { find: async () => 'unavailable' as const }
    const required = { anonymous: { ...anonymous, credentials: 'required' } }
    const gateway = new Gateway({ set: setOf({ tiers: required }), clients })
    await expect(gateway.rest({ key: free })).rejects.toThrow('callers cannot be verified')
    await expect(gateway.rest()).rejects.toThrow('Unauthorized')
    expect(gateway.store.size).toBe(0)
    expect(await new Gateway({ set: setOf({}), clients }).rest({ key: free })).toMatchObject({
      effect: 'Allow',
      tier: 'anonymous',
    })
  })

  it('that are made up cost a look-up each, until their address has shown too many of them', async () => {
    let looked = 0
    const clients = { find: async () => void looked++ }
    const settings = { failedCredentials: 10 }
    const gateway = new Gateway({ set: setOf({ settings }), clients })
    for (let i = 0; i < 500; i++) expect((await gateway.rest({ key: `made up ${i}` })).tier).toBe('anonymous')
    expect(looked).toBe(11)
    const required = { anonymous: { ...anonymous, credentials: 'required' } }
    const closed = new Gateway({ set: setOf({ tiers: required, settings }), clients })
    for (let i = 0; i < 11; i++) await expect(closed.rest({ key: `made up ${i}` })).rejects.toThrow('Unauthorized')
    expect(await closed.rest({ key: 'made up' })).toMatchObject({
      effect: 'Deny',
      reason: 'unavailable',
      retryAfter: 1,
    })
  })

  it('that an invalid item may require are required, unless the deployment says that no caller has to show any', async () => {
    const set = setOf({ routes: { 'ANY /admin/*': {} } })
    const routes = [unknownRoute('ANY /admin/*')!]
    const tiers = new Map([['anonymous', unknownTier('anonymous')!]])
    for (const unknown of [
      { ...set, routes },
      { ...set, tiers },
    ]) {
      const gateway = new Gateway({ set: unknown })
      await expect(gateway.rest({ path: '/admin/users' })).rejects.toThrow('callers cannot be verified')
      expect(await gateway.http({ path: '/admin/users' })).toMatchObject({ effect: 'Deny', reason: 'unverified' })
      const open = new Gateway({ set: unknown, authentication: 'none' })
      expect(await open.rest({ path: '/admin/users' })).toMatchObject({ effect: 'Allow' })
    }
    expect(await new Gateway({ set: { ...set, routes } }).rest({ path: '/hello' })).toMatchObject({ effect: 'Allow' })
    expect(await new Gateway({ set: { ...set, tiers }, authentication: 'none', failOpen: false }).rest()).toMatchObject(
      {
        reason: 'unavailable',
      },
    )
  })
})

describe('the access list', () => {
  it('denies blocked addresses before anything is looked up or counted', async () => {
    let looked = 0
    const clients = { find: async () => void looked++ }
    const gateway = new Gateway({ set: setOf({}), access: access('block ip#203.0.113.0/24'), clients })
    const told = {
      effect: 'Deny',
      reason: 'blocked',
      rateLimited: false,
      policy: '',
      subject: subjectKey('ip:203.0.113.9'),
      detail: 'This caller is blocked.',
      retryAfter: 31_536_000,
    }
    expect(await gateway.rest({ ip: '203.0.113.9', key: free })).toMatchObject(told)
    expect(await gateway.http({ ip: '203.0.113.9' })).toMatchObject(told)
    expect(await gateway.rest({ ip: '203.0.114.9' })).toMatchObject({ effect: 'Allow' })
    expect(looked).toBe(0)
    expect(gateway.store.size).toBe(1)
  })

  it('denies blocked clients; their requests without a key are anonymous', async () => {
    const gateway = new Gateway({ access: access('block client#client-free') })
    const subject = subjectKey('client:client-free')
    expect(await gateway.rest({ key: free })).toMatchObject({ effect: 'Deny', reason: 'blocked', subject })
    expect(await gateway.rest({ key: pro })).toMatchObject({ effect: 'Allow', tier: 'pro' })
    expect(await gateway.rest()).toMatchObject({ effect: 'Allow', tier: 'anonymous' })
  })

  it('lets allowed callers pass uncounted, but not without required credentials', async () => {
    const routes = { 'GET /admin': { credentials: 'required' } }
    const gateway = new Gateway({
      set: setOf({ routes }),
      access: access('allow ip#203.0.113.7', 'allow client#client-free'),
    })
    expect(await gateway.allowed(times(50, { ip: '203.0.113.7' }))).toBe(50)
    expect(await gateway.rest({ key: free })).toMatchObject({
      effect: 'Allow',
      reason: 'exempt',
      rateLimited: false,
      limit: 0,
    })
    expect(gateway.store.size).toBe(0)
    await expect(gateway.rest({ ip: '203.0.113.7', path: '/admin' })).rejects.toThrow('Unauthorized')
  })

  it('denies an allowed client at a blocked address', async () => {
    const gateway = new Gateway({ access: access('block ip#203.0.113.0/24', 'allow client#client-free') })
    expect(await gateway.rest({ ip: '203.0.113.7', key: free })).toMatchObject({ reason: 'blocked' })
  })
})

test('a made-up key mints no quota: a thousand of them are one address', async () => {
  const gateway = new Gateway({ set: setOf({}) })
  expect(
    await gateway.allowed(Array.from({ length: 1000 }, (_, i) => ({ key: `made up ${i}`, ip: '198.51.100.9' }))),
  ).toBe(3)
  expect(gateway.store.size).toBe(1)
})

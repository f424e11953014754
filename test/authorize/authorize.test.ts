import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { DEFAULT_SETTINGS } from '../../lambda/config-table/items/settings'
import { headersFromContext } from '../../lambda/responses/backend-headers'
import { StoreUnavailableError } from '../../limiter/errors'
import type { FailureMode } from '../../limiter/options'
import { MemoryStore } from '../../limiter/stores/memory-store'
import type { StateStore } from '../../limiter/stores/store'
import { subjectKey } from '../../limiter/subject-key'
import { policy } from '../policies/issues'
import websocket from '../responses/events/websocket-connect.json'
import { Gateway, httpEvent, KEYS, type Request, restEvent, times } from './gateway'

const { free, pro, enterprise } = KEYS

describe.each(['rest', 'http'] as const)('a caller of a %s API', (api) => {
  it('is allowed until the limit, then denied by the policy that says so', async () => {
    const gateway = new Gateway()
    for (let left = 19; left >= 0; left--) {
      expect(await gateway[api]()).toMatchObject({
        effect: 'Allow',
        allowed: true,
        reason: 'ok',
        policy: 'per-minute',
        limit: 20,
        remaining: left,
      })
    }
    expect(await gateway[api]()).toMatchObject({
      effect: 'Deny',
      allowed: false,
      rateLimited: true,
      reason: 'over-limit',
      policy: 'per-minute',
      tier: 'anonymous',
      limit: 20,
      remaining: 0,
      degraded: false,
      rateLimitPolicy: '"everybody";q=1000000;w=60, "per-minute";q=20;w=60',
    })
    expect(gateway.entries).toEqual([])
  })

  it('passes again exactly after Retry-After', async () => {
    const gateway = new Gateway()
    await gateway.allowed(times(20))
    const { retryAfter } = await gateway[api]()
    expect(retryAfter).toBeGreaterThan(0)
    gateway.clock.now += (retryAfter - 1) * 1000
    expect((await gateway[api]()).effect).toBe('Deny')
    gateway.clock.now += 1000
    expect((await gateway[api]()).effect).toBe('Allow')
  })

  it('with a known key is counted as that client, in its tier, wherever it calls from', async () => {
    const gateway = new Gateway()
    expect(await gateway[api]({ key: free })).toMatchObject({
      tier: 'free',
      limit: 60,
      remaining: 59,
      subject: subjectKey('client:client-free'),
    })
    expect(await gateway[api]({ key: free, ip: '203.0.113.9' })).toMatchObject({ remaining: 58 })
    expect(await gateway[api]({ key: pro })).toMatchObject({ tier: 'pro', limit: 600, remaining: 599 })
    expect(await gateway[api]({ key: enterprise })).toMatchObject({ tier: 'enterprise', limit: 6000, remaining: 5999 })
    expect(await gateway[api]()).toMatchObject({
      tier: 'anonymous',
      limit: 20,
      remaining: 19,
      subject: subjectKey('ip:198.51.100.7'),
    })
  })

  it('gets all policies that were evaluated, the tightest first in the context', async () => {
    const told = await new Gateway()[api]({ path: '/search', key: free })
    expect(told).toMatchObject({ policy: 'search', limit: 10, remaining: 9 })
    expect(told.rateLimitPolicy).toBe(
      '"everybody";q=1000000;w=60, "search";q=10;w=1, ' +
        '"per-minute";q=60;w=60, "per-hour";q=1000;w=3600, "per-day";q=10000;w=86400',
    )
  })

  it('is charged five for a route that costs five', async () => {
    const gateway = new Gateway()
    expect(await gateway[api]({ method: 'POST', path: '/batch', key: free })).toMatchObject({ remaining: 55 })
    expect(await gateway[api]({ method: 'GET', path: '/batch', key: free })).toMatchObject({ remaining: 54 })
    await gateway.allowed(times(2, { method: 'POST', path: '/batch' })) // 10 of 20
    await gateway.allowed(times(7)) // 17 of 20
    expect(await gateway[api]({ method: 'POST', path: '/batch' })).toMatchObject({ effect: 'Deny', remaining: 3 })
    expect(await gateway[api]()).toMatchObject({ effect: 'Allow', remaining: 2 })
  })
})

describe('a plan that bills overage', () => {
  const monthly = {
    name: 'monthly',
    algorithm: 'fixed-window',
    limit: 3,
    window: 'month',
    timezone: 'Europe/Berlin',
    overage: 'allow',
  }
  const plan = (...policies: unknown[]) => parseTiersFile({ tiers: { anonymous: { policies } } }, 'f')

  it('admits requests past its quota, marked for backends and access logs', async () => {
    const gateway = new Gateway({ set: plan(monthly, policy({ limit: 5 })) })
    expect(await gateway.allowed(times(3))).toBe(3)
    const over = await gateway.rest()
    expect(over).toMatchObject({ effect: 'Allow', reason: 'ok', policy: 'monthly', limit: 3, remaining: 0, overage: 1 })
    expect(headersFromContext(over)).toMatchObject({ 'X-RateLimit-Remaining': '0', 'X-RateLimit-Overage': '1' })
    expect(await gateway.http()).toMatchObject({
      effect: 'Allow',
      overage: 2,
      rateLimit: expect.stringContaining('"monthly";r=0'),
    })
  })

  it('still enforces its other limits, and bills no denied request', async () => {
    const gateway = new Gateway({ set: plan(monthly, policy({ limit: 5 })) })
    expect(await gateway.allowed(times(9))).toBe(5)
    expect(await gateway.rest()).toMatchObject({
      effect: 'Deny',
      reason: 'over-limit',
      policy: 'per-minute',
      overage: 0,
    })
    gateway.clock.now += 120_000
    expect(await gateway.rest()).toMatchObject({ effect: 'Allow', overage: 3 })
  })
})

describe('made-up identities get no quota of their own', () => {
  it('a thousand made-up keys from one address share the quota of that address', async () => {
    const gateway = new Gateway()
    const requests = Array.from({ length: 1000 }, (_, i): Request => ({ key: `made-up-${i}` }))
    expect(await gateway.allowed(requests)).toBe(20)
    expect(await gateway.allowed(times(1))).toBe(0)
    expect(gateway.callers).toBe(1)
  })

  it('keys of unusual forms get none', async () => {
    const gateway = new Gateway()
    const keys = [
      '',
      ' ',
      'x'.repeat(513),
      '__proto__',
      'constructor',
      'ключ',
      '\u0000',
      `${free}x`,
      free.toUpperCase(),
      'a, b',
    ]
    const requests = Array.from({ length: 5 }, () => keys.map((key): Request => ({ key }))).flat()
    expect(await gateway.allowed(requests)).toBe(20)
    expect(gateway.callers).toBe(1)
  })

  it('addresses of one IPv6 household share a quota, its neighbours have their own', async () => {
    const gateway = new Gateway()
    const household = Array.from(
      { length: 256 },
      (_, i): Request => ({ ip: `2001:db8:1:2a${i.toString(16).padStart(2, '0')}::${i}` }),
    )
    expect(await gateway.allowed(household)).toBe(20)
    expect(await gateway.allowed(times(1, { ip: '2001:db8:1:2b00::1' }))).toBe(1)
    expect(await gateway.allowed(times(1, { ip: '2001:db8:1:29ff:ffff:ffff:ffff:ffff' }))).toBe(1)
    expect(gateway.callers).toBe(3)
  })

  it('other spellings of an address, or headers that claim one, get none', async () => {
    const gateway = new Gateway()
    expect(
      await gateway.allowed([...times(10, { ip: '198.51.100.7' }), ...times(15, { ip: '::ffff:198.51.100.7' })]),
    ).toBe(20)
    const forwarded = restEvent()
    expect(
      await gateway.authorize({ ...forwarded, headers: { 'X-Forwarded-For': '8.8.8.8' }, multiValueHeaders: null }),
    ).toMatchObject({
      context: { allowed: false },
    })
  })

  it('all invalid addresses together are one caller', async () => {
    const gateway = new Gateway()
    const strange = ['test-invoke-source-ip', 'x', '999.1.1.1', '1.2.3', ':::'].flatMap((ip) => times(8, { ip }))
    expect(await gateway.allowed(strange)).toBe(20)
    expect(gateway.callers).toBe(1)
  })

  it('other spellings of a path change neither its cost nor its limit', async () => {
    const gateway = new Gateway()
    const spellings = ['/search', '/search/', '//search', '/se%61rch', '/%73earch//', '/search?x=1']
    const requests = Array.from({ length: 5 }, () => spellings.map((path): Request => ({ path, key: pro }))).flat()
    expect(await gateway.allowed(requests)).toBe(10)
    expect(await gateway.rest({ method: 'POST', path: '/b%61tch/', key: free })).toMatchObject({ remaining: 55 })
    expect(await gateway.rest({ method: 'post', path: '/batch', key: free })).toMatchObject({ remaining: 50 })
  })
})

describe('a denied request', () => {
  it('is not charged to the tier when its route denies it', async () => {
    const gateway = new Gateway()
    const search: Request = { path: '/search', key: free }
    expect(await gateway.allowed(times(10, search))).toBe(10)
    for (let i = 0; i < 20; i++) expect(await gateway.rest(search)).toMatchObject({ effect: 'Deny', policy: 'search' })
    expect(await gateway.rest({ key: free })).toMatchObject({ policy: 'per-minute', remaining: 49 })
  })

  it('is not charged to the route when its tier denies it', async () => {
    const tiers = {
      anonymous: { policies: [policy()] },
      free: { policies: [policy({ name: 'three', limit: 3, algorithm: 'anchored-window' })] },
    }
    const routes = {
      'GET /search': { policies: [policy({ name: 'search', limit: 10, algorithm: 'anchored-window', window: '1d' })] },
    }
    const gateway = new Gateway({ set: parseTiersFile({ tiers, routes }, 'f') })
    const search: Request = { path: '/search', key: free }
    for (let minute = 1; minute <= 3; minute++) {
      expect(await gateway.allowed(times(3, search))).toBe(3)
      for (let i = 0; i < 5; i++) expect(await gateway.rest(search)).toMatchObject({ effect: 'Deny', policy: 'three' })
      gateway.clock.now += 60_000
    }
    expect(await gateway.rest(search)).toMatchObject({ effect: 'Allow', policy: 'search', remaining: 0 })
    expect(await gateway.rest(search)).toMatchObject({ effect: 'Deny', policy: 'search' })
  })

  it('is not charged to the client when its address is over the limit, nor the other way round', async () => {
    const set = parseTiersFile(
      {
        tiers: {
          anonymous: { policies: [policy()] },
          free: { policies: [policy({ name: 'mine', limit: 10 }), policy({ name: 'ours', limit: 4, by: 'ip' })] },
          pro: { policies: [policy({ name: 'few', limit: 2 }), policy({ name: 'ours', limit: 4, by: 'ip' })] },
        },
      },
      'f',
    )
    const gateway = new Gateway({ set })
    expect(await gateway.allowed(times(4, { key: pro }))).toBe(2) // two more were refused by "few"
    expect(await gateway.allowed(times(2, { key: free }))).toBe(2) // so "ours" has two left
    for (let i = 0; i < 5; i++)
      expect(await gateway.rest({ key: free })).toMatchObject({ effect: 'Deny', policy: 'ours' })
    expect(await gateway.rest({ key: free, ip: '203.0.113.9' })).toMatchObject({
      effect: 'Allow',
      rateLimit: expect.stringContaining('"mine";r=7'),
    })
  })

  it('may be followed by a cheaper one that passes', async () => {
    const gateway = new Gateway()
    await gateway.allowed(times(17))
    expect(await gateway.allowed(times(5, { method: 'POST', path: '/batch' }))).toBe(0)
    expect(await gateway.allowed(times(5))).toBe(3)
  })
})

describe('a tier', () => {
  const set = parseTiersFile(
    {
      tiers: { anonymous: { by: 'ip', policies: [policy({ limit: 2 })] }, free: { policies: [] } },
      routes: { 'GET /health': { cost: 0 }, 'GET /search': { policies: [policy({ name: 'search', limit: 1 })] } },
    },
    'f',
  )

  it('that does not exist makes its client anonymous, by address', async () => {
    const gateway = new Gateway({ set })
    expect(await gateway.rest({ key: pro })).toMatchObject({
      tier: 'anonymous',
      subject: subjectKey('client:client-pro'),
      remaining: 1,
    })
    expect(await gateway.rest()).toMatchObject({ remaining: 0 })
    expect(await gateway.rest({ key: pro })).toMatchObject({ effect: 'Deny' })
  })

  it('without policies is not counted, its routes are', async () => {
    const gateway = new Gateway({ set })
    for (let i = 0; i < 5; i++)
      expect(await gateway.rest({ key: free })).toMatchObject({ effect: 'Allow', reason: 'uncounted', tier: 'free' })
    expect(await gateway.allowed(times(3, { key: free, path: '/search' }))).toBe(1)
  })

  it('does not count what costs nothing', async () => {
    const gateway = new Gateway({ set })
    expect(await gateway.allowed(times(50, { path: '/health' }))).toBe(50)
    expect(gateway.store.size).toBe(0)
  })
})

describe('without a configuration', () => {
  const withoutAnonymous = { ...parseTiersFile({ tiers: { anonymous: { policies: [] } } }, 'f'), tiers: new Map() }

  it.each([
    [null, true, 'none'],
    [null, false, 'none'],
    [withoutAnonymous, true, 'none'],
    [withoutAnonymous, false, 'none'],
    [withoutAnonymous, true, 'config'],
    [withoutAnonymous, false, 'config'],
  ] as const)('requests pass only if that was wished for', async (none, failOpen, authentication) => {
    const gateway = new Gateway({ set: none, failOpen, authentication })
    const told = {
      effect: failOpen ? 'Allow' : 'Deny',
      reason: failOpen ? 'uncounted' : 'unavailable',
      rateLimited: false,
    }
    expect(await gateway.rest()).toMatchObject(told)
    expect(await gateway.http({ key: free })).toMatchObject(told)
    expect(gateway.store.size).toBe(0)
  })

  it.each([true, false])(
    'and no word on who has to show credentials, nothing passes, whatever the failure mode',
    async (failOpen) => {
      const gateway = new Gateway({ set: null, failOpen })
      for (const key of [undefined, free]) {
        await expect(gateway.rest({ key })).rejects.toThrow('callers cannot be verified at the moment')
        await expect(gateway.authorize(websocket)).rejects.toThrow('callers cannot be verified at the moment')
        expect(await gateway.http({ key })).toMatchObject({
          effect: 'Deny',
          reason: 'unverified',
          rateLimited: false,
          degraded: true,
        })
      }
      expect(gateway.entries).toHaveLength(6)
    },
  )

  it('a client whose tier is known is still held to it', async () => {
    const tiers = new Map([
      [
        'free',
        parseTiersFile(
          { tiers: { anonymous: { policies: [] }, free: { policies: [policy({ limit: 2 })] } } },
          'f',
        ).tiers.get('free')!,
      ],
    ])
    const gateway = new Gateway({
      set: { settings: DEFAULT_SETTINGS, tiers, routes: [], global: [] },
      failOpen: false,
    })
    expect(await gateway.allowed(times(3, { key: free }))).toBe(2)
    expect(await gateway.allowed(times(3))).toBe(0)
  })
})

describe('a store that fails', () => {
  const failing = (error: () => unknown): StateStore => {
    const fail = async () => {
      throw error()
    }
    return { write: fail, read: fail, delete: fail }
  }
  const away = () => new StoreUnavailableError('unreachable', 'no connection')

  it('records no overage, so none is billed', async () => {
    const monthly = policy({ algorithm: 'fixed-window', window: 'month', limit: 2, overage: 'allow' })
    const set = parseTiersFile({ tiers: { anonymous: { policies: [monthly] } } }, 'f')
    const gateway = new Gateway({ set, store: failing(away), onStoreError: 'local' })
    expect(await gateway.allowed(times(4))).toBe(4)
    expect(await gateway.rest()).toMatchObject({ effect: 'Allow', degraded: true, remaining: 0, overage: 0 })
  })

  it('leaves a fifth of the limits to this instance, by default, and marks its decisions as degraded', async () => {
    const gateway = new Gateway({ store: failing(away) })
    for (let i = 0; i < 4; i++)
      expect(await gateway.rest()).toMatchObject({ effect: 'Allow', reason: 'ok', degraded: true })
    expect(await gateway.rest()).toMatchObject({
      effect: 'Deny',
      reason: 'degraded',
      rateLimited: true,
      degraded: true,
      policy: 'per-minute',
    })
    expect(gateway.entries).toHaveLength(5)
    expect(gateway.entries[0]).toEqual({
      level: 'warn',
      event: 'decision_without_store',
      details: { tier: 'anonymous', policy: 'per-minute', failure: 'unreachable' },
    })
  })

  it('denies a caller whose own item is refused, whatever the failure mode, and names no limit as the reason', async () => {
    const gateway = new Gateway({
      store: failing(() => new StoreUnavailableError('item', 'too large')),
      onStoreError: 'allow',
    })
    expect(await gateway.rest()).toMatchObject({
      effect: 'Deny',
      reason: 'unavailable',
      rateLimited: false,
      degraded: true,
    })
    expect(gateway.entries[0]).toMatchObject({ level: 'warn', details: { failure: 'item' } })
  })

  it('lets every request pass in failure mode allow', async () => {
    const gateway = new Gateway({ store: failing(away), onStoreError: 'allow' })
    for (let i = 0; i < 50; i++)
      expect(await gateway.http()).toMatchObject({ effect: 'Allow', reason: 'ok', degraded: true })
  })

  it('denies every request in failure mode deny, and gives the store as the reason, not a limit', async () => {
    const gateway = new Gateway({ store: failing(away), onStoreError: 'deny' })
    expect(await gateway.rest()).toMatchObject({
      effect: 'Deny',
      reason: 'unavailable',
      rateLimited: false,
      degraded: true,
      retryAfter: 1,
      detail: 'The limit cannot be checked at the moment. Try again in 1 second.',
    })
  })

  it.each<[FailureMode, string, string]>([
    ['local', 'Allow', 'uncounted'],
    ['allow', 'Allow', 'uncounted'],
    ['deny', 'Deny', 'unavailable'],
    ['throw', 'Allow', 'uncounted'],
  ])('because its table was never there decides nothing: %s, %s', async (onStoreError, effect, reason) => {
    const gateway = new Gateway({
      store: failing(() => new StoreUnavailableError('missing-table', 'there is no table "state"')),
      onStoreError,
    })
    expect(await gateway.rest()).toMatchObject({ effect, reason })
    expect(gateway.entries).toEqual([
      {
        level: 'error',
        event: 'decision_failed',
        details: { error: 'there is no table "state"', name: 'StoreUnavailableError', reason: 'missing-table' },
      },
    ])
  })

  it.each(['timeout', 'throttled', 'unreachable', 'refused', 'missing-table', 'a bug'] as const)(
    'is nobody’s way in where his tier says deny, whatever the failure: %s',
    async (reason) => {
      const thrown = reason === 'a bug' ? new TypeError(reason) : new StoreUnavailableError(reason, reason)
      const denying = (failureMode: string) =>
        parseTiersFile(
          { tiers: { anonymous: { policies: [] }, free: { failureMode, policies: [policy({ limit: 2 })] } } },
          'f',
        )
      const gateway = new Gateway({ set: denying('deny'), store: failing(() => thrown) })
      for (let i = 0; i < 3; i++)
        expect(await gateway.rest({ key: free })).toMatchObject({ effect: 'Deny', reason: 'unavailable' })
      expect(gateway.entries.length).toBeGreaterThan(0)
      const open = new Gateway({ set: denying('allow'), store: failing(() => thrown), onStoreError: 'deny' })
      expect(await open.rest({ key: free })).toMatchObject({ effect: 'Allow' })
    },
  )

  it.each([new TypeError('a bug'), 'a string', null, undefined, 7, Object.create(null)])(
    'or throws %p is answered, not thrown',
    async (thrown) => {
      const gateway = new Gateway({ store: failing(() => thrown), onStoreError: 'deny' })
      expect(await gateway.rest()).toMatchObject({ effect: 'Deny', reason: 'unavailable' })
      expect(await gateway.http()).toMatchObject({ effect: 'Deny', reason: 'unavailable' })
      expect(gateway.entries).toHaveLength(2)
    },
  )

  it('still gets answers when the look-up or the policy set fails, too', async () => {
    const broken = async () => {
      throw new Error('broken')
    }
    for (const parts of [{ clients: { find: broken } }, { configuration: { current: broken } }]) {
      for (const failOpen of [true, false]) {
        const open = new Gateway({ ...parts, failOpen, authentication: 'none' })
        const told = { effect: failOpen ? 'Allow' : 'Deny', reason: failOpen ? 'uncounted' : 'unavailable' }
        expect(await open.rest({ key: free })).toMatchObject(told)
        expect(open.entries).toMatchObject([{ level: 'error', details: { error: 'broken' } }])
        const gateway = new Gateway({ ...parts, failOpen })
        await expect(gateway.rest({ key: free })).rejects.toThrow('callers cannot be verified')
      }
    }
  })

  it('counts again after it recovers, from the stored state', async () => {
    const memory = new MemoryStore()
    let down = false
    const store: StateStore = {
      write: async (key, write) => (down ? Promise.reject(away()) : memory.write(key, write)),
      read: async (key) => (down ? Promise.reject(away()) : memory.read(key)),
      delete: async (key, whileMarks) => memory.delete(key, whileMarks),
    }
    const gateway = new Gateway({ store })
    await gateway.allowed(times(5))
    down = true
    expect(await gateway.rest()).toMatchObject({ degraded: true })
    down = false
    expect(await gateway.rest()).toMatchObject({ degraded: false, remaining: 14 })
  })
})

describe('data that identifies a caller', () => {
  it('is neither in an answer nor in the log: no key and no address', async () => {
    const SECRETS = [
      'sk-live-secret-key',
      'made-up-secret-key',
      '198.51.100.7',
      '2001:db8:1:2a00',
      '2001:db8:1:2aff::9',
    ]
    const clients = { find: async () => ({ id: 'client-secret-id', tier: 'free', overrides: {}, disabled: false }) }
    const away = async () => {
      throw new StoreUnavailableError('unreachable', 'no connection')
    }
    const gateways = [
      new Gateway(),
      new Gateway({ clients }),
      new Gateway({ clients, store: { write: away, read: away, delete: away } }),
      new Gateway({ onStoreError: 'deny', store: { write: away, read: away, delete: away } }),
      new Gateway({ set: null, authentication: 'none' }),
    ]
    for (const gateway of gateways) {
      for (const key of ['sk-live-secret-key', 'made-up-secret-key', undefined]) {
        for (const ip of ['198.51.100.7', '2001:db8:1:2aff::9', 'not an address 198.51.100.7']) {
          for (let i = 0; i < 8; i++) {
            await gateway.rest({ key, ip })
            await gateway.http({ key, ip })
          }
        }
      }
      const text = JSON.stringify([gateway.answers, gateway.entries])
      for (const secret of [...SECRETS, 'client-secret-id']) expect(text).not.toContain(secret)
    }
  })
})

describe('other events', () => {
  it('a WebSocket that connects is counted', async () => {
    const gateway = new Gateway()
    expect(await gateway.authorize(websocket)).toMatchObject({
      policyDocument: { Statement: [{ Effect: 'Allow' }] },
      context: { reason: 'ok', remaining: 19 },
    })
  })

  it('an answer has the form that the kind of API understands', async () => {
    const gateway = new Gateway()
    expect(Object.keys(await gateway.authorize(restEvent())).sort()).toEqual([
      'context',
      'policyDocument',
      'principalId',
    ])
    expect(Object.keys(await gateway.authorize(httpEvent())).sort()).toEqual(['context', 'isAuthorized'])
    expect(await gateway.authorize(restEvent())).toMatchObject({ principalId: subjectKey('ip:198.51.100.7') })
  })
})

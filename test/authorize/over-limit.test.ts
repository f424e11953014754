import { PolicySets } from '../../lambda/config-table/configuration'
import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { StoreUnavailableError } from '../../limiter/errors'
import { RateLimiter } from '../../limiter/rate-limiter'
import { sdkCalls } from '../../limiter/stores/sdk-calls'
import { FakeLog, FakeTable, itemsOf, settled } from '../config-table/fake-table'
import { policy } from '../policies/issues'
import { describeStores } from '../stores'
import { Gateway, KEYS, times } from './gateway'

const anonymous = { by: 'ip', policies: [policy({ limit: 2 })] }
const setOf = (fields: Record<string, unknown>, more: object = {}) =>
  parseTiersFile(
    {
      tiers: {
        anonymous,
        free: { policies: [policy({ algorithm: 'fixed-window', limit: 2, window: '1s', ...fields })] },
      },
      ...more,
    },
    'tiers.yaml',
  )
const request = { key: KEYS.free }

describe('a request past the limit', () => {
  describeStores((opened, name) => {
    const ip = `198.51.100.${name.length}`

    it('waits in the authorizer for its queue slot, and is then like any other', async () => {
      const waited: number[] = []
      const gateway: Gateway = new Gateway({
        set: setOf({ action: 'delay', maxDelay: '2s' }),
        store: opened().store,
        wait: async (ms) => void waited.push(ms),
      })
      gateway.clock.now += 250 - (gateway.clock.now % 1000)
      const told = []
      for (let i = 0; i < 7; i++) told.push(await gateway.rest({ ...request, ip }))
      expect(told.map(({ effect, delayMs }) => [effect, delayMs])).toEqual([
        ...Array(6).fill(['Allow', 0]),
        ['Deny', 0],
      ])
      expect(waited).toEqual([750, 750, 1750, 1750])
      expect(told[6]).toMatchObject({ reason: 'over-limit', retryAfter: 1 })
    })
  })

  const gatewayOf = (fields: Record<string, unknown>, parts: ConstructorParameters<typeof Gateway>[0] = {}) => {
    const waited: number[] = []
    const gateway = new Gateway({ set: setOf(fields), wait: async (ms) => void waited.push(ms), ...parts })
    gateway.clock.now += 250 - (gateway.clock.now % 1000)
    return { gateway, waited }
  }

  it('is passed on with its delay where the backend delays it', async () => {
    const { gateway, waited } = gatewayOf({ action: 'delay', delayIn: 'backend' })
    await gateway.allowed(times(2, request))
    expect(await gateway.http(request)).toMatchObject({ effect: 'Allow', delayMs: 750 })
    expect(waited).toEqual([])
  })

  it('waits in the authorizer for a leaky bucket, too, if so configured', async () => {
    const queue = { algorithm: 'leaky-bucket', mode: 'queue', maxDelay: '2s' }
    for (const [fields, delayMs, wanted] of [
      [{ ...queue, delayIn: 'authorizer' }, 0, [500]],
      [queue, 500, []],
    ] as const) {
      const { gateway, waited } = gatewayOf(fields)
      await gateway.rest(request)
      expect(await gateway.rest(request)).toMatchObject({ effect: 'Allow', delayMs })
      expect(waited).toEqual(wanted)
    }
  })

  it('waits for the policies that say so, however long others would, and not if one denies', async () => {
    const here = { action: 'delay', maxDelay: '1s', limit: 1, window: '1s', algorithm: 'fixed-window' }
    const there = { ...here, window: '2s', maxDelay: '20s', delayIn: 'backend' }
    const policies = [policy({ ...here, name: 'here' }), policy({ ...there, name: 'there' })]
    const waited: number[] = []
    const set = parseTiersFile({ tiers: { anonymous, free: { policies } } }, 'tiers.yaml')
    const gateway = new Gateway({ set, wait: async (ms) => void waited.push(ms) })
    gateway.clock.now -= gateway.clock.now % 2000
    expect(await gateway.http(request)).toMatchObject({ effect: 'Allow', delayMs: 0 })
    expect(await gateway.http(request)).toMatchObject({ effect: 'Allow', delayMs: 1000 })
    expect(await gateway.http(request)).toMatchObject({ effect: 'Deny', delayMs: 0 })
    expect(waited).toEqual([1000])
  })

  it('waits no longer than API Gateway does, and passes the rest of the delay on', async () => {
    const { gateway, waited } = gatewayOf({ action: 'delay', maxDelay: '5s' })
    await gateway.allowed(times(10, request))
    const { store, clock } = gateway
    const limiter = new RateLimiter({ store, clock: clock.read })
    const slow = new Gateway({
      set: setOf({ action: 'delay', maxDelay: '5s' }),
      limiter: {
        decide: async (charges) => {
          const decision = await limiter.decide(charges)
          slow.clock.now += 6000 // an upstream authorizer, keys of an issuer, a cold start
          return decision
        },
      },
      wait: async (ms) => void waited.push(ms),
    })
    slow.clock.now = clock.now
    waited.length = 0
    expect(await slow.rest(request)).toMatchObject({ effect: 'Allow', delayMs: 2250 })
    expect(waited).toEqual([2500])
  })

  it('does not wait when it is denied, nor when the upstream authorizer denies it', async () => {
    const upstream = { check: async () => ({ kind: 'denied' }) as const }
    const { gateway, waited } = gatewayOf({ action: 'delay' }, { upstream })
    for (let i = 0; i < 4; i++) await gateway.http(request)
    expect(waited).toEqual([])
  })

  it('passes with low priority, as observed, or within its overrun, and the context says which', async () => {
    for (const [fields, wanted] of [
      [{ action: 'deprioritize' }, { priority: 'low', observed: false, overrun: false }],
      [{ action: 'observe' }, { priority: 'normal', observed: true, overrun: false }],
      [{ overrun: '50%' }, { priority: 'normal', observed: false, overrun: true }],
    ] as const) {
      const { gateway } = gatewayOf(fields)
      await gateway.allowed(times(2, request))
      expect(await gateway.rest(request)).toMatchObject({
        effect: 'Allow',
        reason: 'ok',
        rateLimited: false,
        retryAfter: 0,
        ...wanted,
      })
    }
  })

  it('waits by a real timer by default', async () => {
    const { gateway } = gatewayOf({ action: 'delay', maxDelay: '1s', window: '20ms' }, { wait: undefined })
    gateway.clock.now -= gateway.clock.now % 20
    await gateway.allowed(times(2, request))
    const startedAt = performance.now()
    expect(await gateway.rest(request)).toMatchObject({ effect: 'Allow', delayMs: 0 })
    expect(performance.now() - startedAt).toBeGreaterThan(18)
  })
})

describe('the mode of the whole service', () => {
  const TTL_MS = 30_000
  const items = (mode?: string) => [
    { pk: 'policy-set', sk: 'tier#anonymous', ...anonymous },
    {
      pk: 'policy-set',
      sk: 'tier#free',
      credentials: 'required',
      policies: [policy({ limit: 2, window: '1d' }), policy({ name: 'slow', limit: 3, window: '1d', action: 'delay' })],
    },
    { pk: 'policy-set', sk: 'block#ip#203.0.113.9' },
    ...(mode ? [{ pk: 'policy-set', sk: 'settings', mode }] : []),
  ]

  /** An authorizer by a config table whose settings change while it runs. */
  function running(mode?: string) {
    const table = new FakeTable()
    const writeMode = (to?: string) => {
      table.answers = () => ({ Items: itemsOf(items(to)) })
    }
    writeMode(mode)
    const log = new FakeLog()
    const reading = {
      calls: sdkCalls(table.client),
      tableName: 'config',
      deadlineMs: 2000,
      log: log.write,
      ttlMs: TTL_MS,
    }
    const gateway: Gateway = new Gateway({
      configuration: { current: () => sets.current() },
      wait: async () => {
        throw new Error('nobody waits')
      },
    })
    const sets = new PolicySets({ ...reading, clock: gateway.clock.read })
    const change = async (to?: string) => {
      writeMode(to)
      gateway.clock.now += TTL_MS
      await gateway.rest({ ip: '198.51.100.99' }) // is still decided by the old one, and has the new one read
      await settled()
    }
    return { gateway, change, log }
  }

  it('changes with the config table, once the configuration is read again', async () => {
    const { gateway, change, log } = running()
    expect(await gateway.allowed(times(3, request))).toBe(2)
    await change('observe')
    expect(await gateway.rest(request)).toMatchObject({ effect: 'Allow', reason: 'ok', observed: true, remaining: 0 })
    await change('off')
    expect(await gateway.rest(request)).toMatchObject({
      effect: 'Allow',
      reason: 'uncounted',
      policy: '',
      tier: 'free',
    })
    await change()
    expect(await gateway.rest(request)).toMatchObject({ effect: 'Deny', reason: 'over-limit' })
    expect(log.entries).toEqual([])
  })

  it('stays what it was until then', async () => {
    const { gateway, change } = running('off')
    expect(await gateway.allowed(times(5, request))).toBe(5)
    await change('enforce')
    expect(await gateway.allowed(times(5, request))).toBe(2)
  })

  it.each(['observe', 'off'])(
    'is for limits only: %s lets in nobody who is blocked or without credentials',
    async (mode) => {
      const { gateway } = running(mode)
      expect(await gateway.rest({ ip: '203.0.113.9' })).toMatchObject({ effect: 'Deny', reason: 'blocked' })
      const set = parseTiersFile(
        { settings: { mode }, tiers: { anonymous: { ...anonymous, credentials: 'required' } } },
        'tiers.yaml',
      )
      expect(await new Gateway({ set }).http()).toMatchObject({ effect: 'Deny', reason: 'unauthorized' })
      const upstream = { check: async () => ({ kind: 'denied' }) as const }
      expect(await new Gateway({ set: setOf({}, { settings: { mode } }), upstream }).http(request)).toMatchObject({
        effect: 'Deny',
      })
    },
  )

  it('makes no call to the state table when it is off', async () => {
    const refuse = () => Promise.reject(new Error('called'))
    const store = { write: refuse, read: refuse, delete: refuse }
    const gateway = new Gateway({ set: setOf({}, { settings: { mode: 'off' } }), store })
    expect(await gateway.rest(request)).toMatchObject({ effect: 'Allow', reason: 'uncounted' })
    expect(gateway.entries).toEqual([])
  })

  it('denies no request while it observes, not even when the store is unavailable in failure mode deny', async () => {
    const refuse = () => Promise.reject(new StoreUnavailableError('unreachable', 'away'))
    const parts = { store: { write: refuse, read: refuse, delete: refuse }, onStoreError: 'deny' } as const
    expect(
      await new Gateway({ set: setOf({}, { settings: { mode: 'observe' } }), ...parts }).rest(request),
    ).toMatchObject({
      ...{ effect: 'Allow', degraded: true },
    })
    expect(await new Gateway({ set: setOf({}), ...parts }).rest(request)).toMatchObject({
      effect: 'Deny',
      reason: 'unavailable',
    })
  })
})

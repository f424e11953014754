import { parseTiersFile } from '../../lambda/config-table/items/parse-tiers-file'
import { StoreUnavailableError } from '../../limiter/errors'
import { CountingStore } from '../limiter/limiters'
import { policy } from '../policies/issues'
import { thoroughly } from '../runs'
import { Gateway, KEYS, times } from './gateway'

const setOf = (file: object) =>
  parseTiersFile(
    {
      tiers: {
        anonymous: { by: 'ip', policies: [policy({ limit: 100 })] },
        free: { policies: [policy({ limit: 1000 }), policy({ name: 'per-day', limit: 9000, window: '1d' })] },
      },
      ...file,
    },
    'tiers.yaml',
  )
const { free } = KEYS

describe('a request that is held to a client’s limits and to global ones', () => {
  const global = { policies: [policy({ name: 'all', limit: 100_000 })] }

  it('is one write in the common case', async () => {
    const store = new CountingStore()
    const gateway = new Gateway({ set: setOf({ global }), store })
    for (let i = 0; i < 200; i++) {
      gateway.clock.now += 5
      expect(await gateway.rest({ key: free })).toMatchObject({ effect: 'Allow' })
    }
    expect(store.calls).toBeGreaterThanOrEqual(201)
    expect(store.calls).toBeLessThanOrEqual(210)
  })

  it('takes two writes where the global policies are strict', async () => {
    const store = new CountingStore()
    const strict = { policies: [policy({ name: 'all', limit: 100_000, consistency: 'strict' })] }
    const gateway = new Gateway({ set: setOf({ global: strict }), store })
    await gateway.allowed(times(20, { key: free }))
    expect(store.calls).toBe(40)
  })

  thoroughly('is not charged to the global limit when the client’s denies it', async () => {
    const gateway = new Gateway({ set: setOf({ global: { policies: [policy({ name: 'all', limit: 1500 })] } }) })
    expect(await gateway.allowed(times(1100, { key: free }))).toBe(1000)
    let others = 0
    for (let i = 0; i < 10; i++) others += await gateway.allowed(times(100, { ip: `198.51.100.${i}` }))
    expect(others).toBe(500)
  })
})

describe('without the store', () => {
  const away = async () => {
    throw new StoreUnavailableError('unreachable', 'away')
  }
  const store = { write: away, read: away, delete: away }

  it('an instance admits the share of each limit in the settings, a fifth by default', async () => {
    expect(await new Gateway({ set: setOf({}), store }).allowed(times(90))).toBe(20)
    expect(await new Gateway({ set: setOf({ settings: { localShare: 0.5 } }), store }).allowed(times(90))).toBe(50)
    expect(await new Gateway({ set: setOf({ settings: { localShare: 1 } }), store }).allowed(times(150))).toBe(100)
  })

  it('each tier may have its own failure mode', async () => {
    const tiers = {
      anonymous: { by: 'ip', failureMode: 'deny', policies: [policy({ limit: 100 })] },
      free: { failureMode: 'allow', policies: [policy({ limit: 5 })] },
      pro: { policies: [policy({ limit: 10 })] },
    }
    const gateway = new Gateway({ set: setOf({ tiers }), store })
    expect(await gateway.rest()).toMatchObject({ effect: 'Deny', reason: 'unavailable', degraded: true })
    expect(await gateway.allowed(times(20, { key: free }))).toBe(20)
    expect(await gateway.allowed(times(20, { key: KEYS.pro }))).toBe(2)
  })

  it('a tier may count locally where the function’s failure mode is deny', async () => {
    const tiers = {
      anonymous: { by: 'ip', policies: [policy({ limit: 100 })] },
      free: { failureMode: 'local', policies: [policy({ limit: 5 })] },
    }
    const gateway = new Gateway({ set: setOf({ tiers }), store, onStoreError: 'deny' })
    expect(await gateway.rest()).toMatchObject({ effect: 'Deny', reason: 'unavailable' })
    expect(await gateway.rest({ key: free })).toMatchObject({ effect: 'Allow', degraded: true })
  })
})

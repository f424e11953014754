import type { PolicyInput } from '../../limiter'
import { CountingStore, everyAlgorithm, limiterOn, MIDNIGHT, TestClock } from './limiters'

const perMinute = { name: 'per-minute', algorithm: 'fixed-window', limit: 10, window: '1m' } as const

describe('a limiter', () => {
  for (const policies of [...everyAlgorithm(1000).map((policy) => [policy]), everyAlgorithm(1000)]) {
    it(`makes one call for each allowed request while no other instance writes: ${policies.map(({ name }) => name).join(', ')}`, async () => {
      const store = new CountingStore()
      const clock = new TestClock()
      const limiter = limiterOn(store, clock, policies)
      for (let i = 0; i < 200; i++) {
        clock.at += [1, 40, 900, 7000, 61_000][i % 5]!
        expect(await limiter.take('client:a')).toMatchObject({ allowed: true })
      }
      expect(store.calls).toBe(200)
    })
  }

  it('makes no call for a cached denial', async () => {
    const store = new CountingStore()
    const limiter = limiterOn(store, new TestClock(), [perMinute])
    await limiter.take('client:a', { cost: 10 })
    const before = store.calls
    for (let i = 0; i < 100; i++)
      expect(await limiter.take('client:a')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    expect(store.calls).toBe(before)
  })

  it('makes a call for a request that costs less than the one that was denied', async () => {
    const limiter = limiterOn(new CountingStore(), new TestClock(), [perMinute])
    await limiter.take('client:a', { cost: 8 })
    expect(await limiter.take('client:a', { cost: 5 })).toMatchObject({ allowed: false, remaining: 2 })
    expect(await limiter.take('client:a', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('makes one read and no write when a cached denial has expired', async () => {
    const store = new CountingStore()
    const clock = new TestClock()
    const limiter = limiterOn(store, clock, [perMinute])
    await limiter.take('client:a', { cost: 10 })
    clock.at += 5001
    expect(await limiter.take('client:a')).toMatchObject({ allowed: false })
    expect(await limiter.take('client:a')).toMatchObject({ allowed: false })
    expect([store.writes, store.reads]).toEqual([1, 1])
  })

  it('notices within denialTtlMs that another instance has reset the subject', async () => {
    const store = new CountingStore()
    const clock = new TestClock()
    const [mine, yours] = [limiterOn(store, clock, [perMinute]), limiterOn(store, clock, [perMinute])]
    await mine.take('client:a', { cost: 10 })
    await yours.reset('client:a')
    expect(await mine.take('client:a')).toMatchObject({ allowed: false })
    clock.at += 5001
    expect(await mine.take('client:a')).toMatchObject({ allowed: true, remaining: 9 })
  })

  it('makes one call for each allowed request also with no view of the subject, or an old one', async () => {
    const windows: PolicyInput[] = [
      { ...perMinute, limit: 100 },
      { name: 'sliding', limit: 100, window: '1m' },
      { name: 'second', limit: 40, window: '1s' },
    ]
    const store = new CountingStore()
    const clock = new TestClock()
    const instances = Array.from({ length: 5 }, () => limiterOn(store, clock, windows))
    let taken = 0
    for (const pauseMs of [0, 0, 10, 500, 3000, 59_000, 61_000, 3_600_000, 90_000_000, 0]) {
      clock.at += pauseMs
      for (const instance of instances.slice(taken % 2)) {
        taken++
        expect(await instance.take('client:a')).toMatchObject({ allowed: true })
      }
    }
    expect(store.calls).toBe(taken)
  })

  it('makes few calls for many simultaneous requests of one subject', async () => {
    const store = new CountingStore()
    const limiter = limiterOn(store, new TestClock(), [{ ...perMinute, limit: 100 }])
    const decisions = await Promise.all(Array.from({ length: 150 }, () => limiter.take('client:a')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(100)
    expect(store.calls).toBeLessThanOrEqual(3)
  })

  it('purges expired fields before they fill a write unit', async () => {
    const store = new CountingStore()
    const clock = new TestClock()
    const policies: PolicyInput[] = [{ name: 'burst', limit: 5, window: '1s' }]
    // A client with few requests, each of which reaches an instance without a view.
    for (let i = 0; i < 200; i++) {
      clock.at += 30_000
      expect(await limiterOn(store, clock, policies).take('client:a')).toMatchObject({ allowed: true })
    }
    expect(store.calls).toBeLessThanOrEqual(200 * 1.05)
    const item = (await storedItems(store))[0]!
    expect(Object.keys(Object.values(item.policies)[0]!).length).toBeLessThanOrEqual(36)
  })
})

describe('several instances together', () => {
  for (const policy of everyAlgorithm(20, '1h')) {
    it(`admit exactly the limit: ${policy.name}`, async () => {
      const store = new CountingStore()
      const clock = new TestClock()
      const instances = Array.from({ length: 7 }, () => limiterOn(store, clock, [policy]))
      let admitted = 0
      for (let i = 0; i < 60; i++) {
        const { allowed } = await instances[(i * 5) % 7]!.take('client:a', { cost: 1 + (i % 2) })
        if (allowed) admitted += 1 + (i % 2)
      }
      expect(admitted).toBe(20)
    })

    it(`admit no more than the limit when their clocks differ by two seconds: ${policy.name}`, async () => {
      const store = new CountingStore()
      const clocks = [-2000, -700, 0, 1500, 2000].map((skew) => new TestClock(MIDNIGHT + 1_800_000 + skew))
      const instances = clocks.map((clock) => limiterOn(store, clock, [{ ...policy, limit: 7 }]))
      let admitted = 0
      for (let i = 0; i < 40; i++) if ((await instances[(i * 3) % 5]!.take('client:a')).allowed) admitted++
      expect(admitted).toBe(7)
    })
  }
})

async function storedItems(store: CountingStore) {
  const { items } = (store as unknown as { inner: { items: Map<string, { policies: Record<string, object> }> } }).inner
  return [...items.values()]
}

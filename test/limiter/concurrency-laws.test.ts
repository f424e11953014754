import fc from 'fast-check'
import { type AnyPolicyInput, createLimiter, MemoryStore, type Slot } from '../../limiter'
import { runs } from '../runs'
import { FaultyStore, STORE_FAULTS, type StoreFault } from './faulty-store'

const T = Date.UTC(2090, 0, 1)
const TIMEOUT_MS = 10_000
const LIMIT = 3
const RUNNING: AnyPolicyInput = { name: 'running', algorithm: 'concurrency', limit: LIMIT, timeout: '10s' }
const REQUESTS: AnyPolicyInput = { name: 'requests', limit: 1000, window: '1m' }

const STEPS = fc.array(
  fc.record({
    kind: fc.constantFrom('acquire', 'acquire', 'acquire', 'release', 'release elsewhere', 'deliver'),
    by: fc.nat({ max: 3 }),
    of: fc.nat(),
    afterMs: fc.constantFrom(0, 0, 1, 150, 2000, 9000),
    faults: fc.array(fc.constantFrom<StoreFault | undefined>(undefined, undefined, ...STORE_FAULTS), { maxLength: 3 }),
  }),
  { minLength: 5, maxLength: 40 },
)
/** Each process's clock: any two differ by a second at most. */
const CLOCKS = fc.array(fc.integer({ min: -500, max: 500 }), { minLength: 4, maxLength: 4 })

it('never more run than the limit that are neither released nor over, whatever is lost, and however clocks differ', async () => {
  await fc.assert(
    fc.asyncProperty(STEPS, CLOCKS, async (steps, offsets) => {
      let now = T
      const inner = new MemoryStore()
      const store = new FaultyStore(inner)
      const limiterOf = (offset: number, of: unknown = store) =>
        createLimiter({
          store: of as MemoryStore,
          policies: [REQUESTS, RUNNING],
          clock: () => now + offset,
          onStoreError: 'throw',
          deadlineMs: 5000,
        })
      const limiters = offsets.map((offset) => limiterOf(offset))
      const running: { readonly slot: Slot; readonly until: number; readonly by: number }[] = []
      for (const { kind, by, of, afterMs, faults } of steps) {
        now += afterMs
        for (const [i, { until }] of [...running.entries()].reverse()) if (until <= now) running.splice(i, 1)
        store.plan(faults)
        const limiter = limiters[by]!
        if (kind === 'acquire') {
          const slot = await limiter.acquire('a').catch(() => undefined)
          if (slot?.allowed) running.push({ slot, until: slot.chargedAt! - offsets[by]! + TIMEOUT_MS, by })
        } else if (kind === 'deliver') await store.deliverDelayed()
        else if (running.length > 0) {
          const [{ slot }] = running.splice(of % running.length, 1) as [(typeof running)[number]]
          await (kind === 'release' ? slot.release() : limiter.settle(slot.reservation!, {})).catch(() => {})
        }
        expect(running.length).toBeLessThanOrEqual(LIMIT)
      }
      store.plan([])
      await store.deliverDelayed()
      now += TIMEOUT_MS + 2000
      const last = limiterOf(0, inner)
      const slots = []
      for (let i = 0; i < LIMIT + 1; i++) slots.push(await last.acquire('a'))
      expect(slots.map(({ allowed }) => allowed)).toEqual([true, true, true, false])
    }),
    { numRuns: runs(60, 3000) },
  )
})

it('a release counts once, and frees nobody else, whatever is lost', async () => {
  const faults = fc.array(fc.constantFrom<StoreFault | undefined>(undefined, ...STORE_FAULTS), { maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(faults, faults, fc.boolean(), fc.boolean(), async (first, second, elsewhere, between) => {
      const inner = new MemoryStore()
      const store = new FaultyStore(inner)
      const limiterOf = (of: unknown) =>
        createLimiter({
          store: of as MemoryStore,
          policies: [RUNNING],
          clock: () => T,
          onStoreError: 'throw',
          deadlineMs: 5000,
        })
      const [one, other, sure] = [limiterOf(store), limiterOf(store), limiterOf(inner)]
      const [slot, stays] = [await one.acquire('a'), await one.acquire('a')]
      let more = 0
      store.plan(first, async () => {
        if (between && (await sure.acquire('a')).allowed) more++
      })
      const release = () => (elsewhere ? other.settle(slot.reservation!, {}) : slot.release())
      await release().catch(() => {})
      store.plan(second)
      await release().catch(() => {})
      store.plan([])
      await store.deliverDelayed()
      await limiterOf(inner).settle(slot.reservation!, {})
      await store.deliverDelayed()
      const { remaining } = await limiterOf(inner).peek('a', { cost: 0 })
      expect(remaining).toBe(LIMIT - 1 - more)
      expect(await stays.release()).toBe(true)
    }),
    { numRuns: runs(60, 3000) },
  )
})

it('requests that come together share writes, and are as many as fit', async () => {
  const inner = new MemoryStore()
  const policies: AnyPolicyInput[] = [REQUESTS, { ...RUNNING, limit: 250 }]
  const limiters = Array.from({ length: 4 }, () =>
    createLimiter({ store: inner, policies, clock: () => T, deadlineMs: 9000, firstDeadlineMs: 9000 }),
  )
  const slots = await Promise.all(Array.from({ length: 400 }, (_, i) => limiters[i % 4]!.acquire('a')))
  expect(slots.filter(({ allowed }) => allowed)).toHaveLength(250)
  const released = await Promise.all(slots.map((slot) => slot.release()))
  expect(released.filter((one) => one)).toHaveLength(250)
  expect(await limiters[0]!.peek('a', { cost: 0 })).toMatchObject({ policies: { running: { remaining: 250 } } })
})

describe('without the store', () => {
  /** A limiter whose store can be switched off. */
  function scene(more: object = {}) {
    const store = new FaultyStore(new MemoryStore())
    const time = { now: T }
    const limiter = createLimiter({
      store,
      policies: [REQUESTS, { ...RUNNING, limit: 4 }],
      clock: () => time.now,
      deadlineMs: 50,
      ...more,
    })
    const down = () => store.plan(Array.from({ length: 1000 }, () => 'request lost' as const))
    const up = () => store.plan([])
    return { store, time, limiter, down, up }
  }

  it('this instance has its share of the slots, until they are released or over', async () => {
    const { limiter, time, down } = scene({ localShare: 0.5 })
    down()
    const slots = [await limiter.acquire('a'), await limiter.acquire('a')]
    expect(slots.map(({ allowed, degraded, reservation }) => [allowed, degraded, reservation])).toEqual([
      [true, true, undefined],
      [true, true, undefined],
    ])
    const denied = await limiter.acquire('a')
    expect(denied).toMatchObject({ allowed: false, degraded: true, policy: 'running', retryAfterMs: 1000 })
    expect([await slots[0]!.release(), await slots[0]!.release(), await denied.release()]).toEqual([true, false, false])
    expect((await limiter.acquire('a')).allowed).toBe(true)
    expect((await limiter.acquire('a')).allowed).toBe(false)
    time.now += 11_000
    expect((await limiter.acquire('a')).allowed).toBe(true)
  })

  it('those count that were seen to run, until they are over', async () => {
    const { limiter, time, down } = scene()
    for (let i = 0; i < 3; i++) await limiter.acquire('a')
    time.now += 5000
    down()
    expect((await limiter.acquire('a')).allowed).toBe(true)
    expect((await limiter.acquire('a')).allowed).toBe(false)
    time.now += 6000
    for (let i = 0; i < 3; i++) expect((await limiter.acquire('a')).allowed).toBe(true)
    expect((await limiter.acquire('a')).allowed).toBe(false)
  })

  it('a slot whose answer was lost is freed in the store once it is released', async () => {
    const { limiter, store, up } = scene()
    store.plan(Array.from({ length: 3 }, () => 'answer lost' as const))
    const slot = await limiter.acquire('a')
    expect(slot).toMatchObject({ allowed: true, degraded: true })
    up()
    const other = await limiter.acquire('b') // the store answers again
    await slot.release()
    expect(await limiter.peek('a', { cost: 0 })).toMatchObject({ policies: { running: { remaining: 4 } } })
    await other.release()
  })

  it.each(['allow', 'deny'] as const)('failure mode %s decides, and nothing is held', async (onStoreError) => {
    const { limiter, down } = scene({ onStoreError })
    down()
    const slot = await limiter.acquire('a')
    expect([slot.allowed, slot.degraded, await slot.release()]).toEqual([onStoreError === 'allow', true, false])
  })

  it('what other policies were charged is written afterwards, and no slot', async () => {
    const { limiter, time, down, up } = scene()
    down()
    await limiter.acquire('a')
    up()
    time.now += 1500
    await limiter.acquire('a')
    await limiter.acquire('a')
    const { policies } = await limiter.peek('a', { cost: 0 })
    expect(policies).toMatchObject({ requests: { remaining: 997 }, running: { remaining: 2 } })
    await limiter.close()
  })
})

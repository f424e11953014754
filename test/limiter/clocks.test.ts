import { ClockError, createLimiter, MemoryStore, type PolicyInput } from '../../limiter'
import { runs } from '../runs'
import { describeStores } from '../stores'
import { Fleet, seeded } from './fleet'
import { CountingStore, everyAlgorithm } from './limiters'

const CALENDARS = ['day', 'week', 'month', 'year'].flatMap((window) =>
  ['America/New_York', 'Pacific/Kiritimati'].map(
    (timezone): PolicyInput => ({
      name: `${window}-${timezone.split('/')[1]}`,
      algorithm: 'fixed-window',
      limit: 10,
      window,
      timezone,
    }),
  ),
)

describe('a clock', () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1, -0.5, 1_763_683_200_000_000, undefined, null, '0', {}, 7n])(
    'that returns %p is reported as an error, and nothing is charged',
    async (told) => {
      const store = new CountingStore(new MemoryStore())
      const limiter = createLimiter({
        store,
        clock: () => told as number,
        policies: [{ name: 'p', limit: 1, window: '1s' }],
      })
      for (const call of [limiter.take('s'), limiter.peek('s'), limiter.refund('s')])
        await expect(call).rejects.toThrow(ClockError)
      await expect(limiter.take('s')).rejects.toThrow(
        /clock must return epoch milliseconds from 0 to 4503599627370, got/,
      )
      await expect(limiter.take('s')).rejects.toMatchObject({ code: 'invalid_clock' })
      expect(store.calls).toBe(0)
    },
  )

  it('may return fractions of a millisecond, which are dropped', async () => {
    let now = 999.9
    const limiter = createLimiter({
      store: new MemoryStore(),
      clock: () => now,
      policies: [{ name: 'p', algorithm: 'fixed-window', limit: 1, window: '1s' }],
    })
    await limiter.take('s')
    expect(await limiter.take('s')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    now = 1000.1
    expect(await limiter.take('s')).toMatchObject({ allowed: true, resetAfterMs: 1000 })
  })

  it.each([0, 5000])(
    'that is set back while a denial is read again costs one more read, and does not use up the deadline (denialTtlMs %d)',
    async (denialTtlMs) => {
      let now = 1_763_700_010_000
      const store = new MemoryStore()
      const policies: PolicyInput[] = [{ name: 'p', algorithm: 'fixed-window', limit: 5, window: '1h' }]
      const limiter = createLimiter({ store, clock: () => now, denialTtlMs, policies })
      for (let i = 0; i < 5; i++) await limiter.take('s')
      now += 60_000
      const read = store.read.bind(store)
      let reads = 0
      jest.spyOn(store, 'read').mockImplementation(async (...args) => {
        if (reads++ === 0) now -= 90_000
        now += 1
        return read(...args)
      })
      expect(await limiter.take('s')).toMatchObject({ allowed: false, degraded: false })
      expect(reads).toBeLessThanOrEqual(2)
    },
  )

  describeStores((opened) => {
    it.each([...everyAlgorithm(10), ...CALENDARS])('may start at 0: $name', async (policy) => {
      const store = opened().store
      for (const start of [0, 1, 90_000].slice(0, runs(1, 3))) {
        let now = start
        const limiters = [0, 1].map(() =>
          createLimiter({
            store,
            clock: () => now,
            denialTtlMs: 0,
            onStoreError: 'throw',
            deadlineMs: 10_000,
            policies: [policy],
          }),
        )
        const subject = `epoch ${policy.name} ${start} ${process.pid}`
        const admitted: boolean[] = []
        for (let i = 0; i < 12; i++) admitted.push((await limiters[i % 2]!.take(subject)).allowed)
        expect(admitted).toEqual(Array.from({ length: 12 }, (_, i) => i < 10))
        const { retryAfterMs } = await limiters[0]!.take(subject)
        now += retryAfterMs
        expect((await limiters[1]!.take(subject)).allowed).toBe(true)
        await limiters[1]!.refund(subject, 1)
        expect((await limiters[0]!.take(subject)).allowed).toBe(true)
      }
    })
  })
})

describe('clocks that differ', () => {
  it.each(['strict', 'leased'] as const)('cost no part of a limit per second that is %s', async (consistency) => {
    const random = seeded(7)
    const skews = Array.from({ length: 20 }, (_, i) => (i - 10) * 100)
    const policy: PolicyInput = { name: 'p', algorithm: 'fixed-window', limit: 1000, window: '1s', consistency }
    const fleet = new Fleet([policy], skews.length, {}, skews)
    const [windows, perMs] = [runs(2, 6), 1.5]
    const admitted = Array<number>(windows).fill(0)
    const start = fleet.now
    for (let i = 0; i < windows * 1000 * perMs; i++) {
      fleet.now = start + Math.floor(i / perMs)
      const { allowed } = await fleet.instances[Math.floor(random() * skews.length)]!.limiter.take('s')
      if (allowed) admitted[Math.floor((fleet.now - start) / 1000)]! += 1
    }
    for (const units of admitted.slice(1)) expect(units).toBeGreaterThan(950)
    // Two more windows begin between the clock furthest behind and the one furthest ahead.
    expect(admitted.reduce((sum, units) => sum + units, 0)).toBeLessThanOrEqual(1000 * (windows + 2))
    expect(fleet.store.calls).toBeLessThan(consistency === 'leased' ? 420 * windows : 2 * 1000 * windows)
  })

  it('do not cause a cached denial to be read again while they agree', async () => {
    const fleet = new Fleet([{ name: 'p', algorithm: 'fixed-window', limit: 5, window: '10s' }], 1)
    const { limiter } = fleet.instances[0]!
    for (let i = 0; i < 6; i++) await limiter.take('s')
    const { calls } = fleet.store
    for (let i = 0; i < 100; i++) {
      fleet.now += 40
      expect((await limiter.take('s')).allowed).toBe(false)
    }
    expect(fleet.store.calls).toBe(calls)
  })
})

import {
  ChargedAtError,
  type LimiterEvent,
  type LimiterOptions,
  MemoryStore,
  type PolicyInput,
  StoreUnavailableError,
} from '../../limiter'
import { CountingStore, everyAlgorithm, limiterOn, MIDNIGHT, TestClock } from './limiters'

const HOURLY: PolicyInput = { name: 'hourly', algorithm: 'fixed-window', limit: 10, window: '1h' }

/** Two instances on one store. */
function world(policies: readonly PolicyInput[], more: Partial<LimiterOptions> = {}) {
  const clock = new TestClock(MIDNIGHT + 1000)
  const store = new CountingStore(new MemoryStore())
  const made = () => limiterOn(store, clock, policies, more)
  return { clock, store, limiter: made(), other: made() }
}

const many = async (n: number, work: () => Promise<unknown>) => {
  for (let i = 0; i < n; i++) await work()
}

describe('a late refund', () => {
  const without = (queue: PolicyInput) => queue.mode !== 'queue' && queue.window !== 'day'
  it.each(everyAlgorithm(10, '12s').filter(without))(
    'takes no units that were charged since: $name',
    async (policy) => {
      const { clock, limiter } = world([policy])
      clock.at += 10_000
      const first = await limiter.take('client:a')
      await many(9, () => limiter.take('client:a'))
      clock.at += 23_500
      await many(10, () => limiter.take('client:a'))
      const { remaining } = await limiter.peek('client:a', { cost: 0 })
      await limiter.refund('client:a', 10, { chargedAt: first.chargedAt })
      expect((await limiter.peek('client:a', { cost: 0 })).remaining).toBe(remaining)
      expect(remaining).toBe(0)
    },
  )

  it('of a pace gives back only what time has not: half of the units after half of the time', async () => {
    const { clock, limiter } = world([{ name: 'p', algorithm: 'gcra', limit: 10, window: '10s' }])
    const { chargedAt } = await limiter.take('client:a', { cost: 8 })
    clock.at += 4000
    await limiter.take('client:a', { cost: 6 })
    await limiter.refund('client:a', 8, { chargedAt })
    expect((await limiter.peek('client:a', { cost: 0 })).remaining).toBe(4)
  })
})

describe('the chargedAt of a refund', () => {
  it('is that of the decision, and null of a denial refunds nothing', async () => {
    const { clock, limiter, store } = world([HOURLY])
    const allowed = await limiter.take('client:a', { cost: 10 })
    const denied = await limiter.take('client:a')
    expect([allowed.chargedAt, denied.chargedAt, (await limiter.peek('client:a')).chargedAt]).toEqual([
      clock.at,
      null,
      null,
    ])
    const { calls } = store
    await limiter.refund('client:a', 1, { chargedAt: denied.chargedAt })
    expect([store.calls - calls, (await limiter.peek('client:a', { cost: 0 })).remaining]).toEqual([0, 0])
  })

  it('is rejected if it is not a time, or too far ahead', async () => {
    const { clock, limiter } = world([HOURLY])
    for (const chargedAt of [Number.NaN, 1.5, -1, Infinity, clock.at + 60_001, '2026' as never]) {
      await expect(limiter.refund('client:a', 1, { chargedAt })).rejects.toThrow(ChargedAtError)
    }
    await expect(limiter.refund('client:a', 1, { delayMs: -1 })).rejects.toThrow(
      'delayMs must be whole milliseconds from 0, got -1',
    )
    await limiter.refund('client:a', 1, { chargedAt: clock.at + 60_000 })
  })

  it('with delayMs finds the units of a delayed request, and without it takes no units of others', async () => {
    const policy: PolicyInput = {
      name: 'p',
      algorithm: 'fixed-window',
      limit: 2,
      window: '10s',
      action: 'delay',
      maxDelay: '5s',
    }
    const { clock, limiter } = world([policy])
    clock.at = MIDNIGHT + 6000
    await many(2, () => limiter.take('client:a'))
    const { chargedAt, delayMs } = await limiter.take('client:a')
    expect(delayMs).toBe(4000)
    const roomAtTurn = async () => {
      clock.at = MIDNIGHT + 10_000
      const { remaining } = await limiter.peek('client:a', { cost: 0 })
      clock.at = MIDNIGHT + 6000
      return remaining
    }
    await limiter.refund('client:a', 1, { chargedAt })
    expect([await roomAtTurn(), (await limiter.take('client:a')).delayMs]).toEqual([1, 4000])
    await limiter.refund('client:a', 1, { chargedAt, delayMs })
    expect(await roomAtTurn()).toBe(1)
  })
})

describe('a refund to policies of several consistencies', () => {
  const MIXED: PolicyInput[] = [
    HOURLY,
    { name: 'leased', algorithm: 'fixed-window', limit: 1000, window: '1h', consistency: 'leased' },
    { name: 'eventual', algorithm: 'fixed-window', limit: 10, window: '1h', consistency: 'eventual' },
  ]

  it('goes back to where each was charged', async () => {
    const { clock, limiter, other } = world(MIXED)
    const decisions = []
    for (let i = 0; i < 8; i++) {
      clock.at += 10
      decisions.push(await limiter.take('client:a'))
    }
    for (const { chargedAt } of decisions.slice(-3)) await limiter.refund('client:a', 1, { chargedAt })
    await limiter.close()
    const { policies } = await other.peek('client:a', { cost: 0 })
    expect([policies.hourly, policies.leased, policies.eventual].map((standing) => standing?.remaining)).toEqual([
      5, 995, 5,
    ])
  })

  it('puts no more into the memory of a lease than was spent from it', async () => {
    const leases: number[] = []
    const onEvent = (event: LimiterEvent) => void (event.kind === 'lease' && leases.push(event.units))
    const { clock, limiter, store } = world([MIXED[1]!], { onEvent })
    await many(60, async () => {
      clock.at += 5
      await limiter.take('all')
    })
    await limiter.refund('all', 500, { chargedAt: clock.at })
    jest.spyOn(store, 'write').mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
    const inMemory = async () => (await limiter.take('all').catch(() => undefined))?.allowed
    let passed = 0
    while (await inMemory()) passed++
    expect(passed).toBeGreaterThan(0)
    expect(passed).toBeLessThanOrEqual(leases.at(-1)!)
  })
})

describe('a reset', () => {
  it.each(['leased', 'eventual'] as const)('clears what is %s in memory', async (consistency) => {
    const { clock, limiter, other } = world([{ ...HOURLY, limit: 100, consistency }])
    const take = async (by = limiter) => {
      clock.at += 5
      return (await by.take('client:a')).allowed
    }
    await many(40, take)
    await limiter.reset('client:a')
    await limiter.close() // no units from before the reset are refunded or added
    expect((await other.peek('client:a', { cost: 0 })).remaining).toBe(100)
    let admitted = 0
    for (const by of [limiter, other]) while (await take(by)) admitted++
    expect(admitted).toBeLessThanOrEqual(consistency === 'leased' ? 100 : 200)
  })

  it('ends a cached denial, here at once and on other instances after their denialTtlMs', async () => {
    const { clock, limiter, other } = world([HOURLY])
    for (const by of [limiter, other]) while ((await by.take('client:a')).allowed);
    await limiter.reset('client:a')
    expect([(await limiter.take('client:a')).allowed, (await other.take('client:a')).allowed]).toEqual([true, false])
    clock.at += 5001
    expect((await other.take('client:a')).allowed).toBe(true)
  })

  it('clears what was counted without the store', async () => {
    const { limiter, store } = world([HOURLY], { onStoreError: 'local' })
    const spies = (['write', 'read'] as const).map((call) =>
      jest.spyOn(store, call).mockRejectedValue(new StoreUnavailableError('unreachable', 'away')),
    )
    while ((await limiter.take('client:a')).allowed);
    for (const spy of spies) spy.mockRestore()
    await limiter.reset('client:a').catch(() => {}) // the circuit breaker is open
    for (const call of ['write', 'read'] as const)
      jest.spyOn(store, call).mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
    expect(await limiter.take('client:a')).toMatchObject({ allowed: true, degraded: true })
  })

  it('deletes nothing that was charged after it, and reports a doubt if its answer was lost', async () => {
    const { limiter, other, store } = world([HOURLY])
    await limiter.take('client:a')
    const inner = store.delete.bind(store)
    jest.spyOn(store, 'delete').mockImplementationOnce(async (...args) => {
      await inner(...args)
      await many(4, () => other.take('client:a'))
      throw new StoreUnavailableError('timeout', 'lost')
    })
    await expect(limiter.reset('client:a')).rejects.toMatchObject({ reason: 'in-doubt' })
    expect((await other.peek('client:a', { cost: 0 })).remaining).toBe(6)
  })
})

describe('a denied takeAll', () => {
  const POLICIES: PolicyInput[] = [
    { name: 'sec', algorithm: 'fixed-window', limit: 3, window: '10s' },
    { name: 'hour', algorithm: 'fixed-window', limit: 5, window: '1h' },
  ]
  const both = [
    { subject: 'client:x', policies: ['sec'] },
    { subject: 'ip:y', policies: ['hour'] },
  ]

  it('without a call reports its retry time as a lower bound, and one that asked all subjects reports the exact time', async () => {
    const { clock, limiter, other, store } = world(POLICIES)
    await many(5, () => other.takeAll(both.slice(1)))
    await many(3, () => limiter.takeAll(both.slice(0, 1)))
    const { calls } = store
    expect(await limiter.takeAll(both)).toMatchObject({
      policy: 'sec',
      retryAfterMs: 9000,
      retryAfterIsLowerBound: true,
    })
    expect(store.calls).toBe(calls)
    clock.at += 9000
    expect(await limiter.takeAll(both)).toMatchObject({
      policy: 'hour',
      retryAfterMs: 3_590_000,
      retryAfterIsLowerBound: false,
    })
    expect(await limiter.take('client:z')).toMatchObject({ allowed: true, retryAfterIsLowerBound: false })
  })

  it('reports subjects that would have allowed it as they stand without its charge', async () => {
    const { limiter } = world(POLICIES)
    const told = await limiter.takeAll([
      { subject: 'ip:z', policies: ['hour'] },
      { subject: 'client:z', policies: ['sec'], cost: 4 },
    ])
    expect([told.allowed, told.policies.hour?.remaining, told.policies.hour?.resetAfterMs]).toEqual([false, 5, 0])
  })
})

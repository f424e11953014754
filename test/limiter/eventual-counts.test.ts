import type { Verdicts } from '../../limiter/algorithms/algorithm'
import type { CompiledPolicy } from '../../limiter/compiled-policy'
import { Eventual } from '../../limiter/consistency/eventual'
import { Decider } from '../../limiter/decider'
import { StoreUnavailableError } from '../../limiter/errors'
import type { PolicyInput } from '../../limiter/policies/policy'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { CountingStore, MIDNIGHT } from './limiters'
import { compiled } from './policies'

const daily = (limit: number, more: Partial<PolicyInput> = {}) =>
  compiled({
    name: 'all',
    algorithm: 'fixed-window',
    limit,
    window: '1d',
    consistency: 'eventual',
    syncMs: 100,
    ...more,
  } as PolicyInput)
const T = MIDNIGHT + 1000
const settled = () => new Promise((resolve) => setImmediate(resolve))

/** One instance on a store in memory, and another process on the same store. */
function world(policies: readonly CompiledPolicy[] = daily(100), maxSubjects = 1000) {
  const memory = new MemoryStore()
  const store = new CountingStore(memory)
  const world = { now: T, error: undefined as Error | undefined, held: undefined as Promise<void> | undefined }
  const options = {
    clock: () => world.now,
    denialTtlMs: 5000,
    maxSubjects,
    deadlineMs: 1000,
    firstDeadlineMs: 1000,
    onEvent: () => {},
  }
  const failing =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await world.held
      if (world.error) throw world.error
      return call(...args)
    }
  const [write, read] = [failing(store.write.bind(store)), failing(store.read.bind(store))]
  jest.spyOn(store, 'write').mockImplementation(write)
  jest.spyOn(store, 'read').mockImplementation(read)
  const items = new Decider({ ...options, store })
  const others = new Decider({ ...options, store: memory })
  const eventual = new Eventual(items)
  const take = (cost = 1, key = 'k', those = policies) => eventual.take({ key, policies: those, cost })
  const remaining = (verdicts: Verdicts | undefined) => verdicts?.[0]?.remaining
  /** The units that the store has counted. */
  const stored = async (key = 'k') => policies[0]!.limit - remaining(await others.peek({ key, policies, cost: 0 }))!
  const here = (key = 'k') => remaining(eventual.standing({ key, policies }))
  /** Waits for calls under way, then moves the clock. */
  const later = async (ms: number) => {
    await settled()
    world.now += ms
  }
  const others_ = async (units: number) =>
    void (await others.decideBatch({ key: 'k', policies, requests: [{ cost: units }] }))
  return Object.assign(world, { store, items, eventual, policies, take, stored, here, later, others: others_ })
}

describe('an eventual count', () => {
  it('of a subject that is evicted is sent, also what was counted while a sync was under way', async () => {
    const one = world(daily(100), 1)
    let arrive = () => {}
    one.held = new Promise((resolve) => {
      arrive = resolve
    })
    for (const units of [1, 2]) await one.take(units)
    for (const other of ['one', 'two', 'three']) for (const units of [3, 4]) await one.take(units, other)
    expect(['k', 'one', 'two', 'three'].map(one.here)).toEqual([undefined, undefined, 93, 93])
    arrive()
    for (let i = 0; i < 5; i++) await settled()
    expect(await Promise.all(['k', 'one', 'two', 'three'].map(one.stored))).toEqual([3, 7, 7, 7])
  })

  it('charges an allowed request at once, and a denied one not at all', async () => {
    const one = world(daily(10))
    expect(await one.take(7)).toEqual([expect.objectContaining({ allowed: true, remaining: 3, chargedAt: T })])
    const [denied] = await one.take(4)
    expect(denied).toMatchObject({ allowed: false, remaining: 3 })
    expect(denied).not.toHaveProperty('chargedAt')
    expect([one.here(), (await one.take(3))[0]!.allowed]).toEqual([3, true])
  })

  it('charges all policies or none; if one denies, the others report their state without the charge', async () => {
    const both = [...daily(10), ...daily(5, { name: 'few' })]
    const one = world(both)
    await one.take(4)
    const told = await one.take(2)
    expect(told.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 6],
      [false, 1],
    ])
    await one.eventual.close()
    expect(await one.stored()).toBe(4)
  })

  it('starts from the last view of the store', async () => {
    const one = world(daily(10))
    await one.others(8)
    await one.items.peek({ key: 'k', policies: one.policies, cost: 0 })
    expect((await one.take(3))[0]).toMatchObject({ allowed: false, remaining: 2 })
    expect((await one.take(2))[0]).toMatchObject({ allowed: true, remaining: 0 })
  })
})

describe('without a call', () => {
  it('nothing is known of a subject that has not been counted', async () => {
    const one = world()
    expect([
      one.eventual.cachedDenial({ key: 'k', policies: one.policies, cost: 1 }),
      one.eventual.standing({ key: 'k', policies: one.policies }),
    ]).toEqual([undefined, undefined])
  })

  it('a denial by the count is cached, and keeps the syncs going', async () => {
    const one = world(daily(10))
    await one.take(10)
    await one.later(100)
    const { calls } = one.store
    expect(one.eventual.cachedDenial({ key: 'k', policies: one.policies, cost: 1 })).toEqual([
      expect.objectContaining({ allowed: false, remaining: 0 }),
    ])
    await settled()
    expect(one.store.calls).toBe(calls + 1)
    expect(one.eventual.cachedDenial({ key: 'k', policies: one.policies, cost: 0 })).toBeUndefined()
  })

  it('a peek reads the count, and asks the store only if there is none', async () => {
    const one = world(daily(10))
    await one.others(3)
    expect(await one.eventual.peek({ key: 'k', policies: one.policies, cost: 1 })).toEqual([
      expect.objectContaining({ allowed: true, remaining: 6 }),
    ])
    expect(one.store.reads).toBe(1)
    await one.take(2)
    await settled()
    const { calls } = one.store
    expect((await one.eventual.peek({ key: 'k', policies: one.policies, cost: 1 }))[0]).toMatchObject({
      allowed: true,
      remaining: 4,
    })
    expect((await one.eventual.peek({ key: 'k', policies: one.policies, cost: 6 }))[0]).toMatchObject({
      allowed: false,
      remaining: 5,
    })
    expect(one.store.calls).toBe(calls)
  })

  it('an outage starts from the count, and for other policies from the last view', async () => {
    const [all, other] = [daily(10), daily(10, { name: 'other' })]
    const one = world(all)
    expect(one.eventual.lastSeen({ key: 'k', policies: all })).toEqual([undefined])
    await one.take(2)
    await one.later(100)
    await one.take(1)
    await settled()
    const [counted, seen] = one.eventual.lastSeen({ key: 'k', policies: [...all, ...other] })
    const { counter } = all[0]!
    expect([counter.step(counted, 0, one.now).verdict.remaining, seen]).toEqual([7, {}])
  })
})

describe('a sync', () => {
  it('runs at the first request, and then once in an interval', async () => {
    const one = world()
    const told = []
    for (const ms of [0, 99, 1, 99, 1]) {
      await one.later(ms)
      await one.take()
      await settled()
      told.push(one.store.calls)
    }
    expect(told).toEqual([1, 1, 2, 2, 3])
  })

  it('runs at the shortest of the intervals', async () => {
    const both = [...daily(100, { syncMs: 500 }), ...daily(100, { name: 'other', syncMs: 200 })]
    const one = world(both)
    await one.take()
    await one.later(200)
    await one.take()
    await settled()
    expect(one.store.calls).toBe(2)
  })

  it('runs at once if the clock was set back by more than an interval', async () => {
    const one = world()
    await one.take()
    await one.later(-99)
    await one.take()
    await settled()
    expect(one.store.calls).toBe(1)
    await one.later(-1)
    await one.take()
    await settled()
    expect(one.store.calls).toBe(2)
  })

  it('runs one at a time', async () => {
    const one = world()
    let release = () => {}
    one.held = new Promise((resolve) => {
      release = resolve
    })
    await one.take()
    one.now += 250
    await one.take()
    await settled()
    expect(one.store.writes).toBe(0)
    release()
    await settled()
    expect([one.store.writes, await one.stored()]).toEqual([1, 1])
  })

  it('returns what other instances have admitted, also if there is nothing to send', async () => {
    const one = world()
    await one.take(5)
    await one.later(100)
    await one.others(20)
    expect(one.here()).toBe(95)
    one.eventual.cachedDenial({ key: 'k', policies: one.policies, cost: 1000 })
    await settled()
    expect(one.here()).toBe(75)
  })

  it('adds what other instances have admitted to what was admitted here meanwhile', async () => {
    const one = world()
    await one.take(5)
    await settled()
    await one.others(20)
    one.now += 100
    const first = one.take(3)
    const second = one.take(4)
    await Promise.all([first, second])
    await settled()
    expect(one.here()).toBe(100 - 5 - 20 - 3 - 4)
    await one.eventual.close()
    expect(await one.stored()).toBe(32)
  })

  it('does not charge what an observing policy allowed past its limit', async () => {
    const [watched] = compiled({
      name: 'all',
      algorithm: 'fixed-window',
      limit: 5,
      window: '1d',
      action: 'observe',
    }) as [CompiledPolicy]
    const one = world([{ ...watched, consistency: 'eventual', syncMs: 100 }])
    for (let i = 0; i < 9; i++) expect((await one.take())[0]!.allowed).toBe(true)
    await one.eventual.close()
    expect(await one.stored()).toBe(5)
    const parts = world(one.policies)
    for (let i = 0; i < 2; i++) expect((await parts.take(3))[0]!.allowed).toBe(true)
    await parts.eventual.close()
    expect(await parts.stored()).toBe(3) // nor the part of the second request that would have fit
  })

  it('succeeds for a subject whose view is evicted for others meanwhile', async () => {
    const one = world(daily(1000), 1)
    for (let i = 0; i < 30; i++) {
      for (const key of ['a', 'b', 'c']) expect((await one.take(1, key))[0]!.allowed).toBe(true)
      await one.later(100)
    }
    await one.eventual.close()
    expect(await Promise.all(['a', 'b', 'c'].map((key) => one.stored(key)))).toEqual([30, 30, 30])
  })
})

describe('an unavailable store', () => {
  const away = new StoreUnavailableError('refused', 'away')
  /** Counts requests that do not fail, one in each interval. */
  async function passing(one: ReturnType<typeof world>, syncMs: number, most = 40) {
    for (let i = 0; i < most; i++) {
      const error = await one.take().then(
        () => undefined,
        (thrown) => thrown,
      )
      if (error) return { passed: i, error }
      await one.later(syncMs)
    }
    return { passed: most }
  }

  it.each([
    [100, 20],
    [50, 40],
    [400, 5],
    [1000, 5],
  ])(
    'is reported after five failed syncs in a row, and at least two seconds: every %i ms, %i',
    async (syncMs, tries) => {
      const one = world(daily(100_000, { syncMs }))
      one.error = away
      expect(await passing(one, syncMs, 60)).toMatchObject({ passed: tries, error: { reason: 'refused' } })
    },
  )

  it('is tried again, and available once it has answered', async () => {
    const one = world(daily(1000, { syncMs: 1000 }))
    one.error = away
    await passing(one, 1000)
    await one.later(60_000)
    one.error = undefined
    await one.take().catch(() => {}) // which tries to sync
    await settled()
    expect((await one.take())[0]!.allowed).toBe(true)
    await one.later(1000)
    one.error = away
    expect((await passing(one, 1000)).passed).toBe(5)
  })

  it('is sent all units later, once', async () => {
    const one = world(daily(1000))
    one.error = away
    for (let i = 0; i < 4; i++) {
      await one.take(10)
      await one.later(100)
    }
    one.error = undefined
    await one.take(1)
    await one.later(100)
    await one.take(1)
    await one.later(100)
    await one.eventual.close()
    expect(await one.stored()).toBe(42)
  })
})

describe('a refund of an eventual count', () => {
  it('takes units that are not yet synced, without a call', async () => {
    const one = world()
    await one.take(10)
    await settled()
    await one.take(6)
    const { calls } = one.store
    await one.eventual.giveBack({ key: 'k', policies: one.policies, cost: 4 }, { at: one.now })
    expect([one.here(), one.store.calls]).toEqual([88, calls])
    await one.eventual.close()
    expect(await one.stored()).toBe(12)
  })

  it('takes the rest from the store, and reduces the count as well', async () => {
    const one = world()
    await one.take(10)
    await settled()
    await one.take(2)
    await one.eventual.giveBack({ key: 'k', policies: one.policies, cost: 5 }, { at: one.now })
    expect([one.here(), await one.stored()]).toEqual([93, 7])
    await one.eventual.close()
    expect(await one.stored()).toBe(7)
  })

  it('of a subject that is not counted here goes to the store', async () => {
    const one = world()
    await one.others(10)
    await one.eventual.giveBack({ key: 'k', policies: one.policies, cost: 4 }, { at: one.now })
    expect([await one.stored(), one.here()]).toEqual([6, undefined])
  })

  it('for another window does not change the count', async () => {
    const one = world()
    await one.take(10)
    await settled()
    await one.eventual.giveBack({ key: 'k', policies: one.policies, cost: 4 }, { at: one.now - 86_400_000 })
    expect([one.here(), await one.stored()]).toEqual([90, 10])
  })
})

describe('a subject with an eventual count', () => {
  it('is synced when another takes its place, and evicted after that if it was used longest ago', async () => {
    const one = world(daily(100), 2)
    for (const key of ['a', 'b']) await one.take(1, key)
    await settled()
    await one.take(3, 'a')
    await one.take(1, 'c')
    await settled()
    expect([one.here('a'), one.here('b'), one.here('c')]).toEqual([96, undefined, 99])
    expect([await one.stored('a'), await one.stored('b')]).toEqual([1, 1])
    await one.take(1, 'd')
    await settled()
    await one.take(1, 'e')
    await settled()
    expect(await one.stored('a')).toBe(4)
    expect(one.here('a')).toBeUndefined()
  })

  it('starts anew after a reset, and nothing from before is synced', async () => {
    const one = world()
    await one.take(5)
    await settled()
    await one.take(7)
    await one.items.subjects.forget('k')
    expect(one.here()).toBeUndefined()
    await one.eventual.close()
    expect(await one.stored()).toBe(5)
  })
})

describe('close', () => {
  it('syncs what is pending, after the sync under way', async () => {
    const one = world()
    await one.take(5)
    await one.take(6)
    await one.eventual.close()
    expect([await one.stored(), one.here()]).toEqual([11, undefined])
  })

  it('tries to sync twice', async () => {
    const one = world()
    await one.take(5)
    await settled()
    await one.take(6)
    one.error = new StoreUnavailableError('refused', 'away')
    const write = jest.spyOn(one.store, 'write')
    const before = write.mock.calls.length
    await one.eventual.close()
    expect([write.mock.calls.length - before, await one.stored()]).toEqual([2, 5])
  })

  it('makes no call if nothing is pending', async () => {
    const one = world()
    await one.take(5)
    await settled()
    const { calls } = one.store
    await one.eventual.close()
    expect(one.store.calls).toBe(calls)
  })
})

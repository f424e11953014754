import type { Verdicts } from '../../limiter/algorithms/algorithm'
import { type Throttling, throttledNow, throwIfThrottled } from '../../limiter/consistency/lease'
import { StoreUnavailableError } from '../../limiter/errors'
import type { PolicyInput } from '../../limiter/policies/policy'
import { daily, idle, pacing, withLease, world } from './leasing'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

afterEach(() => jest.restoreAllMocks())

describe('a lease', () => {
  it('is spent from memory down to its last unit, and counts each unit once', async () => {
    const one = await withLease()
    const held = await one.held()
    const [calls, used] = [one.taken.length, await one.used()]
    await one.take(held)
    expect([one.taken.length, await one.held(), await one.used()]).toEqual([calls, 0, used])
    await one.take()
    expect(one.taken).toHaveLength(calls + 1)
  })

  it('is reported as an event if it took more than the request needed', async () => {
    const one = world()
    await one.take()
    expect(one.events).toEqual([])
    await one.busy(600)
    const more = one.taken.filter((units) => units > 1)
    expect(more.length).toBeGreaterThan(0)
    expect(one.events).toEqual(more.map((units) => ({ kind: 'lease', units })))
  })

  it('lets a larger request charge only what the lease lacks, if the instance wants no more', async () => {
    const one = await withLease()
    const held = await one.held()
    one.taken.length = 0
    await one.take(held + 50_000)
    expect(one.taken).toEqual([50_000])
  })

  it('reports the units left of the limit including those it holds, and the reset time of the limit', async () => {
    const one = await withLease()
    const [held, used] = [await one.held(), await one.used()]
    expect(one.leases.standing({ key: 'k', policies: one.policies })![0]!.remaining).toBe(100_000 - used + held)
    const [verdict] = (await one.take(3)) as [Verdicts[0]]
    expect(verdict).toMatchObject({ allowed: true, remaining: 100_000 - used + held - 3 })
    expect(verdict.resetAfterMs).toBe(MIDNIGHT + 86_400_000 - one.now)
    expect((await one.leases.peek({ key: 'k', policies: one.policies, cost: 5 }))[0]!.remaining).toBe(
      100_000 - used + held - 3 - 5,
    )
    expect((await one.leases.peek({ key: 'k', policies: one.policies, cost: held }))[0]!.remaining).toBe(
      100_000 - used - 3,
    )
  })

  it('has no view and no cached denial of a subject that it has not seen', () => {
    const one = world()
    expect([
      one.leases.standing({ key: 'k', policies: one.policies }),
      one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: 1 }),
    ]).toEqual([undefined, undefined])
  })

  it('is not spent after its window, nor by a clock that was set back before it', async () => {
    for (const moved of [(one: { now: number }) => MIDNIGHT + 86_400_000 - one.now, () => -86_400_000]) {
      const one = await withLease()
      expect(await one.held()).toBeGreaterThan(0)
      one.now += moved(one)
      one.taken.length = 0
      await one.take()
      expect(one.taken).toHaveLength(1)
    }
  })

  it('that includes the rest of an earlier lease ends with that', async () => {
    const anchored = compiled({
      name: 'all',
      algorithm: 'fixed-window',
      limit: 100_000,
      window: '10s',
      consistency: 'leased',
    })
    const one = await withLease(anchored)
    one.now = MIDNIGHT + 9_999
    await one.take((await one.held()) + 5)
    await one.take(1)
    one.now = MIDNIGHT + 10_000
    one.taken.length = 0
    await one.take()
    expect(one.taken).toHaveLength(1)
  })

  it('that comes after the end of the rest of an earlier one pays for the whole request', async () => {
    const one = world(daily(100_000, { window: '10s' }))
    await one.busy(8000)
    await withLease(one.policies, 'k', one)
    const held = await one.held()
    await one.others.decideBatch({
      key: 'k',
      policies: one.policies,
      requests: [{ cost: 100_000 - (await one.used()) }],
    })
    const nextWindow = () => {
      one.now = MIDNIGHT + 10_000
    }
    Object.defineProperty(one, 'delayed', { get: nextWindow }) // before the second try
    await one.take(held + 5)
    expect(await one.used()).toBe(held + 5 + (await one.held()))
  })

  it('is kept apart for each subject and each list of policies with their limits', async () => {
    const one = await withLease()
    const held = await one.held()
    one.taken.length = 0
    await one.leases.take({ key: 'k', policies: daily(100_001), cost: 1 })
    await one.leases.take({ key: 'k', policies: daily(100_000, { name: 'other' }), cost: 1 })
    await one.leases.take({ key: 'other', policies: one.policies, cost: 1 })
    expect(one.taken).toHaveLength(3)
    one.taken.length = 0
    await one.leases.take({ key: 'k', policies: daily(100_000), cost: held }) // an equal list is the same
    expect(one.taken).toEqual([])
  })
})

describe('a cached denial of a leased subject', () => {
  it('applies to what a request needs beyond the lease', async () => {
    const one = await withLease(daily(2000))
    await one.others.decideBatch({ key: 'k', policies: one.policies, requests: [{ cost: 2000 - (await one.used()) }] })
    await one.leases.peek({ key: 'k', policies: one.policies, cost: 0 })
    const held = await one.held()
    expect(one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: held })).toBeUndefined()
    expect(one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: held + 1 })![0]).toMatchObject({
      allowed: false,
    })
    const calls = one.taken.length
    expect((await one.take(held + 1))[0]).toMatchObject({ allowed: false })
    expect((await one.take(held))[0]).toMatchObject({ allowed: true })
    expect(one.taken).toHaveLength(calls)
  })
})

describe('a lease larger than the units left', () => {
  /** An instance that would lease some hundred units, while another leaves only so many of the limit. */
  async function crowded(leaving: readonly number[], cost = 1) {
    const one = await withLease(daily(5000))
    await one.take(await one.held())
    let left = 5000 - (await one.used())
    one.taken.length = 0
    const inner = one.others
    const settle = one.items.decideBatch.bind(one.items)
    const plan = [...leaving]
    jest.spyOn(one.items, 'decideBatch').mockImplementation(async (...args) => {
      const leave = plan.shift()
      if (leave !== undefined && left > leave) {
        await inner.decideBatch({ key: 'k', policies: one.policies, requests: [{ cost: left - leave }] })
        left = leave
      }
      return settle(...args)
    })
    const verdicts = await one.take(cost)
    return { ...one, verdicts, taken: one.taken }
  }

  it('is tried again in the size that they allow, and then with the request alone', async () => {
    const { taken, verdicts } = await crowded([40, 4, 4])
    expect(taken[0]).toBeGreaterThan(40)
    expect(taken.slice(1)).toEqual([28, 1])
    expect(verdicts[0]).toMatchObject({ allowed: true, remaining: 3 })
  })

  it('is tried again with at least the request', async () => {
    const { taken, verdicts } = await crowded([10], 9)
    expect(taken.slice(1)).toEqual([9])
    expect(verdicts[0]).toMatchObject({ allowed: true, remaining: 1 })
  })

  it('is tried so often only, also if each time others take what has come back since', async () => {
    const one = await withLease(pacing)
    await one.take(await one.held())
    one.taken.length = 0
    const { calls } = one.items
    const send = calls.write.bind(calls)
    const writes = jest.spyOn(calls, 'write').mockImplementation(async (...args) => {
      const asked = one.taken.at(-1)!
      const cost = 1000 - (await one.used()) - asked + 1
      if (asked > 1) await one.others.decideBatch({ key: 'k', policies: pacing, requests: [{ cost }] })
      const outcome = await send(...args)
      one.now += 20 // two units
      return outcome
    })
    expect((await one.take())[0]).toMatchObject({ allowed: true })
    expect([one.taken.length, writes.mock.calls.length]).toEqual([3, 3])
  })

  it('is not tried again if the request alone does not fit', async () => {
    const { taken, verdicts } = await crowded([3], 9)
    expect(taken.slice(1)).toEqual([9])
    expect(verdicts[0]).toMatchObject({ allowed: false, remaining: 3 })
  })
})

describe('requests that wait for a lease', () => {
  it('are served from it, or counted in the next one', async () => {
    const one = world()
    let arrive = () => {}
    one.delayed = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const takes = [1, 10, 20, 30].map((cost) => one.take(cost))
    await idle()
    expect(one.taken).toEqual([1])
    arrive()
    one.delayed = undefined
    const answers = await Promise.all(takes)
    expect(answers.every(([verdict]) => verdict!.allowed)).toBe(true)
    expect(one.taken).toEqual([1, 60])
    expect([await one.used(), await one.held()]).toEqual([61, 0])
  })

  it('try by themselves if it fails, and only the request that began it fails', async () => {
    const one = world()
    one.error = new StoreUnavailableError('timeout', 'lost')
    const first = one.take().catch((error: Error) => error)
    const second = one.take(2)
    await Promise.resolve().then(() => {
      one.error = undefined
    })
    const [error, verdicts] = await Promise.all([first, second])
    expect(error).toMatchObject({ reason: 'timeout' })
    expect(verdicts[0]).toMatchObject({ allowed: true })
    expect(await one.used()).toBe(2)
  })

  it('for more than the limit are denied, and make no lease larger', async () => {
    const one = world()
    const takes = Promise.all([1, 100_001, 10, 100_001].map((cost) => one.take(cost)))
    expect((await takes).map(([verdict]) => verdict)).toMatchObject([
      { allowed: true },
      { allowed: false, retryAfterMs: Infinity },
      { allowed: true },
      { allowed: false, retryAfterMs: Infinity },
    ])
    expect(one.taken).toEqual([1, 100_001, 100_001, 10])
    expect([await one.used(), await one.held()]).toEqual([11, 0])
  })

  it('do not make a later lease larger', async () => {
    const one = world()
    await Promise.all([1, 10].map((cost) => one.take(cost)))
    one.now += 60_000
    one.taken.length = 0
    await one.take()
    expect(one.taken).toEqual([1])
  })
})

describe('refunded units', () => {
  it('return to their lease, as far as they were spent from it, and else to the store', async () => {
    const one = await withLease()
    const held = await one.held()
    await one.take(8)
    const give = (units: number, at = one.now) =>
      one.leases.giveBack({ key: 'k', policies: one.policies, cost: units }, { at })
    await give(5)
    expect([one.back, await one.held()]).toEqual([[], held - 3])
    await give(100)
    expect(one.back).toHaveLength(1)
    expect({ kind: 'lease', units: await one.held() }).toEqual(one.events.at(-1))
    expect(one.back[0]!.units + (await one.held()) - (held - 3)).toBe(100)
    expect(one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: await one.held() })).toBeUndefined()
  })

  it.each<Partial<PolicyInput>>([{ algorithm: 'sliding-log' }, { algorithm: 'sliding-buckets', buckets: 80 }])(
    'of two leases are as old as the first: others find no more than the limit in a window, $algorithm',
    async (form) => {
      const policy: PolicyInput = { name: 'all', limit: 1000, window: '8s', consistency: 'leased', ...form }
      const one = await withLease(compiled(policy))
      const held = await one.held()
      const takes = async (most: number) => {
        const batch = { key: 'k', policies: one.policies, requests: [{ cost: 1 }] }
        for (let taken = 0; taken < most; taken++)
          if (!(await one.others.decideBatch(batch))[0]![0]!.allowed) return taken
        return most
      }
      one.now += 1300
      const begun = one.now
      let admitted = await takes(300)
      one.now += 200
      const [{ allowed, chargedAt }] = (await one.take(held + 1)) as [Verdicts[0]]
      await one.leases.giveBack({ key: 'k', policies: one.policies, cost: held + 1 }, { at: chargedAt! })
      await one.leases.close()
      for (; one.now < begun + 7900; one.now += 20) admitted += await takes(1000)
      expect(allowed).toBe(true)
      expect(admitted).toBeGreaterThan(600)
      expect(admitted).toBeLessThanOrEqual(1000)
    },
  )

  it('of an earlier lease return to the store', async () => {
    const one = await withLease()
    const held = await one.held()
    await one.leases.giveBack({ key: 'k', policies: one.policies, cost: 2 }, { at: MIDNIGHT + 1 })
    expect([one.back, await one.held()]).toEqual([[{ units: 2, at: MIDNIGHT + 1, policies: 1 }], held])
  })

  it('of an expired lease, or of none, return to the store', async () => {
    const one = await withLease()
    const at = one.now
    one.now = MIDNIGHT + 86_400_000
    await one.leases.giveBack({ key: 'k', policies: one.policies, cost: 2 }, { at })
    await one.leases.giveBack({ key: 'unseen', policies: one.policies, cost: 3 }, { at })
    expect(one.back.map(({ units }) => units)).toEqual([2, 3])
  })
})

describe('an instance that was idle', () => {
  it('returns what it would not lease now, beside a request that is served from memory', async () => {
    const one = await withLease()
    const [held, used] = [await one.held(), await one.used()]
    one.now += 60_000
    one.taken.length = 0
    await one.take(2)
    await idle()
    expect([one.taken, one.back.map(({ units }) => units)]).toEqual([[], [held - 2]])
    expect([await one.held(), await one.used()]).toEqual([0, used - (held - 2)])
  })

  it('accepts refunds in memory only up to the size of the lease that it kept', async () => {
    const one = await withLease()
    const [{ chargedAt }] = (await one.take()) as [Verdicts[0]]
    one.now += 60_000
    await one.take(2)
    await idle()
    await one.leases.giveBack({ key: 'k', policies: one.policies, cost: 100 }, { at: chargedAt! })
    const [returned] = one.back
    expect({ kind: 'lease', units: returned!.units + (await one.held()) }).toEqual(one.events.at(-1))
  })

  it('keeps three units or fewer, which are not worth a call', async () => {
    for (const [keeping, returned] of [
      [4, []],
      [5, [4]],
    ] as const) {
      const one = await withLease()
      await one.take((await one.held()) - keeping)
      one.now += 60_000
      await one.take()
      await idle()
      expect(one.back.map(({ units }) => units)).toEqual(returned)
    }
  })

  it('no longer than its spend rate is measured keeps all units', async () => {
    for (const [idleMs, calls] of [
      [1000, 0],
      [1001, 1],
    ] as const) {
      const one = world()
      // if more than half is used, leases follow the last second
      await one.others.decideBatch({ key: 'k', policies: one.policies, requests: [{ cost: 50_001 }] })
      await one.busy(1200)
      for (let i = 0; i < 200 && (await one.held()) < 100; i++) await one.busy(1)
      one.now += idleMs
      await one.take()
      expect([idleMs, one.back.length]).toEqual([idleMs, calls])
    }
  })

  it('loses the units that it cannot return, and no request', async () => {
    const one = await withLease()
    const used = await one.used()
    one.now += 60_000
    one.error = new StoreUnavailableError('unreachable', 'away')
    expect((await one.take())[0]!.allowed).toBe(true)
    await idle()
    one.error = undefined
    await one.leases.close()
    expect([await one.used(), one.back.length]).toEqual([used, 1])
  })
})

describe('close', () => {
  it('returns held units once, and waits for those on their way back', async () => {
    const one = await withLease()
    const [held, used] = [await one.held(), await one.used()]
    await one.leases.close()
    expect([await one.used(), one.back.map(({ units }) => units)]).toEqual([used - held, [held]])
    await one.leases.close()
    expect(one.back).toHaveLength(1)
  })

  it('makes no call if no units are held', async () => {
    const one = world()
    await one.take()
    await one.leases.close()
    expect(one.back).toEqual([])
    const over = await withLease()
    over.now = MIDNIGHT + 86_400_000
    await over.leases.close()
    expect(over.back).toEqual([])
  })

  it('waits for a lease on its way, also if that fails', async () => {
    const one = await withLease()
    await one.take(await one.held())
    const take = one.take()
    await one.leases.close()
    await take
    expect(one.back.length + (one.taken.at(-1) === 1 ? 1 : 0)).toBe(1)
    one.error = new StoreUnavailableError('unreachable', 'away')
    const failing = one.take().catch(() => {})
    await one.leases.close()
    await failing
  })

  it('waits for the leases of requests that wait for one, and returns what these leave', async () => {
    const one = await withLease()
    const held = await one.held()
    const spent = (await one.used()) - held
    let arrive = () => {}
    one.delayed = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const takes = [held + 1, 200, 300].map((cost) => one.take(cost))
    await idle()
    const closed = one.leases.close()
    arrive()
    await closed
    expect((await Promise.all(takes)).flat().every(({ allowed }) => allowed)).toBe(true)
    const costs = held + 501
    expect(await one.used()).toBe(spent + costs)
  })
})

describe('a reset of a leased subject', () => {
  it('drops its lease, and those of other subjects stay', async () => {
    const one = await withLease()
    await withLease(one.policies, 'other', one)
    const other = await one.held('other')
    void one.items.subjects.forget('k')
    expect([one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: 1 }), await one.held()]).toEqual([
      undefined,
      0,
    ])
    expect(await one.held('other')).toBe(other)
  })

  it('drops a lease that is on its way', async () => {
    const one = await withLease()
    await one.take(await one.held())
    const taking = one.take()
    void one.items.subjects.forget('k')
    expect((await taking)[0]!.allowed).toBe(true)
    expect(one.taken.at(-1)).toBeGreaterThan(1)
    expect(await one.held()).toBe(0)
    await one.leases.close()
    expect(one.back).toEqual([])
  })
})

describe('a reset while a lease is on its way', () => {
  async function onItsWay(one: ReturnType<typeof world>, cost: number) {
    let arrive = () => {}
    one.delayed = new Promise<void>((resolve) => {
      arrive = resolve
    })
    one.taken.length = 0
    const taking = one.take(cost).catch((error: Error) => error)
    const waiting = one.take(1)
    await idle()
    void one.items.subjects.forget('k')
    return { arrive, taking, waiting }
  }

  it('makes the waiting requests try by themselves', async () => {
    const one = await withLease()
    const { arrive, waiting } = await onItsWay(one, (await one.held()) + 1)
    arrive()
    expect((await waiting)[0]!.allowed).toBe(true)
    expect([one.taken.length, one.taken[0]! > 2]).toEqual([2, true])
  })

  it('drops the lease before it as well if the new one fails', async () => {
    const one = await withLease()
    one.error = new StoreUnavailableError('unreachable', 'away')
    const taking = one.take((await one.held()) + 1).catch((error: Error) => error)
    const waiting = one.take(1).catch((error: Error) => error)
    void one.items.subjects.forget('k')
    expect(await Promise.all([taking, waiting])).toEqual([one.error, one.error])
  })

  it('works without an earlier lease', async () => {
    const one = world()
    const { arrive, taking, waiting } = await onItsWay(one, 1)
    arrive()
    await Promise.all([taking, waiting])
    expect(one.taken).toEqual([1, 1])
  })
})

it('new subjects evict no lease that can be spent', async () => {
  const one = world(daily(100_000), 2)
  for (const key of ['a', 'b']) await withLease(one.policies, key, one)
  const held = [await one.held('a'), await one.held('b')]
  for (const key of ['c', 'd', 'e', 'f']) await one.take(1, key)
  expect([await one.held('a'), await one.held('b')]).toEqual(held)
})

it('units that are held and those that have come back to the limit are no more than that together', async () => {
  const one = await withLease(
    compiled({ name: 'all', algorithm: 'gcra', limit: 1000, window: '2s', consistency: 'leased' }),
  )
  one.now += 1800
  const charge = { key: 'k', policies: one.policies, cost: 0 }
  expect(await one.others.peek(charge)).toMatchObject([{ remaining: 1000 }])
  for (const verdicts of [await one.leases.peek(charge), one.leases.standing(charge)!])
    expect(verdicts).toMatchObject([{ remaining: 1000 }])
  expect(await one.take(1001)).toMatchObject([{ allowed: false, retryAfterMs: Infinity }])
})

describe('an item that is throttled', () => {
  const hot = () => new StoreUnavailableError('hot-key', 'too many writes')

  it('is not called for about fifty milliseconds, and its requests fail with the same error', async () => {
    for (const [random, ms] of [
      [0, 25],
      [0.5, 50],
      [0.99, 74.5],
    ] as const) {
      const one = world()
      jest.spyOn(Math, 'random').mockReturnValue(random)
      await one.take()
      one.error = hot()
      await expect(one.take()).rejects.toBe(one.error)
      const told = one.error
      one.error = undefined
      one.taken.length = 0
      one.now += Math.ceil(ms) - 1
      await expect(one.take()).rejects.toBe(told)
      expect(one.taken).toEqual([])
      one.now += 1
      await one.take()
      expect(one.taken).toHaveLength(1)
    }
  })

  it('is left alone for twice as long after each call that fails, up to two hundred milliseconds', () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5)
    const error = hot()
    let throttling: Throttling | undefined
    const until = [1, 2, 3, 4].map(() => {
      throttling = throttledNow(error, throttling, 0)
      return throttling.until
    })
    expect(until).toEqual([50, 100, 200, 200])
    expect(() => throwIfThrottled(throttling, 199)).toThrow(error)
    for (const now of [200, -201]) expect(() => throwIfThrottled(throttling, now)).not.toThrow()
  })

  it('is called at once if the clock was set back', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5)
    const one = world()
    one.error = hot()
    await one.take().catch(() => {})
    const calls = one.taken.length
    one.now -= 350
    await expect(one.take()).rejects.toBe(one.error)
    expect(one.taken).toHaveLength(calls)
    one.error = undefined
    one.now -= 1
    expect((await one.take())[0]!.allowed).toBe(true)
  })

  it('gets larger leases, as requests that failed count in the spend rate', async () => {
    const one = world()
    await one.busy(1)
    one.error = hot()
    for (let i = 0; i < 40; i++) {
      one.now += 100
      await one.take().catch(() => {})
    }
    one.error = undefined
    one.now += 300
    one.taken.length = 0
    await one.take()
    expect(one.taken[0]).toBeGreaterThan(30)
  })

  it('differs from an unavailable table, which is called each time', async () => {
    const one = world()
    one.error = new StoreUnavailableError('unreachable', 'away')
    for (let i = 0; i < 3; i++) await one.take().catch(() => {})
    expect(one.taken).toHaveLength(3)
    one.error = new TypeError('hot-key')
    await expect(one.take()).rejects.toThrow(TypeError)
    one.error = undefined
    await one.take()
    expect(one.taken).toHaveLength(5)
  })
})

describe('an exhausted limit whose units come back', () => {
  async function drained() {
    const one = world(pacing)
    await one.busy(1500)
    for (let i = 0; i < 2000 && (await one.take())[0]!.allowed; i++);
    return one
  }

  it('is not called for them before there are enough for all instances, and its denials say when', async () => {
    const one = await drained()
    const [denial] = one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: 1 }) as [Verdicts[0]]
    expect(denial).toMatchObject({ allowed: false })
    expect(denial.retryAfterMs).toBeGreaterThan(10) // a unit comes back in ten
    expect(denial.retryAfterMs).toBeLessThanOrEqual(100)
    one.taken.length = 0
    one.now += denial.retryAfterMs - 1
    expect((await one.take())[0]).toMatchObject({ allowed: false, retryAfterMs: 1 })
    expect(one.taken).toEqual([])
    one.now += 1
    expect((await one.take())[0]).toMatchObject({ allowed: true })
    expect(one.taken[0]).toBeGreaterThan(1)
  })

  it('is called at once if the clock was set back', async () => {
    const one = await drained()
    for (const moved of [-6000, 60_000]) {
      one.now += moved
      expect(one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: 1 })).toBeUndefined()
      one.now -= moved
    }
  })

  it('is called at once if it has no view any more', async () => {
    const one = await drained()
    expect(one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: 1 })).toBeDefined()
    void one.items.subjects.forget('k')
    expect(one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: 1 })).toBeUndefined()
  })

  it('is called at once for the last units if the instance asks for no more than its share', async () => {
    const one = world(pacing)
    await one.others.decideBatch({ key: 'k', policies: pacing, requests: [{ cost: 998 }] })
    expect([(await one.take())[0]!.allowed, (await one.take())[0]!.allowed]).toEqual([true, true])
    expect(one.taken).toEqual([1, 1])
  })

  it('denies no request that the lease can serve meanwhile', async () => {
    const one = await drained()
    for (let i = 0; i < 100; i++) {
      one.now += 10
      await one.take()
      const held = await one.held()
      if (held > 0 && one.leases.cachedDenial({ key: 'k', policies: one.policies, cost: held + 1 })) {
        expect([held, 1].map((cost) => one.leases.cachedDenial({ key: 'k', policies: one.policies, cost }))).toEqual([
          undefined,
          undefined,
        ])
        return
      }
    }
    throw new Error('no lease was held while units were waited for')
  })
})

describe('past a limit', () => {
  it('requests that are allowed without a charge are decided one by one', async () => {
    const watched = daily(40, { action: 'observe' })
    const one = world(watched)
    await one.busy(80)
    expect(await one.used()).toBe(40)
    one.taken.length = 0
    await one.busy(10)
    expect([one.taken, await one.held()]).toEqual([Array(10).fill(1), 0])
    await one.leases.close()
    expect(one.back).toEqual([])
  })

  it('a lease in the overrun reports 0 remaining', async () => {
    const one = world(daily(300, { overrun: '50%' }))
    let last: Verdicts[0] | undefined
    for (let i = 0; i < 400; i++) {
      one.now++
      last = (await one.take())[0]
      if (last!.exceeded) expect(last!.remaining).toBe(0)
    }
    expect(last).toMatchObject({ allowed: true, exceeded: 'overrun', remaining: 0 })
  })
})

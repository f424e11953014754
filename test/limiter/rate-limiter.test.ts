import { ChargedAtError, CostError, StoreUnavailableError } from '../../limiter/errors'
import type { Charge } from '../../limiter/rate-limiter'
import { RateLimiter, type RateLimiterOptions } from '../../limiter/rate-limiter'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { CountingStore, holdNextWrite, MIDNIGHT } from './limiters'
import { compiled } from './policies'

const T = MIDNIGHT + 1000
const minute = compiled({ name: 'minute', algorithm: 'fixed-window', limit: 10, window: '1m' })
const hour = compiled({ name: 'hour', algorithm: 'fixed-window', limit: 10, window: '1h' })
const watched = compiled({ name: 'watched', algorithm: 'fixed-window', limit: 2, window: '1m', action: 'observe' })
const eventual = compiled({
  name: 'eventual',
  algorithm: 'fixed-window',
  limit: 10,
  window: '1d',
  consistency: 'eventual',
})
const leased = compiled({
  name: 'leased',
  algorithm: 'fixed-window',
  limit: 100_000,
  window: '1d',
  consistency: 'leased',
})

const of = (key: string, cost = 1, policies = minute): Charge => ({ key, policies, cost })
const failure = (reason: StoreUnavailableError['reason']) => new StoreUnavailableError(reason, reason)

afterEach(() => {
  jest.restoreAllMocks()
  jest.useRealTimers()
})

/** A limiter on a store in memory, and another process on the same store. */
function world(more: Partial<RateLimiterOptions> = {}) {
  const world = { now: T }
  const store = new CountingStore(new MemoryStore())
  const options = { store, clock: () => world.now, onStoreError: 'throw', deadlineMs: 20_000, ...more } as const
  const other = new RateLimiter({ ...options, onStoreError: 'throw' })
  const limiter = new RateLimiter(options)
  /** The remaining units as another process reads them. */
  const left = async (key: string, policies = minute) => (await other.peek([of(key, 0, policies)])).remaining
  /** Makes all calls fail, except those for some keys. */
  const fail = (error: unknown, but: readonly string[] = []) => {
    const spies = (['write', 'read', 'delete'] as const).map((name) => {
      const inner = store[name].bind(store) as (...args: unknown[]) => Promise<never>
      return jest.spyOn(store, name).mockImplementation((async (key: string, ...args: unknown[]) => {
        if (!but.includes(key)) throw error
        return inner(key, ...args)
      }) as never)
    })
    return () => {
      for (const spy of spies) spy.mockRestore()
    }
  }
  return Object.assign(world, { store, limiter, other, left, fail })
}

/** Expects that something ends after exactly so many milliseconds of fake time. */
async function endsAfter<T>(ms: number, work: Promise<T>): Promise<T> {
  let ended = false
  const watched = work.finally(() => {
    ended = true
  })
  await jest.advanceTimersByTimeAsync(ms - 1)
  expect(ended).toBe(false)
  await jest.advanceTimersByTimeAsync(1)
  expect(ended).toBe(true)
  return watched
}

describe('a decision', () => {
  it.each<[Partial<RateLimiterOptions>, number, number]>([
    [{}, 2000, 300],
    [{ deadlineMs: 100 }, 2000, 100],
    [{ deadlineMs: 2500 }, 2500, 2500],
    [{ firstDeadlineMs: 500 }, 500, 300],
    [{ deadlineMs: 700, firstDeadlineMs: 500 }, 500, 700],
  ])(
    'waits for a hanging store as long as %j says: %i ms until it has answered once, %i after that',
    async (options, first, later) => {
      jest.useFakeTimers()
      const one = world({ onStoreError: 'local', deadlineMs: undefined, ...options })
      const hang = () => jest.spyOn(one.store, 'write').mockImplementation(() => new Promise(() => {}))
      hang()
      await endsAfter(first, one.limiter.decide([of('a')]))
      jest.mocked(one.store.write).mockRestore()
      expect(await one.limiter.decide([of('a')])).toMatchObject({ degraded: false })
      hang()
      await endsAfter(later, one.limiter.decide([of('a')]))
    },
  )

  it('counts locally in an outage by default, and admits the whole limit on a single instance', async () => {
    const one = world({ onStoreError: undefined })
    one.fail(failure('unreachable'))
    expect(await one.limiter.decide([of('a', 10)])).toMatchObject({
      allowed: true,
      degraded: true,
      failure: 'unreachable',
      remaining: 0,
    })
    expect(await one.limiter.decide([of('a')])).toMatchObject({ allowed: false, degraded: true })
  })

  it('of one subject reports the exact retry time, cached or not', async () => {
    const one = world()
    await one.other.decide([of('a', 10)])
    for (let i = 0; i < 2; i++) {
      expect(await one.limiter.decide([of('a')])).toMatchObject({
        allowed: false,
        retryAfterMs: 59_000,
        retryAfterIsLowerBound: false,
      })
    }
  })

  it('takes of policies that count no cost by name what it takes of all, whatever costs it names', async () => {
    const one = world()
    expect(await one.limiter.decide([{ ...of('a', 3), costs: { tokens: 5 } }])).toMatchObject({ remaining: 7 })
    expect(await one.limiter.decide([{ ...of('a', 0), costs: { tokens: 5 } }])).toMatchObject({ chargedAt: null })
    expect(await one.left('a')).toBe(7)
  })

  it('like one that was denied before is there at once, without a promise', async () => {
    const one = world()
    await one.other.decide([of('a', 10)])
    await one.limiter.decide([of('a')])
    for (const ms of [0, 1, 3000]) {
      one.now += ms
      const decision = one.limiter.decideAtOnce([of('a')])
      expect(decision).not.toBeInstanceOf(Promise)
      expect(decision).toMatchObject({ allowed: false, retryAfterMs: MIDNIGHT + 60_000 - one.now })
    }
    expect(one.limiter.decideAtOnce([of('a', 2)])).toBeInstanceOf(Promise)
  })

  it('is there at once, too, where another clock is ahead and it is denied by that as well', async () => {
    const sliding = compiled({ name: 'sliding', algorithm: 'sliding-window', limit: 10, window: '1m' })
    const one = world()
    one.now = MIDNIGHT + 59_000
    const ahead = new RateLimiter({ store: one.store, clock: () => one.now + 2000 })
    await ahead.decide([of('a', 10, sliding)])
    await one.limiter.decide([of('a', 1, sliding)])
    one.now += 100
    expect(one.limiter.decideAtOnce([of('a', 1, sliding)])).toMatchObject({ allowed: false })
  })

  it('is asked for again where another clock is ahead and its window is over by that', async () => {
    const one = world()
    one.now = MIDNIGHT + 58_000
    await one.other.decide([of('a', 10)])
    const ahead = new RateLimiter({ store: one.store, clock: () => one.now + 3000 })
    await ahead.decide([of('b')])
    await one.limiter.decide([of('b')]) // finds the next minute begun
    expect(await one.limiter.decide([of('a')])).toMatchObject({ allowed: false })
    expect(one.limiter.decideAtOnce([of('a')])).not.toBeInstanceOf(Promise) // seen just now
    one.now += 100
    expect(one.limiter.decideAtOnce([of('a')])).toBeInstanceOf(Promise)
  })

  it('asks a store that was away within half a second once somebody waits for it', async () => {
    const one = world({ onStoreError: 'deny' })
    const back = one.fail(failure('unreachable'))
    for (let minutes = 0; minutes < 20; minutes++) {
      one.now += 60_000
      for (let i = 0; i < 5; i++) await one.limiter.decide([of('z')])
    }
    back()
    one.now += 1000
    expect(await one.limiter.decide([of('a')])).toMatchObject({ degraded: true })
    one.limiter.probeSoon()
    one.now += 500
    expect(await one.limiter.decide([of('a')])).toMatchObject({ degraded: false, allowed: true })
  })

  it('without the store follows the failure mode of the call, else that of the limiter', async () => {
    const one = world({ onStoreError: 'local', localShare: 0.5 })
    one.fail(failure('unreachable'))
    const decide = (...more: Parameters<RateLimiter['decide']> extends [unknown, ...infer R] ? R : never) =>
      one.limiter.decide([of('a', 6)], ...more)
    expect(await decide()).toMatchObject({ allowed: false })
    expect(await decide({ localShare: 0.6 })).toMatchObject({ allowed: true })
    expect(await decide({ onStoreError: 'allow' })).toMatchObject({ allowed: true, remaining: 4 })
    expect(await decide({ onStoreError: 'deny' })).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    await expect(decide({ onStoreError: 'throw' })).rejects.toMatchObject({ reason: 'unreachable' })
  })

  it.each(['missing-table', 'refused'] as const)(
    'fails if the store has never answered and reports %s, which is a mistake in the set-up',
    async (reason) => {
      for (const onStoreError of ['local', 'deny', 'throw'] as const) {
        const other = world({ onStoreError })
        other.fail(failure(reason))
        await expect(other.limiter.decide([of('a')])).rejects.toMatchObject({ reason })
      }
      const one = world({ onStoreError: 'allow' })
      const back = one.fail(failure(reason))
      await expect(one.limiter.decide([of('a')])).rejects.toMatchObject({ reason })
      back()
      await one.limiter.decide([of('a')])
      one.fail(failure(reason))
      expect(await one.limiter.decide([of('a')])).toMatchObject({ allowed: true, degraded: true, failure: reason })
    },
  )

  it('fails because of a bug in the program, whatever the failure mode', async () => {
    const one = world({ onStoreError: 'allow' })
    one.fail(new TypeError('no function'))
    await expect(one.limiter.decide([of('a')])).rejects.toThrow('no function')
  })

  it('is a denial if the subject’s own item is rejected, whatever the failure mode', async () => {
    const one = world({ onStoreError: 'allow' })
    one.fail(failure('item'), ['b'])
    expect(await one.limiter.decide([of('a')])).toMatchObject({
      ...{ allowed: false, degraded: true, failure: 'item', failureMode: 'deny' },
    })
    expect(await one.limiter.decide([of('b')])).toMatchObject({ allowed: true, degraded: false })
  })

  it('rejects an invalid cost of any subject without a call, and so do peek and refund', async () => {
    const one = world()
    await expect(one.limiter.decide([of('a'), of('b', -1)])).rejects.toThrow(CostError)
    await expect(one.limiter.peek([of('a'), of('b', 0.5)])).rejects.toThrow(CostError)
    await expect(one.limiter.refund(of('a', 0))).rejects.toThrow(CostError)
    expect(one.store.calls).toBe(0)
  })
})

describe('a request over several subjects', () => {
  const both = [of('a'), of('b', 1, hour)]

  it('charges each of them', async () => {
    const one = world()
    expect(await one.limiter.decide(both)).toMatchObject({ allowed: true, retryAfterIsLowerBound: false })
    expect([await one.left('a'), await one.left('b', hour)]).toEqual([9, 9])
  })

  it('reads subjects with cost 0, and charges the others', async () => {
    const one = world()
    expect((await one.limiter.decide([of('a', 0), of('b', 3, hour)])).policies).toMatchObject({
      minute: { remaining: 10 },
      hour: { remaining: 7 },
    })
    expect([await one.left('a'), await one.left('b', hour)]).toEqual([10, 7])
  })

  it('allows an exhausted subject with cost 0', async () => {
    const one = world()
    await one.limiter.decide([of('a', 10)])
    expect(await one.limiter.decide([of('a', 0), of('b', 1, hour)])).toMatchObject({ allowed: true })
    expect(await one.left('b', hour)).toBe(9)
  })

  it('reads a subject with cost 0 even if a cached denial applies, since its limit may have been lowered and it may have been reset', async () => {
    const lowered = compiled({ name: 'minute', algorithm: 'fixed-window', limit: 5, window: '1m' })
    const one = world()
    await one.limiter.decide([of('a', 10)])
    await one.other.reset('a')
    expect(await one.limiter.decide([of('a', 0, lowered), of('b', 1, hour)])).toMatchObject({ allowed: true })
  })

  it('makes no call if one denial is cached and then reports a lower bound, but an exact retry time if all are cached', async () => {
    const one = world()
    await one.limiter.decide([of('a', 10)])
    const { calls } = one.store
    expect(await one.limiter.decide(both)).toMatchObject({
      allowed: false,
      policy: 'minute',
      retryAfterIsLowerBound: true,
    })
    await one.limiter.decide([of('b', 10, hour)])
    expect(await one.limiter.decide(both)).toMatchObject({ retryAfterMs: 3_599_000, retryAfterIsLowerBound: false })
    expect(one.store.calls).toBe(calls + 1)
  })

  it('asks again 200 ms after a subject had no slot left, since any running request may have ended', async () => {
    const running = compiled({ name: 'running', algorithm: 'concurrency', limit: 1, timeout: '60s' } as never)
    const holding = (key: string, id: string) => ({ ...of(key, 1, running), holds: [{ id, forMs: 60_000 }] })
    const w = world({ denialTtlMs: 5000 })
    await w.other.decide([holding('a', 'first')])
    const ask = async () => (await w.limiter.decide([holding('a', 'second'), of('b')])).allowed
    expect(await ask()).toBe(false)
    await w.other.reset('a')
    w.now += 200
    const { calls } = w.store
    expect([await ask(), w.store.calls]).toEqual([false, calls])
    w.now += 1
    expect(await ask()).toBe(true)
  })

  it('refunds the others if one denies, and reports how they stand without the charge', async () => {
    const one = world()
    await one.other.decide([of('b', 8, hour)])
    const decision = await one.limiter.decide([of('a', 3), of('b', 3, hour)])
    expect(decision).toMatchObject({
      allowed: false,
      policy: 'hour',
      policies: { minute: { allowed: true, remaining: 10 } },
    })
    expect(decision.retryAfterIsLowerBound).toBe(false)
    expect([await one.left('a'), await one.left('b', hour)]).toEqual([10, 2])
  })

  it('refunds the others if one fails', async () => {
    const one = world({ onStoreError: 'deny' })
    const back = one.fail(failure('unreachable'), ['a'])
    expect(await one.limiter.decide([of('a', 3), of('b', 3, hour)])).toMatchObject({
      allowed: false,
      failure: 'unreachable',
    })
    back()
    expect(await one.left('a')).toBe(10)
  })

  it('refunds nothing to subjects with cost 0, that deny, or that were allowed without a charge', async () => {
    const one = world()
    await one.other.decide([of('b', 9, hour)])
    await one.other.decide([of('w', 2, watched)])
    await one.other.decide([of('a', 4)])
    const decision = await one.limiter.decide([of('a', 0), of('w', 2, watched), of('b', 2, hour)])
    expect(decision).toMatchObject({ allowed: false, policy: 'hour' })
    expect([await one.left('a'), await one.left('w', watched), await one.left('b', hour)]).toEqual([6, 0, 1])
  })

  it('refunds the policies that were charged, and not one that allowed it without a charge', async () => {
    const one = world()
    const mixed = [...watched, ...minute]
    await one.other.decide([of('w', 2, watched)])
    await one.other.decide([of('b', 10, hour)])
    expect(await one.limiter.decide([of('w', 1, mixed), of('b', 1, hour)])).toMatchObject({
      allowed: false,
      policy: 'hour',
    })
    expect([await one.left('w', watched), await one.left('w', minute)]).toEqual([0, 10])
  })

  it('does not wait for refunds beyond its deadline', async () => {
    jest.useFakeTimers()
    await jest.advanceTimersByTimeAsync(5000)
    const one = world({ deadlineMs: 200 })
    await one.other.decide([of('b', 10, hour)])
    await one.limiter.decide([of('c')]) // the store has answered
    const write = one.store.write.bind(one.store)
    const spy = jest.spyOn(one.store, 'write').mockImplementation(async (...call) => {
      await new Promise((resolve) => setTimeout(resolve, 90))
      if (spy.mock.calls.length > 2) return new Promise(() => {}) // refunds under way
      return write(...call)
    })
    expect(await endsAfter(200, one.limiter.decide([of('a'), of('b', 1, hour)]))).toMatchObject({
      allowed: false,
      policy: 'hour',
    })
    expect(spy.mock.calls.length).toBeGreaterThan(2)
  })

  it('waits no longer than the refunds take', async () => {
    jest.useFakeTimers()
    const one = world({ deadlineMs: 200 })
    await one.other.decide([of('b', 10, hour)])
    await one.limiter.decide([of('a'), of('b', 1, hour)])
    expect(jest.getTimerCount()).toBe(0)
    expect(await one.left('a')).toBe(10)
  })

  it('asks one subject after another when the store was unavailable, and stops at the first if it still is', async () => {
    const one = world({ onStoreError: 'deny' })
    const back = one.fail(failure('unreachable'))
    for (let i = 0; i < 5; i++) await one.limiter.decide([of('z')])
    back()
    one.now += 60_000
    const keys: string[] = []
    one.fail(failure('unreachable'))
    for (const name of ['write', 'read'] as const) {
      jest.mocked(one.store[name]).mockImplementation(async (key) => {
        keys.push(key)
        throw failure('unreachable')
      })
    }
    expect(await one.limiter.decide(both)).toMatchObject({ degraded: true })
    expect([...new Set(keys)]).toEqual(['a'])
    jest.restoreAllMocks()
    one.now += 60_000
    expect(await one.limiter.decide(both)).toMatchObject({ allowed: true, degraded: false })
    expect([await one.left('a'), await one.left('b', hour)]).toEqual([9, 9])
  })

  /** A limiter whose circuit breaker is open, and lets the next call probe. */
  async function aboutToProbe() {
    const one = world({ onStoreError: 'deny' })
    const back = one.fail(failure('unreachable'))
    for (let i = 0; i < 5; i++) await one.limiter.decide([of('z')])
    back()
    one.now += 60_000
    return one
  }

  it('refunds each subject its own cost if they were asked one after another', async () => {
    const one = await aboutToProbe()
    await one.other.decide([of('b', 10, hour)])
    expect(await one.limiter.decide([of('a', 3), of('b', 1, hour)])).toMatchObject({
      allowed: false,
      policy: 'hour',
      degraded: false,
    })
    expect([await one.left('a'), await one.left('b', hour)]).toEqual([10, 0])
  })

  it('asks no further subject after one whose item is rejected, although the store has answered', async () => {
    const one = await aboutToProbe()
    one.fail(failure('item'), ['b'])
    expect(await one.limiter.decide(both)).toMatchObject({ allowed: false, failure: 'item' })
    expect(jest.mocked(one.store.write).mock.calls.map(([key]) => key)).toEqual(['a'])
  })
})

describe('a peek', () => {
  it('charges nothing, and reports all subjects', async () => {
    const one = world()
    await one.limiter.decide([of('b', 4, hour)])
    expect((await one.limiter.peek([of('a'), of('b', 1, hour)])).policies).toMatchObject({
      minute: { remaining: 9 },
      hour: { remaining: 5 },
    })
    expect([await one.left('a'), await one.left('b', hour)]).toEqual([10, 6])
  })
})

describe('a refund', () => {
  it('is for units charged just now by default', async () => {
    const one = world()
    await one.limiter.decide([of('a', 4)])
    await one.limiter.refund(of('a', 3))
    expect(await one.left('a')).toBe(9)
    one.now += 60_000
    await one.limiter.decide([of('a', 4)])
    await one.limiter.refund(of('a', 3), { chargedAt: one.now - 60_000 })
    expect(await one.left('a')).toBe(6)
  })

  it('of a denied request does nothing, without a call', async () => {
    const one = world()
    await one.limiter.decide([of('a', 4)])
    const { calls } = one.store
    await one.limiter.refund(of('a', 3), { chargedAt: null })
    expect([one.store.calls, await one.left('a')]).toEqual([calls, 6])
  })

  it.each<[string, unknown, number | undefined, string | undefined]>([
    ['of just now', T, undefined, undefined],
    ['of a minute ahead, as clocks may differ', T + 60_000, undefined, undefined],
    ['of 1970', 0, undefined, undefined],
    ['at its turn', T, 0, undefined],
    [
      'of later than that',
      T + 60_001,
      undefined,
      `chargedAt must be epoch milliseconds, at most 60 s ahead of now (${T}), got ${T + 60_001}`,
    ],
    ['of before 1970', -1, undefined, `chargedAt must be epoch milliseconds, at most 60 s ahead of now (${T}), got -1`],
    [
      'of half a millisecond',
      0.5,
      undefined,
      `chargedAt must be epoch milliseconds, at most 60 s ahead of now (${T}), got 0.5`,
    ],
    ['of a turn before the request', T, -1, 'delayMs must be whole milliseconds from 0, got -1'],
    ['of a turn at half a millisecond', T, 0.5, 'delayMs must be whole milliseconds from 0, got 0.5'],
    ['of nothing, with such a turn', null, -1, 'delayMs must be whole milliseconds from 0, got -1'],
  ])('%s is checked', async (_, chargedAt, delayMs, wrong) => {
    const one = world()
    const refund = one.limiter.refund(of('a'), { chargedAt: chargedAt as number, delayMs })
    if (wrong === undefined) await refund
    else {
      await expect(refund).rejects.toThrow(ChargedAtError)
      await expect(refund).rejects.toThrow(wrong)
    }
  })

  it('of units admitted without the store calls it only for the units that it was sent', async () => {
    const one = world({ onStoreError: 'local' })
    await one.limiter.decide([of('a', 2)])
    const back = one.fail(failure('unreachable'))
    await one.limiter.decide([of('a', 3)])
    await one.limiter.refund(of('a', 3)) // which makes no call
    back()
    await one.limiter.refund(of('a', 2))
    expect(await one.left('a')).toBe(10)
  })

  it('of units some of which are in the store gives each back where it was charged, and none twice', async () => {
    const tokens = compiled({ name: 'tokens', algorithm: 'fixed-window', limit: 10, window: '1h', cost: 'tokens' })
    const both = [...minute, ...tokens]
    const one = world({ onStoreError: 'local' })
    const used = (costs: Record<string, number>, policies = tokens) => ({ key: 'a', policies, cost: 1, costs })
    await one.limiter.decide([used({ tokens: 4 }, both)])
    const back = one.fail(failure('unreachable'))
    await one.limiter.decide([used({ tokens: 3 })])
    back()
    await one.limiter.refund(used({ tokens: 3 }, both))
    expect([await one.left('a', minute), await one.left('a', tokens)]).toEqual([10, 6])
  })

  it('of several costs is one write', async () => {
    const tokens = compiled({ name: 'tokens', algorithm: 'fixed-window', limit: 10, window: '1h', cost: 'tokens' })
    const one = world()
    const charge = { key: 'a', policies: [...minute, ...tokens], cost: 2, costs: { tokens: 3 } }
    await one.limiter.decide([charge])
    await one.limiter.refund(charge)
    expect(one.store.writes).toBe(2)
    expect([await one.left('a', minute), await one.left('a', tokens)]).toEqual([10, 10])
  })

  it.each([
    ['leased', leased],
    ['eventual', eventual],
  ])('may be the first that an instance does, of units of consistency %s', async (_, policies) => {
    const one = world()
    await one.other.decide([of('a', 5, policies)])
    await one.other.close()
    const limit = policies[0]!.limit
    expect(await one.left('a', policies)).toBe(limit - 5)
    await one.limiter.refund(of('a', 5, policies))
    const fresh = new RateLimiter({ store: one.store, clock: () => one.now })
    expect((await fresh.peek([of('a', 0, policies)])).remaining).toBe(limit)
  })

  it('covers each consistency even if another fails, and reports what failed', async () => {
    const one = world()
    const policies = [...minute, ...leased]
    await one.limiter.decide([of('a', 5, policies)])
    const write = one.store.write.bind(one.store)
    const [strict] = minute.map(({ prefix }) => prefix)
    jest.spyOn(one.store, 'write').mockImplementation(async (key, change) => {
      if (change.parts.some(({ prefix }) => prefix === strict)) throw failure('refused')
      return write(key, change)
    })
    await expect(one.limiter.refund(of('a', 5, policies))).rejects.toMatchObject({ reason: 'refused' })
    jest.restoreAllMocks()
    await one.limiter.close()
    expect([await one.left('a', minute), await one.left('a', leased)]).toEqual([5, 100_000])
  })
})

describe('a reset', () => {
  it('makes all quotas whole again', async () => {
    const one = world()
    await one.limiter.decide([of('a', 10)])
    await one.limiter.reset('a')
    expect([await one.left('a'), (await one.limiter.decide([of('a')])).remaining]).toEqual([10, 9])
  })

  it('whose outcome is unknown clears the memory anyway, so the next request asks the store', async () => {
    const one = world()
    await one.limiter.decide([of('a', 10)])
    const back = one.fail(failure('refused'))
    await expect(one.limiter.reset('a')).rejects.toMatchObject({ reason: 'refused' })
    back()
    await one.other.reset('a')
    expect(await one.limiter.decide([of('a')])).toMatchObject({ allowed: true, remaining: 9 })
  })

  it('clears what requests have left in memory while it was under way', async () => {
    const one = world()
    for (let i = 0; i < 900; i++) {
      one.now++
      await one.limiter.decide([of('a', 1, leased)])
    }
    const remove = one.store.delete.bind(one.store)
    jest.spyOn(one.store, 'delete').mockImplementationOnce(async (...call) => {
      for (let i = 0; i < 300; i++) {
        one.now++
        await one.limiter.decide([of('a', 1, leased)])
      }
      return remove(...call)
    })
    await one.limiter.reset('a')
    const { writes } = one.store
    await one.limiter.decide([of('a', 1, leased)])
    expect(one.store.writes).toBe(writes + 1)
  })

  it('waits for what was under way before it', async () => {
    const one = world()
    await one.limiter.decide([of('a', 2, eventual)])
    await new Promise((resolve) => setImmediate(resolve))
    const { arrive } = holdNextWrite(one.store)
    one.now += 1000
    await one.limiter.decide([of('a', 2, eventual)]) // syncs beside its answer
    const resetting = one.limiter.reset('a')
    await new Promise((resolve) => setImmediate(resolve))
    arrive()
    await resetting
    await new Promise((resolve) => setImmediate(resolve))
    expect(await one.left('a', eventual)).toBe(10)
  })

  it('drops units admitted without the store', async () => {
    const one = world({ onStoreError: 'local' })
    const back = one.fail(failure('unreachable'))
    await one.limiter.decide([of('a', 10)])
    back()
    await one.limiter.reset('a')
    await one.limiter.close()
    expect(await one.left('a')).toBe(10)
  })
})

it('nothing is ended here of a request that holds nothing', () => {
  expect(world().limiter.endHere('a', 'request')).toBe(false)
})

describe('units admitted without the store', () => {
  /** A limiter that has admitted five units without the store, which is available again. */
  async function afterOutage() {
    const one = world({ onStoreError: 'local', deadlineMs: 200, denialTtlMs: 60_000 })
    await one.limiter.decide([of('a', 1)])
    const back = one.fail(failure('unreachable'))
    await one.limiter.decide([of('a', 5)])
    back()
    return one
  }

  it('are sent before the next answer that calls the store', async () => {
    const one = await afterOutage()
    await one.limiter.decide([of('a', 1)])
    expect(await one.left('a')).toBe(3)
  })

  it('are sent beside an answer that needs no call, which in Lambda is before the next one', async () => {
    jest.useFakeTimers()
    const one = await afterOutage()
    await one.limiter.decide([of('a', 1)]) // sends them
    const back = one.fail(failure('unreachable'))
    await one.limiter.decide([of('a', 1)])
    back()
    await one.other.decide([of('a', 2)])
    await one.limiter.peek([of('a', 0)])
    one.now += 1000
    const hanging = jest.spyOn(one.store, 'write').mockImplementation(() => new Promise(() => {}))
    let decision: unknown
    void one.limiter.decide([of('unseen'), of('a', 9)]).then((decided) => {
      decision = decided
    })
    await jest.advanceTimersByTimeAsync(0)
    expect(decision).toMatchObject({ allowed: false, degraded: false })
    expect(hanging).toHaveBeenCalledTimes(1)
  })

  it('are waited for if the store was asked about any subject of the request', async () => {
    const one = await afterOutage()
    const write = one.store.write.bind(one.store)
    jest.spyOn(one.store, 'write').mockImplementation(async (...call) => {
      await new Promise((resolve) => (call[0] === 'a' ? setImmediate(resolve) : undefined))
      return write(...call)
    })
    expect(await one.limiter.decide([of('counted in memory', 1, eventual), of('a', 1)])).toMatchObject({
      allowed: true,
    })
    expect(await one.left('a')).toBe(3)
  })

  it('delay no answer beyond its deadline', async () => {
    jest.useFakeTimers()
    await jest.advanceTimersByTimeAsync(5000)
    const one = await afterOutage()
    const write = one.store.write.bind(one.store)
    const spy = jest.spyOn(one.store, 'write').mockImplementation(async (...call) => {
      await new Promise((resolve) => setTimeout(resolve, 90))
      if (spy.mock.calls.length > 1) return new Promise(() => {}) // the late charge
      return write(...call)
    })
    expect(await endsAfter(200, one.limiter.decide([of('a')]))).toMatchObject({ allowed: true, degraded: false })
    expect(spy.mock.calls.length).toBeGreaterThan(1)
  })

  it('are sent on close, and leases are returned as well', async () => {
    const one = await afterOutage()
    for (let i = 0; i < 900; i++) {
      one.now++
      await one.limiter.decide([of('b', 1, leased)])
    }
    await one.limiter.close()
    expect([await one.left('a'), await one.left('b', leased)]).toEqual([4, 99_100])
  })
})

it('the limiter sends its events to a listener', async () => {
  const events: string[] = []
  const one = world({ onEvent: ({ kind }) => void events.push(kind) })
  await one.limiter.decide([of('a')])
  expect(events).toEqual(['store-call'])
})

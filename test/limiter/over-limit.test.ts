import type { PolicyInput } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import { MemoryStore } from '../../limiter/stores/memory-store'
import type { StateStore } from '../../limiter/stores/store'
import { describeStores } from '../stores'
import { CountingStore, limiterOn, TestClock } from './limiters'

const fixed = (name: string, limit: number, more: Partial<PolicyInput> = {}): PolicyInput => ({
  ...{ name, algorithm: 'fixed-window', limit, window: '1m' },
  ...more,
})

const observed = fixed('observed', 3, { action: 'observe' })
const ample = fixed('ample', 100)

let subjects = 0
const newSubject = () => `client:over-limit-${process.pid}-${subjects++}`

/** A store that cannot be reached. */
const away: StateStore = {
  write: () => Promise.reject(new StoreUnavailableError('refused', 'away')),
  read: () => Promise.reject(new StoreUnavailableError('refused', 'away')),
  delete: () => Promise.reject(new StoreUnavailableError('refused', 'away')),
}

describe('an observing policy', () => {
  describeStores((opened) => {
    it('denies no request, marks those that it would deny, and leaves other policies to charge as usual', async () => {
      const { store } = opened()
      const [clock, subject] = [new TestClock(), newSubject()]
      const limiter = limiterOn(store, clock, [observed, fixed('enforced', 5)])
      const told = []
      for (let i = 0; i < 6; i++) told.push(await limiter.take(subject))
      expect(told.map(({ allowed, observed }) => [allowed, observed])).toEqual([
        ...[
          [true, false],
          [true, false],
          [true, false],
        ],
        ...[
          [true, true],
          [true, true],
        ],
        [false, false],
      ])
      expect(told[4]).toMatchObject({
        ...{ overrun: false, priority: 'normal', retryAfterMs: 0 },
        policies: { observed: { allowed: true, exceeded: 'observe', remaining: 0 }, enforced: { remaining: 0 } },
      })
      expect(told[4]!.policies.enforced).not.toHaveProperty('exceeded')
      expect(told[5]).toMatchObject({ policy: 'enforced' })
    })

    it('stores the same state as if it denied', async () => {
      const { store } = opened()
      const [clock, subject] = [new TestClock(), newSubject()]
      const observing = limiterOn(store, clock, [observed])
      for (let i = 0; i < 5; i++) await observing.take(subject)
      const enforcing = limiterOn(store, clock, [fixed('observed', 4)])
      expect([await enforcing.take(subject), await enforcing.take(subject)]).toMatchObject([
        { allowed: true, remaining: 0 },
        { allowed: false },
      ])
    })

    it('charges simultaneous requests that fit, and no others', async () => {
      const { store } = opened()
      const [clock, subject] = [new TestClock(), newSubject()]
      const limiter = limiterOn(store, clock, [observed, ample], { deadlineMs: 20_000 })
      const told = await Promise.all(Array.from({ length: 12 }, () => limiter.take(subject)))
      expect(told.filter((decision) => decision.observed)).toHaveLength(9)
      expect(told.every(({ allowed }) => allowed)).toBe(true)
      const peeked = await limiter.peek(subject, { cost: 0 })
      expect(peeked.policies).toMatchObject({ observed: { remaining: 0 }, ample: { remaining: 88 } })
    })
  })

  it('needs no calls beyond those of other policies', async () => {
    const store = new CountingStore()
    const limiter = limiterOn(store, new TestClock(), [observed, ample])
    for (let i = 0; i < 10; i++) await limiter.take('client:a')
    expect(store.calls).toBe(10)
  })

  it('needs no call while nothing is to be charged, and one read once its view is too old', async () => {
    const [store, clock] = [new CountingStore(), new TestClock()]
    const limiter = limiterOn(store, clock, [observed], { denialTtlMs: 5000 })
    for (let i = 0; i < 3; i++) await limiter.take('client:a')
    for (let i = 0; i < 7; i++) expect(await limiter.take('client:a')).toMatchObject({ allowed: true, observed: true })
    expect(store.calls).toBe(3)
    clock.at += 5001
    expect(await limiter.take('client:a')).toMatchObject({ observed: true })
    expect(store).toMatchObject({ writes: 3, reads: 1 })
  })

  it('marks no request from a view that is too old, since another instance may have reset the subject', async () => {
    const [store, clock] = [new CountingStore(), new TestClock()]
    const limiter = limiterOn(store, clock, [observed, ample], { denialTtlMs: 5000 })
    for (let i = 0; i < 4; i++) await limiter.take('client:a')
    await limiterOn(store, clock, [observed, ample]).reset('client:a')
    clock.at += 5001
    expect(await limiter.take('client:a')).toMatchObject({ observed: false, policies: { observed: { remaining: 2 } } })
  })

  it('reads first if it has no view and the cost is above its limit', async () => {
    const store = new CountingStore()
    const limiter = limiterOn(store, new TestClock(), [observed])
    expect(await limiter.take('client:a', { cost: 9 })).toMatchObject({ allowed: true, observed: true, remaining: 3 })
    expect(store).toMatchObject({ writes: 0, reads: 1 })
  })

  it('refunds nothing for a request that it did not charge, if the policy of another subject denies', async () => {
    const [store, clock] = [new MemoryStore(), new TestClock()]
    const policies = [observed, ample, fixed('strict', 1)]
    const request = [
      { subject: 'client:a', policies: ['observed', 'ample'] },
      { subject: 'ip:b', policies: ['strict'] },
    ]
    for (let i = 0; i < 3; i++) await limiterOn(store, clock, policies).takeAll([request[0]!])
    await limiterOn(store, clock, policies).takeAll([request[1]!])
    const fresh = limiterOn(store, clock, policies)
    expect(await fresh.takeAll(request)).toMatchObject({ allowed: false, policy: 'strict', observed: false })
    expect(await fresh.peek('client:a', { cost: 0 })).toMatchObject({
      policies: { observed: { remaining: 0 }, ample: { remaining: 97 } },
    })
  })

  it('denies no request while the store is unavailable, whatever the failure mode', async () => {
    for (const onStoreError of ['local', 'allow', 'deny'] as const) {
      const limiter = limiterOn(away, new TestClock(), [observed], { onStoreError })
      // A store that was never reached and refuses the connection is a mistake in the set-up.
      const unreachable = { ...away, write: () => Promise.reject(new StoreUnavailableError('unreachable', 'away')) }
      const other = limiterOn(unreachable, new TestClock(), [observed], { onStoreError })
      await expect(limiter.take('client:a')).rejects.toThrow('away')
      expect(await other.take('client:a')).toMatchObject({ allowed: true, degraded: true })
    }
  })
})

describe('a deprioritizing policy', () => {
  it('marks requests past its limit', async () => {
    const limiter = limiterOn(new MemoryStore(), new TestClock(), [fixed('a', 1, { action: 'deprioritize' })])
    expect(await limiter.take('client:a')).toMatchObject({ priority: 'normal' })
    expect(await limiter.take('client:a')).toMatchObject({
      allowed: true,
      priority: 'low',
      observed: false,
      exceeded: 'deprioritize',
    })
  })
})

describe('a limit with an overrun', () => {
  it.each([
    ['deny', { allowed: false, overrun: false }],
    ['observe', { allowed: true, overrun: false, observed: true }],
    ['deprioritize', { allowed: true, overrun: false, priority: 'low' }],
    ['delay', { allowed: true, overrun: true, delayMs: 500 }],
  ] as const)('admits its overrun, marked, and then applies its action: %s', async (action, wanted) => {
    const clock = new TestClock()
    const policy = fixed('a', 10, { overrun: '20%', window: '1s', action })
    const limiter = limiterOn(new MemoryStore(), clock, [policy])
    clock.at += 500
    const told = []
    for (let i = 0; i < 13; i++) told.push(await limiter.take('client:a'))
    expect(told.slice(0, 12).map(({ allowed, overrun, remaining }) => [allowed, overrun, remaining])).toEqual(
      Array.from({ length: 12 }, (_, i) => [true, i >= 10, Math.max(0, 9 - i)]),
    )
    // A delayed request begins the next window, where it is inside the limit.
    expect(told[12]).toMatchObject(action === 'delay' ? { ...wanted, overrun: false } : wanted)
  })
})

describe('a delaying policy', () => {
  describeStores((opened) => {
    it('assigns queue slots that never exceed the limit, on concurrent limiters', async () => {
      const { store } = opened()
      const [clock, subject] = [new TestClock(), newSubject()]
      clock.at += 250
      const policy = fixed('a', 5, { window: '1s', action: 'delay', maxDelay: '3s' })
      const limiters = Array.from({ length: 4 }, () => limiterOn(store, clock, [policy, ample], { deadlineMs: 20_000 }))
      const told = (
        await Promise.all(limiters.flatMap((limiter) => Array.from({ length: 6 }, () => limiter.take(subject))))
      ).map(({ allowed, delayMs, retryAfterMs }) => (allowed ? delayMs : -retryAfterMs))
      const turns = [...Array(5).fill(0), ...Array(5).fill(750), ...Array(5).fill(1750), ...Array(5).fill(2750)]
      expect(told.toSorted((a, b) => a - b)).toEqual([...Array(4).fill(-750), ...turns])
    })

    it('reports the longest delay', async () => {
      const { store } = opened()
      const [clock, subject] = [new TestClock(), newSubject()]
      const limiter = limiterOn(store, clock, [
        fixed('here', 1, { window: '1s', action: 'delay', maxDelay: '2s' }),
        fixed('there', 1, { window: '2s', action: 'delay', maxDelay: '20s', delayIn: 'backend' }),
      ])
      await limiter.take(subject)
      expect(await limiter.take(subject)).toMatchObject({
        ...{ allowed: true, delayMs: 2000 },
        policies: { here: { delayMs: 1000 }, there: { delayMs: 2000 } },
      })
      expect(await limiter.take(subject)).toMatchObject({ allowed: true, delayMs: 4000 })
      expect(await limiter.take(subject)).toMatchObject({
        allowed: false,
        policy: 'here',
        delayMs: 0,
        retryAfterMs: 1000,
      })
    })
  })

  it('denies from memory if its queue is too long', async () => {
    const [store, clock] = [new CountingStore(), new TestClock()]
    const limiter = limiterOn(store, clock, [fixed('a', 1, { window: '1s', action: 'delay', maxDelay: '1s' })])
    for (let i = 0; i < 5; i++) await limiter.take('client:a')
    expect(store.calls).toBe(2)
  })

  it('assigns the same slot again if an answer was lost', async () => {
    const store = new MemoryStore()
    let lost = false
    const losing: StateStore = {
      ...away,
      read: (key) => store.read(key),
      async write(key, write) {
        const outcome = await store.write(key, write)
        if (!lost) return outcome
        lost = false
        throw new StoreUnavailableError('unreachable', 'lost')
      },
    }
    const clock = new TestClock()
    const limiter = limiterOn(losing, clock, [fixed('a', 1, { window: '1s', action: 'delay', maxDelay: '3s' })])
    await limiter.take('client:a')
    lost = true
    expect(await limiter.take('client:a')).toMatchObject({ allowed: true, delayMs: 1000 })
    expect(await limiter.take('client:a')).toMatchObject({ allowed: true, delayMs: 2000 })
  })
})

describe('leased units', () => {
  it.each<[Partial<PolicyInput>, { allowed: number; observed: number; overrun: number }]>([
    [{ action: 'observe' }, { allowed: 60, observed: 50, overrun: 0 }],
    [{ overrun: '20%' }, { allowed: 12, observed: 0, overrun: 2 }],
    [
      { overrun: '20%', action: 'observe' },
      { allowed: 60, observed: 48, overrun: 2 },
    ],
  ])(
    'of several instances are charged within the limit, and requests past it are marked: %j',
    async (fields, wanted) => {
      const [store, clock] = [new MemoryStore(), new TestClock()]
      const policy = fixed('a', 10, { consistency: 'leased', ...fields })
      const limiters = Array.from({ length: 3 }, () => limiterOn(store, clock, [policy]))
      const told = []
      for (let i = 0; i < 60; i++) told.push(await limiters[i % 3]!.take('global'))
      expect({
        allowed: told.filter(({ allowed }) => allowed).length,
        observed: told.filter(({ observed }) => observed).length,
        overrun: told.filter(({ overrun }) => overrun).length,
      }).toEqual(wanted)
    },
  )

  it('of an observing policy deny no request in an outage', async () => {
    const [store, clock] = [new CountingStore(), new TestClock()]
    let isAway = false
    const flaky: StateStore = {
      write: (key, write) =>
        isAway ? Promise.reject(new StoreUnavailableError('unreachable', 'away')) : store.write(key, write),
      read: (key) => (isAway ? Promise.reject(new StoreUnavailableError('unreachable', 'away')) : store.read(key)),
      delete: (key, whileMarks) => store.delete(key, whileMarks),
    }
    const limiter = limiterOn(flaky, clock, [observed], { onStoreError: 'local' })
    await limiter.take('client:a')
    isAway = true
    const told = []
    for (let i = 0; i < 6; i++) told.push(await limiter.take('client:a'))
    expect(told.every(({ allowed, degraded }) => allowed && degraded)).toBe(true)
    expect(told.at(-1)).toMatchObject({ observed: true })
  })
})

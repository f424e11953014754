import fc from 'fast-check'
import { simulateOneCaller } from '../../bench/scale/one-caller'
import { type Decision, type Limiter, type LimiterOptions, MemoryStore, type PolicyInput } from '../../limiter'
import { compile } from '../../limiter/compiled-policy'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import { runs, thoroughly } from '../runs'
import { seeded } from './fleet'
import { CountingStore, everyAlgorithm, limiterOn, MIDNIGHT, TestClock } from './limiters'

/** Each algorithm whose units come back within a second. */
const everyOne = (limit: number): PolicyInput[] =>
  everyAlgorithm(limit, '1s')
    .filter(({ name }) => name !== 'calendar')
    .map((policy) => (policy.name === 'sliding-buckets' ? { ...policy, buckets: 10 } : policy) as PolicyInput)

const gcra = { algorithm: 'gcra', limit: 20, window: '1s' } as const
const own = { name: 'own', ...gcra, limit: 40 } as const

describe('one caller far over its limit', () => {
  const everyDay = ['gcra', 'fixed-window', 'sliding-window']
  for (const policy of everyOne(20)) {
    const test = everyDay.includes(policy.name) ? it : thoroughly
    test(`${policy.name}: instances refuse a few hundred requests a second together, and all of the limit is used`, async () => {
      const load = { instances: 700, policy, perSecond: runs(1200, 8300), warmUp: 30, measured: 2 }
      const { refused, admitted } = await simulateOneCaller(load)
      expect(refused).toBeLessThan(500)
      expect(admitted).toBeGreaterThanOrEqual(0.98 * 20)
    })
  }

  it('is not held back where a few instances refuse little anyway', async () => {
    for (const [instances, limit, perSecond, burst] of [
      [5, 20, 21],
      [2, 1, 20],
      [5, 1, 100],
      [50, 500, 525],
      [10, 500, 1000, 1],
      [10, 20, 200, 1],
    ] as const) {
      const policy = { ...gcra, limit, ...(burst && { burst }) }
      const load = { instances, policy, perSecond, warmUp: 5, measured: runs(10, 400) }
      const [held, never] = [await simulateOneCaller(load), await simulateOneCaller({ ...load, isPaced: true })]
      expect(held.admitted).toBeGreaterThanOrEqual(0.98 * never.admitted)
    }
  })

  it('whose requests cost more or less is held back, too', async () => {
    const costOf = (random: () => number) => 1 + Math.floor(3 * random())
    const load = { instances: 700, policy: { ...gcra, limit: 40 }, perSecond: 2000, warmUp: 14, measured: 2, costOf }
    const [held, never] = [await simulateOneCaller(load), await simulateOneCaller({ ...load, isPaced: true })]
    expect(held.refused).toBeLessThan(0.5 * never.refused)
    expect(held.admitted).toBeGreaterThanOrEqual(0.95 * never.admitted)
  })
})

type Take = (limiter: Limiter) => Promise<Decision>
const taking: Take = (limiter) => limiter.take('caller')

/** An instance, another one that takes whatever becomes free before it asks, and the denial that it told last. */
async function heldBack(
  policies: readonly PolicyInput[] = [own],
  { take = taking, losses = 12, ...more }: Partial<LimiterOptions> & { take?: Take; losses?: number } = {},
) {
  const clock = new TestClock()
  const store = new CountingStore(new MemoryStore())
  const limiter = () => limiterOn(store, clock, policies, more)
  const [one, other] = [limiter(), limiter()]
  const lose = async () => {
    while ((await take(other)).allowed);
    return await take(one)
  }
  let denial = await take(one)
  for (let i = 0; i < losses; i++) {
    clock.at += Math.ceil(denial.retryAfterMs)
    denial = await lose()
  }
  return { clock, store, one, other, limiter, lose, denial }
}

describe('an instance that is held back', () => {
  it('says until when, and asks then', async () => {
    const { clock, store, one, other, denial } = await heldBack()
    const free = (await other.take('caller')).retryAfterMs
    expect(denial.retryAfterMs).toBeGreaterThan(free)
    const { calls } = store
    for (let left = denial.retryAfterMs; left > 0; left--) {
      expect(await one.take('caller')).toMatchObject({ allowed: false, retryAfterMs: left, remaining: 0 })
      clock.at++
    }
    expect(store.calls).toBe(calls)
    expect(await one.take('caller')).toMatchObject({ allowed: true })
  })

  it('began after losses in a row, which a success ends', async () => {
    const { clock, one, other, lose } = await heldBack([{ ...own, algorithm: 'fixed-window', limit: 500 }], {
      losses: 0,
    })
    for (let round = 0; round < 30; round++) {
      clock.at += 1000
      expect(await one.take('caller')).toMatchObject({ allowed: true })
      await other.take('caller', { cost: 499 })
      clock.at += 1000
      expect(await lose()).toMatchObject({ retryAfterMs: 1000 - (clock.at % 1000) })
    }
  })

  it('asks for less than it was refused, and not for more', async () => {
    const take: Take = (limiter) => limiter.take('caller', { cost: 2 })
    const { clock, store, one, denial } = await heldBack([{ ...own, burst: 8 }], { take, losses: 20 })
    clock.at += denial.retryAfterMs - 1
    const { calls } = store
    expect(await one.take('caller', { cost: 3 })).toMatchObject({ allowed: false })
    expect(store.calls).toBe(calls)
    expect(await one.take('caller', { cost: 1 })).toMatchObject({ allowed: true })
  })

  it('lets a request that takes more pass when it was told', async () => {
    const { clock, one, denial } = await heldBack([own], { losses: 8 })
    const { retryAfterMs } = await one.take('caller', { cost: 10 })
    const toldAt = clock.at + retryAfterMs
    clock.at += denial.retryAfterMs + 1
    const again = await one.take('caller', { cost: 10 })
    expect(again.allowed).toBe(false)
    expect(clock.at + again.retryAfterMs).toBe(toldAt)
    clock.at = toldAt
    expect(await one.take('caller', { cost: 10 })).toMatchObject({ allowed: true })
  })

  it('asks after denialTtlMs at the latest, so that a reset takes effect', async () => {
    const { clock, one, other } = await heldBack([own], { denialTtlMs: 60, losses: 20 })
    await other.reset('caller')
    clock.at += 61
    expect(await one.take('caller')).toMatchObject({ allowed: true })
  })

  it('asks after five seconds at the latest, however long denials are trusted', async () => {
    const { denial } = await heldBack([own], { denialTtlMs: 60_000, losses: 60 })
    expect(denial.retryAfterMs).toBeGreaterThan(3500)
    expect(denial.retryAfterMs).toBeLessThanOrEqual(5026)
  })

  it('is not once the limit was raised', async () => {
    const clock = new TestClock()
    const store = new MemoryStore()
    const [before, raised] = [40, 120].map((limit) =>
      parsePolicies([{ ...own, limit }], [], []).map((one) => compile(one)),
    )
    const [one, other] = [1, 2].map(() => new RateLimiter({ store, clock: clock.read })) as [RateLimiter, RateLimiter]
    const take = (by: RateLimiter, policies = before!) => by.decide([{ key: 'caller', policies, cost: 1 }])
    for (let losses = 0; losses < 12; losses++) {
      while ((await take(other)).allowed);
      clock.at += Math.ceil((await take(one)).retryAfterMs)
    }
    while ((await take(other)).allowed);
    clock.at += Math.ceil((await take(one)).retryAfterMs) - 1
    expect(await take(one)).toMatchObject({ allowed: false })
    expect(await take(one, raised)).toMatchObject({ allowed: true })
  })

  it('tells requests of all lists of policies the same moment, and asks for none', async () => {
    const policies = [own, { ...own, name: 'large', limit: 1000 }]
    const of = (names: string[]) => (limiter: Limiter) => limiter.takeAll([{ subject: 'caller', policies: names }])
    const { clock, store, one, denial } = await heldBack(policies, { take: of(['own']), losses: 14 })
    const { calls } = store
    const until = clock.at + denial.retryAfterMs
    for (let i = 0; clock.at < until; i++, clock.at++) {
      const { retryAfterMs } = await of(i % 2 ? ['own'] : ['own', 'large'])(one)
      expect(clock.at + retryAfterMs).toBe(until)
    }
    expect(store.calls).toBe(calls)
  })

  it('denies a request of several subjects, too, and asks for none', async () => {
    const { clock, store, one, denial } = await heldBack([own, { ...own, name: 'large', limit: 1000 }])
    clock.at += denial.retryAfterMs - 1
    const { calls } = store
    const charges = ['caller', 'another'].map((subject) => ({ subject }))
    const denied = await one.takeAll(charges)
    expect(denied).toMatchObject({ allowed: false, policy: 'own', retryAfterMs: 1 })
    expect(denied.resetAfterMs).toBeGreaterThan(500)
    expect(store.calls).toBe(calls)
  })

  it('reports how each policy stands, as it would anyway, but for the one that holds it back', async () => {
    const policies: PolicyInput[] = [
      { ...own, name: 'second', burst: 1 },
      { name: 'minute', algorithm: 'fixed-window', limit: 600, window: '1m' },
      { ...own, name: 'lenient', limit: 4000, overrun: '50%' },
    ]
    const { clock, one, other, denial } = await heldBack(policies, { losses: 50 })
    expect(denial.retryAfterMs).toBeGreaterThan(25)
    clock.at += denial.retryAfterMs - 1
    const held = await one.take('caller')
    const { policies: asIs } = await other.peek('caller', { cost: 0 })
    expect(held).toMatchObject({ allowed: false, policy: 'second', retryAfterMs: 1 })
    expect(held.policies.second).toMatchObject({ allowed: false, remaining: 0, resetAfterMs: 1, retryAfterMs: 1 })
    expect(held.policies.second).not.toHaveProperty('exceeded')
    expect({ ...held.policies, second: 0 }).toEqual({ ...asIs, second: 0 })
  })

  it('denies for ever what can never pass', async () => {
    const { one } = await heldBack([own, { ...own, name: 'small', limit: 400, burst: 10 }])
    expect(await one.take('caller', { cost: 11 })).toMatchObject({
      retryAfterMs: Infinity,
      policies: { own: { allowed: false }, small: { allowed: false, retryAfterMs: Infinity } },
    })
  })

  it('writes a lock-out down that begins, and one that is extended', async () => {
    const lock = { name: 'lock', algorithm: 'gcra', limit: 400, window: '1s', burst: 30, blockFor: '1h' } as const
    const starting = await heldBack([own, lock])
    expect(await starting.one.take('caller', { cost: 31 })).toMatchObject({ policies: { lock: { allowed: false } } })
    expect(await starting.limiter().take('caller')).toMatchObject({ allowed: false, policy: 'lock' })

    const extending = await heldBack([{ ...own, blockFor: '2s', extend: true }], { losses: 0 })
    for (let i = 0; i < 14; i++) {
      await extending.one.peek('caller')
      extending.clock.at += 10_000
      await extending.lose()
    }
    for (let ms = 0; ms < 6000; ms += 10) {
      extending.clock.at += 10
      expect(await extending.one.take('caller')).toMatchObject({ allowed: false })
    }
  })

  it('is not for denials alone, where it saw no room that others took', async () => {
    const { clock, one, other } = await heldBack([{ ...own, algorithm: 'fixed-window', limit: 4000, window: '2m' }], {
      losses: 0,
    })
    await other.take('caller', { cost: 3999 })
    for (let second = 30; second < 120; second += 6) {
      clock.at = MIDNIGHT + second * 1000
      await one.take('caller')
    }
    clock.at = MIDNIGHT + 119_500
    expect(await one.take('caller')).toMatchObject({ allowed: false, retryAfterMs: 500 })
    clock.at += 500
    expect(await one.take('caller')).toMatchObject({ allowed: true })
  })

  it('says until when where its denial begins a lock-out', async () => {
    const { clock, store, one, other } = await heldBack([{ ...own, blockFor: '2s' }], { losses: 0 })
    const lose = async () => {
      await one.peek('caller')
      clock.at += 10_000
      expect(await other.take('caller', { cost: 40 })).toMatchObject({ allowed: true })
      return one.take('caller')
    }
    for (let losses = 0; losses < 12; losses++) await lose()
    const { retryAfterMs } = await lose()
    expect(retryAfterMs).toBeGreaterThan(2000)
    clock.at += retryAfterMs - 1
    const { calls } = store
    expect(await one.take('caller')).toMatchObject({ allowed: false, retryAfterMs: 1 })
    expect(store.calls).toBe(calls)
    clock.at++
    expect(await one.take('caller')).toMatchObject({ allowed: true })
  })

  it('says the same to each of several requests that are denied together', async () => {
    const { clock, one, other, lose } = await heldBack([own], { losses: 12 })
    const { retryAfterMs: last } = await lose()
    clock.at += last
    while ((await other.take('caller')).allowed);
    const denials = await Promise.all([1, 2, 3, 4].map(() => one.take('caller')))
    const [{ retryAfterMs }] = denials as [Decision]
    expect(denials.map((denial) => denial.retryAfterMs)).toEqual(Array(4).fill(retryAfterMs))
    clock.at += retryAfterMs - 1
    expect(await one.take('caller')).toMatchObject({ allowed: false, retryAfterMs: 1 })
  })

  it('lets requests pass that wait for their turn, at the first millisecond', async () => {
    jest.useFakeTimers({ now: MIDNIGHT })
    const { clock, one, other } = await heldBack()
    const free = (await other.take('caller')).retryAfterMs
    const began = clock.at
    const waiting = one.waitFor('caller')
    for (let ms = 0; ms < 1000; ms++) {
      clock.at++
      await jest.advanceTimersByTimeAsync(1)
    }
    const { chargedAt, delayMs } = await waiting
    expect(chargedAt! + delayMs - began).toBe(Math.ceil(free))
    jest.useRealTimers()
  })

  it('lets requests pass that reserve', async () => {
    const { clock, store, one, other } = await heldBack()
    clock.at += Math.ceil((await other.take('caller')).retryAfterMs)
    const { calls } = store
    expect(await one.take('caller')).toMatchObject({ allowed: false })
    expect(store.calls).toBe(calls)
    expect(await one.take('caller', { reserve: '1m' })).toMatchObject({ allowed: true })
  })

  it('leases as it would: nothing leased is held back', async () => {
    const policies = [{ ...own, consistency: 'leased' as const }]
    const { clock, one, other, denial } = await heldBack(policies, { losses: 20 })
    expect(denial.retryAfterMs).toBeLessThanOrEqual(100)
    clock.at += denial.retryAfterMs
    while ((await other.take('caller')).allowed);
    clock.at += 100
    expect(await one.take('caller')).toMatchObject({ allowed: true })
  })

  it('forgets it when its clock is set back', async () => {
    const { clock, store, one, denial } = await heldBack()
    clock.at -= 10
    expect((await one.take('caller')).retryAfterMs).toBeLessThan(denial.retryAfterMs)
    clock.at -= 3_600_000
    const { calls } = store
    await one.take('caller')
    expect(store.calls).toBeGreaterThan(calls)
  })
})

it('a caller that sends one request at a time and obeys Retry-After passes when it was told, on any instance', async () => {
  const policies = [
    ...[3, 20].flatMap(everyOne),
    ...(['gcra', 'token-bucket', 'leaky-bucket'] as const).flatMap((algorithm) =>
      [1, 2, 3].map((burst) => ({ name: 'own', algorithm, limit: 40, window: '1s', burst })),
    ),
    { name: 'slow', algorithm: 'gcra', limit: 6, window: '1m', burst: 2 },
  ] as PolicyInput[]
  // one instance hears of the limit, others find what has become free: until a request comes to the one again
  const anyStep = fc.record({
    early: fc.constantFrom(0, 0, 0, 0, 1),
    told: fc.constantFrom(0, 2, 3, 4, 5, 6, 7),
    pauseMs: fc.constantFrom(0, 0, 0, 0, 1, 5, 40, 900),
  })
  let denials = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...policies),
      fc.array(anyStep, { minLength: 40, maxLength: 200 }),
      fc.nat(),
      async (policy, steps, seed) => {
        const clock = new TestClock()
        const store = new MemoryStore()
        const fleet = Array.from({ length: 8 }, () => limiterOn(store, clock, [policy]))
        const own = Math.random
        Math.random = seeded(seed)
        try {
          let mustPass = false
          for (const { early, told, pauseMs } of steps) {
            const decision: Decision = await fleet[mustPass ? told : early]!.take('caller')
            if (mustPass) expect({ policy, decision }).toMatchObject({ decision: { allowed: true } })
            mustPass = !decision.allowed
            if (mustPass) denials++
            clock.at += mustPass ? Math.ceil(decision.retryAfterMs) : pauseMs
          }
        } finally {
          Math.random = own
        }
      },
    ),
    { numRuns: runs(40, 1000) },
  )
  expect(denials).toBeGreaterThan(20)
})

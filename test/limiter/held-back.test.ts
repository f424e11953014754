import fc from 'fast-check'
import { simulateOneCaller } from '../../bench/scale/one-caller'
import { type Decision, MemoryStore, type PolicyInput } from '../../limiter'
import { compile } from '../../limiter/compiled-policy'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import { runs } from '../runs'
import { seeded } from './fleet'
import { CountingStore, everyAlgorithm, limiterOn, MIDNIGHT, TestClock } from './limiters'

/** Each algorithm whose units come back within a second. */
const everyOne = (limit: number): PolicyInput[] =>
  everyAlgorithm(limit, '1s')
    .filter(({ name }) => name !== 'calendar')
    .map((policy) => (policy.name === 'sliding-buckets' ? { ...policy, buckets: 10 } : policy) as PolicyInput)

const gcra = { algorithm: 'gcra', limit: 20, window: '1s' } as const
const own = { name: 'own', ...gcra } as const

describe('one caller far over its limit', () => {
  it.each(everyOne(20).map((policy) => [policy.name, policy] as const))(
    '%s: instances refuse a few hundred requests a second together, and all of the limit is used',
    async (_, policy) => {
      const load = { instances: 700, policy, perSecond: runs(3000, 8300), warmUp: 16, measured: 2 }
      const { refused, admitted } = await simulateOneCaller(load)
      expect(refused).toBeLessThan(500)
      expect(admitted).toBeGreaterThanOrEqual(0.98 * 20)
    },
  )

  it('is not held back where a few instances refuse little anyway', async () => {
    for (const [instances, limit, perSecond] of [
      [5, 20, 21],
      [2, 1, 20],
      [5, 1, 100],
      [50, 500, 525],
    ] as const) {
      const load = { instances, policy: { ...gcra, limit }, perSecond, warmUp: 10, measured: runs(40, 400) }
      const [held, never] = [await simulateOneCaller(load), await simulateOneCaller({ ...load, isPaced: true })]
      expect(held.admitted).toBeGreaterThanOrEqual(0.98 * never.admitted)
    }
  })

  it('whose requests cost more or less is held back, too', async () => {
    const costOf = (random: () => number) => 1 + Math.floor(3 * random())
    const load = { instances: 700, policy: { ...gcra, limit: 40 }, perSecond: 4000, warmUp: 12, measured: 2, costOf }
    const [held, never] = [await simulateOneCaller(load), await simulateOneCaller({ ...load, isPaced: true })]
    expect(held.refused).toBeLessThan(0.5 * never.refused)
    expect(held.admitted).toBeGreaterThanOrEqual(0.95 * never.admitted)
  })
})

/** A subject's instance that lost to others until it is held back, and the denial that it told last. */
async function heldBack(policies: readonly PolicyInput[] = [own], more = {}) {
  const clock = new TestClock()
  const store = new CountingStore(new MemoryStore())
  const [one, other] = [limiterOn(store, clock, policies, more), limiterOn(store, clock, policies, more)]
  let denial = await one.take('caller')
  for (let losses = 0; losses < 6; losses++) {
    while ((await other.take('caller')).allowed);
    denial = await one.take('caller')
    clock.at += Math.ceil(denial.retryAfterMs)
    while ((await other.take('caller')).allowed);
    denial = await one.take('caller')
  }
  return { clock, store, one, other, denial }
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

  it('asks for less than it was refused, and not for more', async () => {
    const policies = [{ ...own, limit: 1000, burst: 4, window: '50s' }]
    const { clock, store, one, other } = await heldBack(policies)
    while ((await other.take('caller')).allowed);
    let denial = await one.take('caller', { cost: 2 })
    for (let losses = 0; losses < 6; losses++) {
      clock.at += Math.ceil(denial.retryAfterMs)
      while ((await other.take('caller')).allowed);
      denial = await one.take('caller', { cost: 2 })
    }
    clock.at += denial.retryAfterMs - 1
    const { calls } = store
    expect(await one.take('caller', { cost: 3 })).toMatchObject({ allowed: false })
    expect(store.calls).toBe(calls)
    expect(await one.take('caller', { cost: 1 })).toMatchObject({ allowed: true })
  })

  it('asks after denialTtlMs at the latest, so that a reset takes effect', async () => {
    const { clock, one, other } = await heldBack([own], { denialTtlMs: 60 })
    await other.reset('caller')
    clock.at += 61
    expect(await one.take('caller')).toMatchObject({ allowed: true })
  })

  it('is not once the limit was raised', async () => {
    const clock = new TestClock()
    const store = new MemoryStore()
    const [before, raised] = [20, 60].map((limit) =>
      parsePolicies([{ ...own, limit }], [], []).map((one) => compile(one)),
    )
    const [one, other] = [1, 2].map(() => new RateLimiter({ store, clock: clock.read })) as [RateLimiter, RateLimiter]
    const take = (by: RateLimiter, policies = before!) => by.decide([{ key: 'caller', policies, cost: 1 }])
    for (let losses = 0; losses < 6; losses++) {
      while ((await take(other)).allowed);
      clock.at += Math.ceil((await take(one)).retryAfterMs)
    }
    while ((await take(other)).allowed);
    clock.at += Math.ceil((await take(one)).retryAfterMs) - 1
    expect(await take(one)).toMatchObject({ allowed: false })
    expect(await take(one, raised)).toMatchObject({ allowed: true })
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

  it('forgets it when its clock is set back', async () => {
    const { clock, store, one } = await heldBack()
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

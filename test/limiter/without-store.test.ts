import { StoreUnavailableError } from '../../lambda/errors'
import type { LimiterOptions, PolicyInput } from '../../lambda/limiter'
import { compile } from '../../lambda/limiter/compiled-policy'
import { RateLimiter } from '../../lambda/limiter/rate-limiter'
import { parsePolicies } from '../../lambda/policies/policy'
import { Fleet } from './fleet'

const policies: PolicyInput[] = [{ name: 'all', algorithm: 'fixed-window', limit: 100, window: '1h' }]

function fleetOf(size: number, options: Partial<LimiterOptions> = {}, of = policies) {
  const fleet = new Fleet(of, size, { onStoreError: 'local', deadlineMs: 20, firstDeadlineMs: 20, ...options })
  const away = () => {
    const fail = () => Promise.reject(new StoreUnavailableError('unreachable', 'away'))
    const spies = [jest.spyOn(fleet.store, 'write').mockImplementation(fail), jest.spyOn(fleet.store, 'read').mockImplementation(fail)]
    return () => {
      for (const spy of spies) spy.mockRestore()
    }
  }
  return { fleet, away }
}

/** How many of 200 requests an instance lets pass. */
async function passing(fleet: Fleet, i: number, subject = 'client:a') {
  let allowed = 0
  for (let request = 0; request < 200; request++) {
    const decision = await fleet.instances[i]!.limiter.take(subject)
    if (decision.allowed) allowed++
  }
  return allowed
}

describe('an outage', () => {
  it('is no free-for-all: each instance admits its share of the limit', async () => {
    const { fleet, away } = fleetOf(5, { localShare: 0.2 })
    away()
    let all = 0
    for (let i = 0; i < 5; i++) all += await passing(fleet, i)
    expect(all).toBe(100)
  })

  it('begins with what was last known: an instance admits its share of what was left', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.2 })
    await fleet.instances[0]!.limiter.take('client:a', { cost: 60 })
    away()
    expect(await passing(fleet, 0)).toBe(8)
    expect(await passing(fleet, 0, 'client:b')).toBe(20)
  })

  it('begins anew for a subject that the store was asked about in between', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.5 })
    const back = away()
    expect(await passing(fleet, 0)).toBe(50)
    back()
    fleet.now += 60_000 // the circuit closes again
    const { limiter } = fleet.instances[0]!
    expect(await limiter.take('client:a', { cost: 90 })).toMatchObject({ allowed: true, degraded: false, remaining: 10 })
    away()
    expect(await passing(fleet, 0)).toBe(5)
  })

  it('begins each policy with what was left of it, also one that only some requests are held to', async () => {
    const search = { name: 'search', algorithm: 'fixed-window', limit: 40, window: '1h' } as const
    const { fleet, away } = fleetOf(1, { localShare: 0.5 }, [...policies, search])
    const { limiter } = fleet.instances[0]!
    await limiter.take('client:a', { cost: 20 })
    away()
    const other = () => limiter.takeAll([{ subject: 'client:a', policies: ['all'] }])
    expect(await other()).toMatchObject({ degraded: true, remaining: 39 })
    expect((await limiter.take('client:a')).policies).toMatchObject({ all: { remaining: 38 }, search: { remaining: 9 } })
    expect(await other()).toMatchObject({ remaining: 37 })
  })

  it('lets a subject pass whose share is less than a unit: one at least', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.001 })
    away()
    expect(await passing(fleet, 0)).toBe(1)
  })

  it('tells a request that costs more than the share, not more than the limit, to come again', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.2 })
    away()
    const { limiter } = fleet.instances[0]!
    expect(await limiter.take('client:a', { cost: 50 })).toMatchObject({ allowed: false, degraded: true, retryAfterMs: 1000, limit: 100 })
    expect(await limiter.take('client:a', { cost: 101 })).toMatchObject({ allowed: false, degraded: true, retryAfterMs: Infinity })
  })

  it('keeps to the pace of a bucket, share by share', async () => {
    const gcra: PolicyInput[] = [{ name: 'pace', algorithm: 'gcra', limit: 100, burst: 10, window: '1m' }]
    const { fleet, away } = fleetOf(1, { localShare: 0.5 }, gcra)
    away()
    expect(await passing(fleet, 0)).toBe(5)
    fleet.now += 60_000
    expect(await passing(fleet, 0)).toBe(5)
  })

  it('costs no time once the circuit is open, and is over by itself', async () => {
    const { fleet, away } = fleetOf(1)
    const { limiter, events } = fleet.instances[0]!
    await limiter.take('client:a')
    const back = away()
    for (let i = 0; i < 20; i++) expect((await limiter.take('client:a')).degraded).toBe(true)
    expect(events.filter(({ kind }) => kind === 'circuit')).toEqual([{ kind: 'circuit', state: 'open' }])
    expect(events.filter((event) => event.kind === 'store-call' && event.failure).length).toBe(5)
    back()
    fleet.now += 1500
    expect((await limiter.take('client:a')).degraded).toBe(false)
    expect(events.at(-1)).toMatchObject({ kind: 'store-call' })
    expect(events.filter(({ kind }) => kind === 'circuit')).toHaveLength(2)
  })
})

it('a subject that was charged is given its units back within the deadline, or after the answer', async () => {
  const { fleet } = fleetOf(1, { deadlineMs: 60, firstDeadlineMs: 60 }, [...policies, { name: 'other', limit: 100, window: '1h' }])
  const { limiter } = fleet.instances[0]!
  const write = fleet.store.write.bind(fleet.store)
  let calls = 0
  jest.spyOn(fleet.store, 'write').mockImplementation((key, change) => {
    calls++
    return calls === 1 ? write(key, change) : new Promise(() => {})
  })
  const startedAt = performance.now()
  const decision = await limiter.takeAll([
    { subject: 'client:a', policies: ['all'] },
    { subject: 'client:b', policies: ['other'] },
  ])
  expect(decision).toMatchObject({ degraded: true })
  expect(performance.now() - startedAt).toBeLessThan(60 + 40)
})

it('takes the table over for each policy of a subject, also where its requests have different ones', async () => {
  const { fleet, away } = fleetOf(0)
  const limiter = new RateLimiter({ store: fleet.store, clock: () => fleet.now })
  const [all, few] = parsePolicies([...policies, { name: 'few', algorithm: 'fixed-window', limit: 5, window: '1h' }], [], []).map(
    (policy) => compile(policy),
  )
  const take = (...held: (typeof all)[]) => limiter.decide([{ key: 'k', policies: held as never, cost: 1 }])
  for (let i = 0; i < 5; i++) await take(all, few)
  await take(all)
  away()
  fleet.now += 6000 // no denial is known by now
  expect(await take(all)).toMatchObject({ allowed: true, degraded: true, remaining: 93 })
  expect(await take(all, few)).toMatchObject({ allowed: false, degraded: true, policy: 'few' })
})

it('a denial charges no other subject', async () => {
  const { fleet, away } = fleetOf(1, {}, [...policies, { name: 'own', limit: 5, window: '1h' }])
  away()
  const { limiter } = fleet.instances[0]!
  const take = (subject: string) =>
    limiter.takeAll([
      { subject: 'global', policies: ['all'] },
      { subject, policies: ['own'] },
    ])
  for (let i = 0; i < 150; i++) await take('client:greedy')
  expect((await take('client:modest')).policies.all).toMatchObject({ allowed: true, remaining: 94 })
})

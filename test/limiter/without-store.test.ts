import type { LimiterOptions, PolicyInput } from '../../limiter'
import { compile } from '../../limiter/compiled-policy'
import { StoreUnavailableError } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import { subjectKey } from '../../limiter/subject-key'
import { inTime } from '../in-time'
import { runs } from '../runs'
import { Fleet, seeded } from './fleet'

const policies: PolicyInput[] = [{ name: 'all', algorithm: 'fixed-window', limit: 100, window: '1h' }]

function fleetOf(size: number, options: Partial<LimiterOptions> = {}, of = policies) {
  const fleet = new Fleet(of, size, { onStoreError: 'local', deadlineMs: 20, firstDeadlineMs: 20, ...options })
  const away = () => {
    const fail = () => Promise.reject(new StoreUnavailableError('unreachable', 'away'))
    const spies = [
      jest.spyOn(fleet.store, 'write').mockImplementation(fail),
      jest.spyOn(fleet.store, 'read').mockImplementation(fail),
    ]
    return () => {
      for (const spy of spies) spy.mockRestore()
    }
  }
  return { fleet, away }
}

/** How many of 200 requests an instance admits. */
async function admitted(fleet: Fleet, i: number, subject = 'client:a') {
  let allowed = 0
  for (let request = 0; request < 200; request++) {
    const decision = await fleet.instances[i]!.limiter.take(subject)
    if (decision.allowed) allowed++
  }
  return allowed
}

describe('an outage', () => {
  it('admits a share of the limit on each instance, and no more', async () => {
    const { fleet, away } = fleetOf(5, { localShare: 0.2 })
    away()
    let all = 0
    for (let i = 0; i < 5; i++) all += await admitted(fleet, i)
    expect(all).toBe(100)
  })

  it('starts from the last view: each instance admits its share of what was left', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.2 })
    await fleet.instances[0]!.limiter.take('client:a', { cost: 60 })
    away()
    expect(await admitted(fleet, 0)).toBe(8)
    expect(await admitted(fleet, 0, 'client:b')).toBe(20)
  })

  it('renews no share when the store comes back: local counts hold until the window ends', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.5 })
    const { limiter } = fleet.instances[0]!
    for (let outage = 0; outage < 3; outage++) {
      const back = away()
      expect(await admitted(fleet, 0)).toBe(outage === 0 ? 50 : 0)
      back()
      fleet.now += 60_000 // the circuit closes again
      expect((await limiter.take('client:a')).degraded).toBe(false)
    }
    fleet.now += 3_600_000
    away()
    expect(await admitted(fleet, 0)).toBe(50)
  })

  it('starts from what is left now if the store was asked in between', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.5 })
    const { limiter } = fleet.instances[0]!
    const back = away()
    for (let i = 0; i < 10; i++) await limiter.take('client:a')
    back()
    fleet.now += 60_000
    expect(await limiter.take('client:a', { cost: 80 })).toMatchObject({
      allowed: true,
      degraded: false,
      remaining: 20,
    })
    away()
    expect(await admitted(fleet, 0)).toBe(5) // of 10 units, since those admitted before are in the table now
  })

  it('starts each policy from what was left of it, also one that applies to some requests only', async () => {
    const search = { name: 'search', algorithm: 'fixed-window', limit: 40, window: '1h' } as const
    const { fleet, away } = fleetOf(1, { localShare: 0.5 }, [...policies, search])
    const { limiter } = fleet.instances[0]!
    await limiter.take('client:a', { cost: 20 })
    away()
    const other = () => limiter.takeAll([{ subject: 'client:a', policies: ['all'] }])
    expect(await other()).toMatchObject({ degraded: true, remaining: 39 })
    expect((await limiter.take('client:a')).policies).toMatchObject({
      all: { remaining: 38 },
      search: { remaining: 9 },
    })
    expect(await other()).toMatchObject({ remaining: 37 })
  })

  it('admits one unit of a subject whose share is less than that', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.001 })
    away()
    expect(await admitted(fleet, 0)).toBe(1)
  })

  it('gives a finite retry time to a request that costs more than the share but not more than the limit', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.2 })
    away()
    const { limiter } = fleet.instances[0]!
    expect(await limiter.take('client:a', { cost: 50 })).toMatchObject({
      allowed: false,
      degraded: true,
      retryAfterMs: 1000,
      limit: 100,
    })
    expect(await limiter.take('client:a', { cost: 101 })).toMatchObject({
      allowed: false,
      degraded: true,
      retryAfterMs: Infinity,
    })
  })

  it('keeps to the pace of a bucket, share by share', async () => {
    const gcra: PolicyInput[] = [{ name: 'pace', algorithm: 'gcra', limit: 100, burst: 10, window: '1m' }]
    const { fleet, away } = fleetOf(1, { localShare: 0.5 }, gcra)
    away()
    expect(await admitted(fleet, 0)).toBe(5)
    fleet.now += 60_000
    expect(await admitted(fleet, 0)).toBe(5)
  })

  it('costs no time once the circuit breaker is open, and ends by itself', async () => {
    const { fleet, away } = fleetOf(1, { deadlineMs: 2000 }) // time for all tries, whatever else runs here
    const { limiter, events } = fleet.instances[0]!
    await limiter.take('client:a')
    const back = away()
    for (let i = 0; i < 20; i++) expect((await limiter.take('client:a')).degraded).toBe(true)
    expect(events.filter(({ kind }) => kind === 'circuit')).toEqual([{ kind: 'circuit', state: 'open' }])
    // each tried three times
    expect(events.filter((event) => event.kind === 'store-call' && event.failure).length).toBe(5 * 3)
    back()
    fleet.now += 1500
    expect((await limiter.take('client:a')).degraded).toBe(false)
    expect(events.at(-1)).toMatchObject({ kind: 'store-call' })
    expect(events.filter(({ kind }) => kind === 'circuit')).toHaveLength(2)
  })
})

describe('a store that fails', () => {
  it.each(
    [
      [0.7, 0.6],
      [0.5, 0.25],
      [0.3, 0.1],
    ].slice(0, runs(1, 3)) as [number, number][],
  )(
    '%s of its calls is still called, and decides all requests that another try saves',
    async (failing, degradedAtMost) => {
      const { fleet } = fleetOf(1, {}, [{ name: 'all', algorithm: 'fixed-window', limit: 100_000, window: '1d' }])
      const chance = seeded(7)
      const write = fleet.store.write.bind(fleet.store)
      jest.spyOn(fleet.store, 'write').mockImplementation((...call) => {
        return chance() < failing ? Promise.reject(new StoreUnavailableError('unreachable', 'no')) : write(...call)
      })
      let degraded = 0
      for (let i = 0; i < 1000; i++) {
        fleet.now += 50
        if ((await fleet.instances[0]!.limiter.take('client:a')).degraded) degraded++
      }
      expect(degraded / 1000).toBeLessThanOrEqual(degradedAtMost)
    },
  )
})

it('a charge of one subject is refunded within the deadline or after the answer if another subject fails', async () => {
  const { fleet } = fleetOf(1, { deadlineMs: 300, firstDeadlineMs: 300 }, [
    ...policies,
    { name: 'other', limit: 100, window: '1h' },
  ])
  const { limiter } = fleet.instances[0]!
  const write = fleet.store.write.bind(fleet.store)
  let calls = 0
  jest.spyOn(fleet.store, 'write').mockImplementation((key, change) => {
    calls++
    return calls === 1 ? write(key, change) : new Promise(() => {})
  })
  const decision = await inTime(2 * 300, () =>
    limiter.takeAll([
      { subject: 'client:a', policies: ['all'] },
      { subject: 'client:b', policies: ['other'] },
    ]),
  )
  expect(decision).toMatchObject({ degraded: true })
})

it('an outage starts from the table for each policy of a subject, also if requests have different policies', async () => {
  const { fleet, away } = fleetOf(0)
  const limiter = new RateLimiter({ store: fleet.store, clock: () => fleet.now })
  const [all, few] = parsePolicies(
    [...policies, { name: 'few', algorithm: 'fixed-window', limit: 5, window: '1h' }],
    [],
    [],
  ).map((policy) => compile(policy))
  const take = (...held: (typeof all)[]) => limiter.decide([{ key: 'k', policies: held as never, cost: 1 }])
  for (let i = 0; i < 5; i++) await take(all, few)
  await take(all)
  away()
  fleet.now += 6000 // no denial is cached any more
  expect(await take(all)).toMatchObject({ allowed: true, degraded: true, remaining: 93 })
  expect(await take(all, few)).toMatchObject({ allowed: false, degraded: true, policy: 'few' })
})

it('a local denial charges no other subject', async () => {
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

describe('after an outage, units admitted without the store', () => {
  const HOUR = 3_600_000
  const remaining = async (fleet: Fleet, subject = 'client:a') =>
    (await fleet.instances.at(-1)!.limiter.peek(subject, { cost: 0 })).remaining

  async function afterOutage(units: number, of = policies, options: Partial<LimiterOptions> = {}) {
    const { fleet, away } = fleetOf(2, options, of)
    const [{ limiter }] = fleet.instances as [(typeof fleet.instances)[0]]
    const back = away()
    for (let i = 0; i < units; i++)
      expect(await limiter.take('client:a')).toMatchObject({ allowed: true, degraded: true })
    back()
    fleet.now += 30_000
    return { fleet, limiter, away }
  }

  it('are sent in one write with the next decision that calls the store', async () => {
    const { fleet, limiter } = await afterOutage(30)
    const before = fleet.store.calls
    expect(await limiter.take('client:a')).toMatchObject({ degraded: false, remaining: 99 })
    expect(fleet.store.calls - before).toBe(2)
    expect(await limiter.take('client:a')).toMatchObject({ remaining: 68 })
    expect(fleet.store.calls - before).toBe(3)
    expect(await remaining(fleet)).toBe(68)
  })

  it('are sent past the limit too', async () => {
    const { fleet, limiter } = await afterOutage(100)
    await limiter.take('client:a', { cost: 20 })
    expect(await remaining(fleet)).toBe(0)
    const fields = (await fleet.store.read(subjectKey('client:a'))).policies
    expect(Object.values(Object.values(fields)[0]!)).toContain(120)
  })

  it('are sent to each policy as its own requests took them, except those of past windows', async () => {
    const both = [...policies, { name: 'short', algorithm: 'fixed-window', limit: 50, window: '10s' } as const]
    const { fleet, limiter } = await afterOutage(30, both)
    await limiter.take('client:a')
    expect((await fleet.instances[1]!.limiter.peek('client:a', { cost: 0 })).policies).toMatchObject({
      all: { remaining: 69 },
      short: { remaining: 49 },
    })
  })

  it('are dropped when all windows are over', async () => {
    const { fleet, limiter } = await afterOutage(30)
    fleet.now += HOUR
    const before = fleet.store.calls
    await limiter.take('client:a')
    await limiter.take('client:a')
    expect(fleet.store.calls - before).toBe(2)
    expect(await remaining(fleet)).toBe(98)
  })

  it('count once, however often the answer is lost', async () => {
    const { fleet, limiter } = await afterOutage(30)
    const write = fleet.store.write.bind(fleet.store)
    let decided = false
    const lost = jest.spyOn(fleet.store, 'write').mockImplementation(async (...call) => {
      const answer = await write(...call)
      if (decided) throw new StoreUnavailableError('timeout', 'no answer')
      decided = true
      return answer
    })
    expect(await limiter.take('client:a')).toMatchObject({ allowed: true, degraded: false })
    lost.mockRestore()
    expect(await remaining(fleet)).toBe(69)
    fleet.now += 2000
    await limiter.take('client:b') // closes the circuit breaker if it is open
    fleet.now += 60_000
    await limiter.take('client:a')
    // This instance has written since, so it cannot be known: they count once or twice, never not at all.
    expect([68, 38]).toContain(await remaining(fleet))
  })

  it('are sent at most once a second for each subject, whatever the store does', async () => {
    const { fleet } = fleetOf(1)
    const { limiter } = fleet.instances[0]!
    const write = fleet.store.write.bind(fleet.store)
    let [calls, fails] = [0, false]
    jest.spyOn(fleet.store, 'write').mockImplementation(async (...call) => {
      calls++
      if (fails) throw new StoreUnavailableError('refused', 'not now')
      return write(...call)
    })
    await limiter.take('client:a')
    for (let i = 0; i < 20; i++) {
      fails = i % 5 === 0
      await limiter.take('client:a')
      fleet.now += 10
    }
    expect(calls).toBe(1 + 20 + 1)
  })

  it('delay an answer no longer than its deadline, and are sent beside it after that', async () => {
    const { fleet, limiter } = await afterOutage(5, policies, { deadlineMs: 40, firstDeadlineMs: 40 })
    const write = fleet.store.write.bind(fleet.store)
    let calls = 0
    jest
      .spyOn(fleet.store, 'write')
      .mockImplementation((...call) => (++calls === 1 ? write(...call) : new Promise(() => {})))
    const decision = await inTime(500, () => limiter.take('client:a'))
    expect(decision).toMatchObject({ allowed: true, degraded: false, remaining: 99 })
  })

  it('are sent on close', async () => {
    const { fleet, limiter } = await afterOutage(30)
    await limiter.close()
    expect(await remaining(fleet)).toBe(70)
  })

  it('do not delay a cached denial, which makes no call', async () => {
    const { fleet, limiter } = await afterOutage(5, policies, { denialTtlMs: 60_000 })
    await fleet.instances[1]!.limiter.take('client:a', { cost: 100 })
    expect(await limiter.take('client:a', { cost: 99 })).toMatchObject({ allowed: false, degraded: false })
    const write = jest.spyOn(fleet.store, 'write').mockImplementation(() => new Promise(() => {}))
    expect(await limiter.take('client:a', { cost: 99 })).toMatchObject({ allowed: false, degraded: false })
    write.mockRestore()
  })

  it('are charged up to the limit for an observing policy, and recorded as overage where that is allowed', async () => {
    const of: PolicyInput[] = [
      { name: 'watch', algorithm: 'fixed-window', limit: 10, window: '1h', action: 'observe' },
      { name: 'billed', algorithm: 'fixed-window', limit: 10, window: '1h', overage: 'allow' },
    ]
    const { fleet, limiter } = await afterOutage(25, of)
    await limiter.take('client:a')
    expect((await fleet.instances[1]!.limiter.peek('client:a', { cost: 0 })).policies).toMatchObject({
      watch: { remaining: 0 },
      billed: { remaining: 0, overage: 16 },
    })
    const counts = Object.values((await fleet.store.read(subjectKey('client:a'))).policies).map((fields) =>
      Math.max(...valuesOf(fields)),
    )
    expect(counts).toEqual([10, 26])
  })

  it('are dropped by a reset', async () => {
    const { fleet, limiter, away } = await afterOutage(30, policies, { localShare: 0.3 })
    await limiter.reset('client:a')
    await limiter.take('client:a')
    expect(await remaining(fleet)).toBe(99)
    away()
    expect(await admitted(fleet, 0)).toBe(29)
  })

  it('do not include a denied request over several subjects', async () => {
    const two = [...policies, { name: 'own', algorithm: 'fixed-window', limit: 5, window: '1h' } as const]
    const { fleet, away } = fleetOf(1, {}, two)
    const { limiter } = fleet.instances[0]!
    const take = () =>
      limiter.takeAll([
        { subject: 'global', policies: ['all'] },
        { subject: 'client:a', policies: ['own'] },
      ])
    const back = away()
    for (let i = 0; i < 20; i++) await take()
    back()
    fleet.now += 30_000
    await limiter.take('global')
    expect((await limiter.peek('global', { cost: 0 })).policies).toMatchObject({ all: { remaining: 94 } })
  })
})

describe('a refund of units admitted without the store', () => {
  it.each(['fixed-window', 'sliding-log', 'gcra', 'token-bucket', 'leaky-bucket'] as const)(
    'makes the share of a %s whole again',
    async (algorithm) => {
      const { fleet, away } = fleetOf(1, { localShare: 0.5 }, [{ name: 'all', algorithm, limit: 10, window: '1h' }])
      const { limiter } = fleet.instances[0]!
      away()
      const decisions = []
      for (let i = 0; i < 5; i++) decisions.push(await limiter.take('client:a'))
      expect(decisions.map(({ allowed, chargedAt }) => allowed && chargedAt)).toEqual(Array(5).fill(fleet.now))
      expect((await limiter.take('client:a')).allowed).toBe(false)
      for (const { chargedAt } of decisions.slice(0, 2)) await limiter.refund('client:a', 1, { chargedAt })
      expect(await admitted(fleet, 0)).toBe(2)
    },
  )

  it('is not sent to the store, and gives nothing back twice', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.5 })
    const { limiter } = fleet.instances[0]!
    const back = away()
    const { chargedAt } = await limiter.take('client:a', { cost: 30 })
    await limiter.refund('client:a', 10, { chargedAt })
    back()
    fleet.now += 60_000
    await limiter.take('client:a')
    expect((await limiter.peek('client:a', { cost: 0 })).remaining).toBe(100 - 20 - 1)
    await limiter.refund('client:a', 20, { chargedAt }) // sent to the store by now
    expect((await limiter.peek('client:a', { cost: 0 })).remaining).toBe(99)
    await limiter.refund('client:a', 5, { chargedAt })
    expect((await limiter.peek('client:a', { cost: 0 })).remaining).toBe(100)
  })

  it('does not include units that the store was charged before', async () => {
    const { fleet, away } = fleetOf(1, { localShare: 0.5 })
    const { limiter } = fleet.instances[0]!
    const before = await limiter.take('client:a', { cost: 10 })
    fleet.now += 5
    away()
    await limiter.take('client:a', { cost: 10 })
    await expect(limiter.refund('client:a', 10, { chargedAt: before.chargedAt })).rejects.toThrow(StoreUnavailableError)
    expect(await admitted(fleet, 0)).toBe(45 - 10)
  })

  it('does nothing in failure mode "allow"', async () => {
    const { fleet, away } = fleetOf(1, { onStoreError: 'allow' })
    away()
    expect(await fleet.instances[0]!.limiter.take('client:a')).toMatchObject({
      allowed: true,
      degraded: true,
      chargedAt: null,
    })
  })
})

it('a request over several subjects that finds the store back is decided by it', async () => {
  const { fleet, away } = fleetOf(1)
  const { limiter } = fleet.instances[0]!
  const both = () => limiter.takeAll([{ subject: 'client:a' }, { subject: 'client:b' }])
  const back = away()
  for (let i = 0; i < 10; i++) await both()
  const { calls } = jest.mocked(fleet.store.write).mock
  const asked = calls.length
  await both()
  expect(calls.length).toBe(asked) // the circuit is open
  back()
  fleet.now += 60_000
  expect(await both()).toMatchObject({ allowed: true, degraded: false })
  expect((await limiter.peek('client:b', { cost: 0 })).degraded).toBe(false)
})

it('a request over several subjects asks no more of them once the first finds the store still away', async () => {
  const { fleet, away } = fleetOf(1)
  const { limiter } = fleet.instances[0]!
  const both = () => limiter.takeAll([{ subject: 'client:a' }, { subject: 'client:b' }])
  away()
  for (let i = 0; i < 10; i++) await both()
  fleet.now += 60_000
  const keys = new Set<string>()
  jest.spyOn(fleet.store, 'write').mockImplementation((key) => {
    keys.add(key)
    return Promise.reject(new StoreUnavailableError('unreachable', 'away'))
  })
  expect((await both()).degraded).toBe(true)
  expect(keys.size).toBe(1)
})

describe('local counts that were evicted', () => {
  const flooded = async (subjects: number, hits: number) => {
    const { fleet, away } = fleetOf(1, { localShare: 0.1, maxSubjects: 20 })
    away()
    const { limiter } = fleet.instances[0]!
    for (let i = 0; i < hits; i++) await limiter.take('client:a')
    for (let i = 0; i < subjects; i++) await limiter.take(`flood:${i}`)
    return { fleet, limiter }
  }

  it('return with what was used, so that many other subjects renew no share', async () => {
    const { fleet } = await flooded(100, 10)
    expect(await admitted(fleet, 0)).toBe(0)
  })

  it('return with the rest of their share', async () => {
    const { fleet } = await flooded(100, 4)
    expect(await admitted(fleet, 0)).toBeLessThanOrEqual(6)
    expect(await admitted(fleet, 0, 'client:new')).toBeGreaterThanOrEqual(8)
  })

  it('of running requests return with the slots that were taken, until their timeout is over', async () => {
    const { fleet, away } = fleetOf(1, { maxSubjects: 20 }, [
      { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '60s' } as never,
    ])
    away()
    const { limiter } = fleet.instances[0]!
    for (let i = 0; i < 2; i++) await limiter.acquire('client:a')
    for (let i = 0; i < 100; i++) await limiter.acquire(`flood:${i}`)
    expect((await limiter.acquire('client:a')).allowed).toBe(false)
    fleet.now += 61_000
    expect((await limiter.acquire('client:a')).allowed).toBe(true)
  })

  it('return whole when their window is over', async () => {
    const { fleet } = await flooded(100, 10)
    fleet.now += 3_600_000
    expect(await admitted(fleet, 0)).toBe(10)
  })
})

it('a request of more subjects than fit in memory charges all of them', async () => {
  const { fleet, away } = fleetOf(1, { maxSubjects: 1, localShare: 0.05 })
  away()
  const { limiter } = fleet.instances[0]!
  const take = () => limiter.takeAll([{ subject: 'a' }, { subject: 'b' }])
  const allowed = []
  for (let i = 0; i < 7; i++) allowed.push((await take()).allowed)
  expect(allowed).toEqual([true, true, true, true, true, false, false])
})

it('a caller gets no more for naming other subjects, each time others, than fit in memory', async () => {
  const { fleet, away } = fleetOf(1, { maxSubjects: 1, localShare: 0.05 })
  away()
  const { limiter } = fleet.instances[0]!
  const take = (other: string) => limiter.takeAll([{ subject: 'caller' }, { subject: other }])
  const allowed = []
  for (let i = 0; i < 7; i++) allowed.push((await take(`other ${i}`)).allowed)
  expect(allowed).toEqual([true, true, true, true, true, false, false])
})

it('a subject that is listed twice in a request is charged twice', async () => {
  const { fleet, away } = fleetOf(1, { localShare: 0.05 })
  away()
  const { limiter } = fleet.instances[0]!
  const take = () => limiter.takeAll([{ subject: 'a' }, { subject: 'a', cost: 2 }])
  expect(await take()).toMatchObject({ allowed: true, remaining: 2 })
  expect(await take()).toMatchObject({ allowed: false })
  expect(await limiter.take('a', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 })
})

it('denials are recorded where a policy counts them, also without the store', async () => {
  const { fleet, away } = fleetOf(1, {}, [
    { name: 'log', algorithm: 'sliding-log', limit: 2, window: '10s', countDenied: true },
  ])
  away()
  const { limiter } = fleet.instances[0]!
  const allowed = []
  for (let i = 0; i < 6; i++) {
    allowed.push((await limiter.take('a')).allowed)
    fleet.now += 4000
  }
  expect(allowed).toEqual([true, true, false, false, false, false])
})

const valuesOf = (fields: object): number[] =>
  Object.entries(fields).flatMap(([name, value]) => (name.length > 1 && !name.endsWith('_') ? [value] : []))

import fc from 'fast-check'
import { burst, burstsOnFrozenInstances, evenLoad } from '../../bench/scale/lease-loads'
import { compile } from '../../limiter/compiled-policy'
import { createLimiter } from '../../limiter/create-limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import { subjectKey } from '../../limiter/subject-key'
import { runs, thoroughly } from '../runs'
import { Fleet, seeded } from './fleet'
import { MIDNIGHT } from './limiters'

/** Sends requests at random times to random instances, and returns the admitted ones by second. */
async function overload(fleet: Fleet, perSecond: number, seconds: number, seed = 1) {
  const random = seeded(seed)
  const admitted: number[] = []
  const until = fleet.now + seconds * 1000
  let next = fleet.now
  let decisions = 0
  const start = fleet.store.calls
  for (;;) {
    next -= (Math.log(1 - random()) * 1000) / perSecond
    if (next >= until) break
    fleet.now = Math.floor(next)
    const instance = fleet.instances[Math.floor(random() * fleet.instances.length)]!
    const { allowed } = await instance.limiter.take('global')
    decisions++
    const second = Math.floor((fleet.now - MIDNIGHT) / 1000)
    admitted[second] = (admitted[second] ?? 0) + (allowed ? 1 : 0)
  }
  fleet.now = until
  return { admitted, decisions, calls: fleet.store.calls - start }
}

const leased = (limit: number, window = '1s', algorithm = 'fixed-window' as const) => [
  { name: 'all', algorithm, limit, window, consistency: 'leased' as const },
]

describe('leased units', () => {
  it('need at most one call in a hundred decisions at 1,000 requests a second', async () => {
    const fleet = new Fleet(leased(1_000_000), 1)
    await overload(fleet, 1000, 2)
    const { decisions, calls } = await overload(fleet, 1000, 10)
    expect(calls / decisions).toBeLessThanOrEqual(0.01)
  })

  it.each(
    (
      [
        ['just past', 1.05],
        ['twice', 2],
      ] as const
    ).slice(0, runs(1, 2)),
  )('fill a limit of 200 a second for each instance, %s it, with a few writes each', async (_, load) => {
    const instances = runs(8, 50)
    const limit = 200 * instances
    const even = { policies: leased(limit), perSecond: limit * load, instances, warmUpMs: 3250, measuredMs: 750 }
    const { allowed, degraded, calls, requests, mostWritesPerSecond } = await evenLoad(even)
    expect(allowed).toBeLessThanOrEqual(limit)
    expect(requests).toBeGreaterThan(0.7 * limit * load)
    expect(degraded).toBe(0)
    expect(calls / instances).toBeLessThanOrEqual(8)
    expect(mostWritesPerSecond).toBeLessThan(500)
  })

  it('are not hoarded near a limit: a small limit is used up as if it were strict', async () => {
    const fleet = new Fleet(leased(20, '1m'), 5)
    const { admitted } = await overload(fleet, 50, 60)
    expect(admitted.reduce((sum, units) => sum + units, 0)).toBe(20)
  })

  it('never outlive the window that they were charged to', async () => {
    const fleet = new Fleet(leased(1000), 2)
    await overload(fleet, 500, 1)
    fleet.now = MIDNIGHT + 1999
    await fleet.instances[0]!.limiter.take('global')
    const callsBefore = fleet.store.calls
    fleet.now = MIDNIGHT + 2000
    await fleet.instances[0]!.limiter.take('global')
    expect(fleet.store.calls).toBe(callsBefore + 1)
  })

  it('return to the memory of the instance if another subject of the request denies', async () => {
    const fleet = new Fleet(
      [
        { name: 'all', algorithm: 'fixed-window', limit: 1000, window: '1m', consistency: 'leased' },
        { name: 'own', limit: 1, window: '1m' },
      ],
      1,
    )
    const { limiter } = fleet.instances[0]!
    const both = (subject: string) =>
      limiter.takeAll([
        { subject, policies: ['own'] },
        { subject: 'global', policies: ['all'] },
      ])
    for (let i = 0; i < 50; i++) {
      fleet.now += 1
      await both(`client:${i}`)
    }
    const left = async () => (await limiter.peek('global', { cost: 0 })).policies.all!.remaining
    expect(await left()).toBe(950)
    for (let i = 0; i < 50; i++) expect(await both(`client:${i}`)).toMatchObject({ allowed: false, policy: 'own' })
    expect(await left()).toBe(950)
  })

  it('are returned by a limiter that is closed', async () => {
    const fleet = new Fleet(leased(1000, '1m'), 2)
    const [one, other] = fleet.instances.map(({ limiter }) => limiter)
    for (let i = 0; i < 100; i++) {
      fleet.now += 1
      await one!.take('global')
    }
    expect((await other!.peek('global', { cost: 0 })).remaining).toBeLessThan(900)
    await one!.close()
    expect((await other!.peek('global', { cost: 0 })).remaining).toBe(900)
  })

  it('report the remaining units as if each had been charged by itself', async () => {
    const fleet = new Fleet(leased(1000, '1m'), 1)
    const { limiter } = fleet.instances[0]!
    for (let i = 1; i <= 200; i++) {
      fleet.now += 1
      expect(await limiter.take('global')).toMatchObject({
        allowed: true,
        remaining: 1000 - i,
        resetAfterMs: 60_000 - i,
      })
    }
  })

  it('are reported as events', async () => {
    const fleet = new Fleet(leased(100_000), 1)
    await overload(fleet, 1000, 1)
    const taken = fleet.instances[0]!.events.flatMap((event) => (event.kind === 'lease' ? [event.units] : []))
    expect(taken.length).toBeGreaterThan(3)
    expect(Math.max(...taken)).toBeGreaterThan(150)
  })
})

it('a window of a grid never holds more than the limit, whatever instances do, crash and forget, while their clocks agree', async () => {
  const event = fc.record({
    elapsed: fc.oneof(fc.nat(3), fc.nat(400)),
    instance: fc.nat(7),
    cost: fc.integer({ min: 1, max: 9 }),
    crash: fc.nat(30),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { minLength: 100, maxLength: 400 }),
      fc.integer({ min: 10, max: 400 }),
      async (events, limit) => {
        const fleet = new Fleet(leased(limit), 8)
        const passed = new Map<number, number>()
        for (const { elapsed, instance, cost, crash } of events) {
          fleet.now += elapsed
          if (crash === 0) fleet.crash(instance)
          const { allowed } = await fleet.instances[instance]!.limiter.take('global', { cost })
          const window = Math.floor(fleet.now / 1000)
          if (allowed) passed.set(window, (passed.get(window) ?? 0) + cost)
        }
        expect(Math.max(...passed.values())).toBeLessThanOrEqual(limit)
      },
    ),
    { numRuns: runs(6, 60) },
  )
})

describe('with leases that are bounded by what an instance spent lately,', () => {
  test.each(
    [
      [1000, 20, 0.8, 1000],
      [1000, 20, 0.95, 1000],
      [2000, 40, 0.8, 1500],
    ].slice(0, runs(1, 3)) as [number, number, number, number][],
  )(
    'a limit of %i a minute on %i instances admits a burst of %f of it within %i ms in full',
    async (limit, instances, share, withinMs) => {
      const outcome = await burst({ policies: leased(limit, '1m'), requests: limit * share, withinMs, instances })
      expect(outcome).toMatchObject({ allowed: limit * share, degraded: 0 })
      expect(outcome.calls / outcome.requests).toBeLessThanOrEqual(0.5)
      expect(outcome.mostWritesPerSecond).toBeLessThan(1000)
    },
  )

  thoroughly('the first request is denied when nearly all of the limit is used', async () => {
    const outcome = await burst({ policies: leased(2000, '1m'), requests: 2400, withinMs: 2000, instances: 20 })
    expect(outcome.allowed).toBe(2000)
    expect(outcome.firstDenied).toBeGreaterThanOrEqual(1976)
  })

  it.each(
    [
      [100, 100],
      [100, 1000],
      [20, 100],
    ].slice(0, runs(1, 3)) as [number, number][],
  )(
    'bursts of %i within %i ms on instances that never come back use nine tenths of the limit',
    async (size, withinMs) => {
      const outcome = await burstsOnFrozenInstances({
        policies: leased(2000, '1d'),
        bursts: 2000 / size,
        size,
        withinMs,
      })
      expect(outcome.allowed).toBeGreaterThanOrEqual(1800)
    },
  )

  thoroughly('an instance that is thawed within the window returns what it would not lease now', async () => {
    const stays = await burstsOnFrozenInstances({ policies: leased(2000, '1d'), bursts: 19, size: 100, withinMs: 1000 })
    const thaws = await burstsOnFrozenInstances({
      policies: leased(2000, '1d'),
      bursts: 19,
      size: 100,
      withinMs: 1000,
      thawed: 1,
    })
    expect(stays.denied).toBeGreaterThan(0)
    expect(thaws.denied).toBe(0)
  })
})

/**
 * For each algorithm, how many times its limit may be admitted in an interval as long as the window, without leases.
 */
const COUNTING = [
  { algorithm: 'fixed-window', most: 2 },
  { algorithm: 'anchored-window', most: 2 },
  { algorithm: 'sliding-window', most: 2 },
  { algorithm: 'sliding-buckets', buckets: 4, most: 2 },
  { algorithm: 'sliding-log', most: 1 },
  { algorithm: 'gcra', most: 2 },
  { algorithm: 'token-bucket', most: 2 },
  { algorithm: 'token-bucket', refill: 'interval', most: 2 },
  { algorithm: 'leaky-bucket', most: 2 },
] as const

describe.each(COUNTING)(
  'the bound of $algorithm, leased by instances that crash and whose clocks differ,',
  ({ most, ...counting }) => {
    it('is never passed', async () => {
      const event = fc.record({
        elapsed: fc.oneof(fc.nat(3), fc.nat(40), fc.nat(900)),
        instance: fc.nat(4),
        cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 })),
        crash: fc.nat(40).map((n) => n === 0),
      })
      const skews = fc.array(fc.constantFrom(0, 0, 50, -50, 300), { minLength: 5, maxLength: 5 })
      await fc.assert(
        fc.asyncProperty(
          fc.array(event, { minLength: 50, maxLength: 250 }),
          skews,
          fc.integer({ min: 10, max: 120 }),
          async (events, skew, limit) => {
            const windowMs = 1000
            const fleet = new Fleet(
              [{ name: 'all', limit, window: '1s', consistency: 'leased', ...counting }],
              5,
              {},
              skew,
            )
            const passed: { at: number; units: number }[] = []
            const leases: number[] = []
            for (const { elapsed, instance, cost, crash } of events) {
              fleet.now += elapsed
              if (crash) fleet.crash(instance)
              const { limiter, events: told } = fleet.instances[instance]!
              const before = told.length
              if ((await limiter.take('global', { cost })).allowed) passed.push({ at: fleet.now, units: cost })
              for (const one of told.slice(before)) if (one.kind === 'lease') leases.push(one.units)
            }
            // Each instance held at most one lease when an interval began; a clock that differs opens its windows at
            // other times.
            const held = 5 * Math.max(0, ...leases) + (skew.some((ms) => ms !== 0) ? limit : 0)
            for (const { at } of passed) {
              const units = passed.reduce(
                (sum, one) => sum + (one.at > at - windowMs && one.at <= at ? one.units : 0),
                0,
              )
              expect(units).toBeLessThanOrEqual(most * limit + held)
            }
          },
        ),
        { numRuns: runs(3, 20) },
      )
    })
  },
)

/** Makes each write take so many milliseconds. */
function slowWrites(fleet: Fleet, msOf: (key: string) => number) {
  const write = fleet.store.write.bind(fleet.store)
  jest.spyOn(fleet.store, 'write').mockImplementation(async (key, one) => {
    const ms = msOf(key)
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
    return write(key, one)
  })
}

it('the rest of a lease is not spent by other requests while a larger one asks for the units that it lacks', async () => {
  const fleet = new Fleet(leased(1000, '1m'), 1)
  const { limiter } = fleet.instances[0]!
  let admitted = 0
  const take = async (cost: number) => {
    if ((await limiter.take('global', { cost })).allowed) admitted += cost
  }
  for (let i = 0; i < 60; i++) {
    fleet.now += 1
    await take(1)
  }
  slowWrites(fleet, () => 1)
  for (let i = 0; i < 40; i++) {
    fleet.now += 1
    await Promise.all([40, 3, 3, 3, 1, 1, 1].map(take))
  }
  for (let i = 0; i < 100; i++) await take(1)
  expect(admitted).toBe(1000)
})

it('a unit that is refunded after its window is not spent in the next one', async () => {
  const own = { name: 'own', limit: 1, window: '1m' }
  const fleet = new Fleet([...leased(20), own], 2)
  const [limiter, other] = fleet.instances.map((instance) => instance.limiter)
  const callers = Array.from({ length: 10 }, (_, i) => ({ subject: `client:${i}`, policies: ['own'] }))
  for (const caller of callers) await other!.takeAll([caller])
  const everybody = { subject: 'global', policies: ['all'] }

  slowWrites(fleet, (key) => (key === subjectKey('global') ? 0 : 20))
  fleet.now = MIDNIGHT + 995
  const late = Promise.all(callers.map((caller) => limiter!.takeAll([caller, everybody])))
  await new Promise((resolve) => setTimeout(resolve, 5))
  fleet.now = MIDNIGHT + 1001
  let admitted = (await limiter!.takeAll([everybody])).allowed ? 1 : 0
  for (const decision of await late) expect(decision).toMatchObject({ allowed: false, policy: 'own' })
  for (let i = 0; i < 50; i++) if ((await limiter!.takeAll([everybody])).allowed) admitted++
  expect(admitted).toBe(20)
})

it('units that were leased before a limit was lowered are not spent after it', async () => {
  const fleet = new Fleet([], 0)
  const limiter = new RateLimiter({ store: fleet.store, clock: () => fleet.now, onStoreError: 'throw' })
  const [before, after] = [10_000, 100].map((limit) =>
    parsePolicies(leased(limit, '1d'), [], []).map((policy) => compile(policy)),
  )
  for (let i = 0; i < 200; i++) {
    fleet.now += 1
    await limiter.decide([{ key: 'k', policies: before!, cost: 1 }])
  }
  expect(await limiter.decide([{ key: 'k', policies: after!, cost: 1 }])).toMatchObject({
    allowed: false,
    limit: 100,
    remaining: 0,
  })
})

it('a lease that conflicts try after try takes no longer than the deadline of one decision', async () => {
  const fleet = new Fleet(leased(4000, '1m'), 1, { deadlineMs: 400, onStoreError: 'local' })
  const { limiter } = fleet.instances[0]!
  for (let i = 0; i < 300; i++) {
    fleet.now += 1
    await limiter.take('global')
  }
  const write = fleet.store.write.bind(fleet.store)
  const store = { write, read: fleet.store.read.bind(fleet.store), delete: fleet.store.delete.bind(fleet.store) }
  const others = createLimiter({
    store,
    policies: leased(4000, '1m').map(({ consistency: _, ...one }) => one),
    clock: () => fleet.now,
  })
  const leaving = [60, 5, 0]
  jest.spyOn(fleet.store, 'write').mockImplementation(async (...call) => {
    const { remaining } = await others.peek('global', { cost: 0 })
    const cost = remaining - (leaving.shift() ?? remaining)
    if (cost > 0) await others.take('global', { cost })
    await new Promise((resolve) => setTimeout(resolve, 200))
    return write(...call)
  })
  let longest = 0
  while (leaving.length > 0) {
    const startedAt = performance.now()
    await limiter.take('global')
    longest = Math.max(longest, performance.now() - startedAt)
  }
  expect(longest).toBeLessThan(560) // three tries would take 600
})

thoroughly('a lease that crosses the limit into its overrun is not lost', async () => {
  const fleet = new Fleet([{ ...leased(1000, '1h')[0]!, overrun: '10%' }], 10)
  const random = seeded(5)
  const admitted = { all: 0, overrun: 0 }
  for (let i = 0; i < 4000; i++) {
    fleet.now += 1
    const { allowed, overrun, remaining } = await fleet.instances[Math.floor(random() * 10)]!.limiter.take('global')
    if (allowed) admitted.all++
    if (overrun) admitted.overrun++
    if (overrun) expect(remaining).toBe(0)
  }
  expect(admitted.all).toBe(1100)
  expect(admitted.overrun).toBeGreaterThanOrEqual(100)
})

describe('while units come back to an exhausted limit,', () => {
  const gcra = [{ name: 'all', algorithm: 'gcra' as const, limit: 1000, window: '10s', consistency: 'leased' as const }]

  thoroughly('an instance leases several at a time, and its denials say when it will ask again', async () => {
    const fleet = new Fleet(gcra, 1)
    const { limiter } = fleet.instances[0]!
    for (let i = 0; i < 3000; i++) {
      fleet.now += 1
      await limiter.take('global')
    }
    const before = fleet.store.calls
    let admitted = 0
    let denied = 0
    for (let i = 0; i < 2000; i++) {
      fleet.now += 1
      const { allowed, retryAfterMs } = await limiter.take('global')
      if (allowed) {
        admitted++
        continue
      }
      denied++
      expect(retryAfterMs).toBeGreaterThan(0)
      expect(retryAfterMs).toBeLessThanOrEqual(100)
    }
    expect(admitted).toBeGreaterThanOrEqual(190)
    expect(admitted).toBeLessThanOrEqual(210)
    expect(denied).toBeGreaterThan(1000)
    expect(fleet.store.calls - before).toBeLessThanOrEqual(100)
  })

  it('a denied request over several subjects charges none of them', async () => {
    const fleet = new Fleet([...gcra, { name: 'own', limit: 100, window: '1d' }], 1)
    const { limiter } = fleet.instances[0]!
    for (let i = 0; i < 2000; i++) {
      fleet.now += 1
      await limiter.takeAll([{ subject: 'global', policies: ['all'] }])
    }
    const both = [
      { subject: 'global', policies: ['all'] },
      { subject: 'client', policies: ['own'] },
    ]
    let admitted = 0
    for (let i = 0; i < 500; i++) {
      fleet.now += 1
      if ((await limiter.takeAll(both)).allowed) admitted++
    }
    const { policies } = await limiter.peek('client', { cost: 0 })
    expect(admitted).toBeGreaterThan(30)
    expect(policies.own!.remaining).toBe(100 - admitted)
  })

  thoroughly('no request waits for the units of a limit that only observes', async () => {
    const fleet = new Fleet([{ ...gcra[0]!, action: 'observe' }], 1)
    const { limiter } = fleet.instances[0]!
    for (let i = 0; i < 3000; i++) {
      fleet.now += 1
      expect((await limiter.take('global')).allowed).toBe(true)
    }
  })
})

describe('a lease on its way', () => {
  /** An instance that leases some hundred units at a time, and has spent its lease. */
  async function busy(): Promise<Fleet> {
    const fleet = new Fleet(leased(100_000, '1d'), 2)
    for (let i = 0; i < 2000; i++) {
      fleet.now += 1
      await fleet.instances[0]!.limiter.take('global')
    }
    const events = fleet.instances[0]!.events
    for (const before = events.length; events.length === before; ) await fleet.instances[0]!.limiter.take('global')
    return fleet
  }
  const remaining = async (fleet: Fleet) => (await fleet.instances[1]!.limiter.peek('global', { cost: 0 })).remaining

  it('is returned by a limiter that is closed meanwhile', async () => {
    const fleet = new Fleet(leased(100_000, '1d'), 2)
    const { limiter } = fleet.instances[0]!
    slowWrites(fleet, () => 2)
    const takes = Array.from({ length: 300 }, () => limiter.take('global'))
    await new Promise((resolve) => setTimeout(resolve, 3))
    const closed = limiter.close()
    const admitted = (await Promise.all(takes)).filter(({ allowed }) => allowed).length
    await closed
    await limiter.close()
    expect(await remaining(fleet)).toBe(100_000 - admitted)
  })

  it('is not spent if its subject is reset meanwhile', async () => {
    const fleet = await busy()
    const { limiter } = fleet.instances[0]!
    await limiter.reset('global')
    expect(await remaining(fleet)).toBe(100_000)
    const before = fleet.store.writes
    await limiter.take('global')
    expect(fleet.store.writes).toBe(before + 1)
    expect(await remaining(fleet)).toBe(99_999)
  })

  it('is returned once by an instance that is thawed, also if the answer to that is lost', async () => {
    for (const lost of [false, true]) {
      const fleet = await busy()
      const held = (await fleet.instances[0]!.limiter.peek('global', { cost: 0 })).remaining - (await remaining(fleet))
      expect(held).toBeGreaterThan(50)
      fleet.now += 3_600_000
      const write = fleet.store.write.bind(fleet.store)
      let sent = 0
      jest.spyOn(fleet.store, 'write').mockImplementation(async (...call) => {
        const outcome = await write(...call)
        if (lost && sent++ === 0) throw new StoreUnavailableError('timeout', 'the answer was lost')
        return outcome
      })
      const before = await remaining(fleet)
      await fleet.instances[0]!.limiter.take('global')
      await fleet.instances[0]!.limiter.close()
      const after = await remaining(fleet)
      expect(after).toBe(before + held - 1)
      await fleet.instances[0]!.limiter.close()
      expect(await remaining(fleet)).toBe(after)
    }
  })

  it('is waited for by requests that are counted in the next lease', async () => {
    const fleet = new Fleet(leased(100_000, '1d'), 1)
    slowWrites(fleet, () => 2)
    const before = fleet.store.calls
    const decisions = await Promise.all(Array.from({ length: 500 }, () => fleet.instances[0]!.limiter.take('global')))
    expect(decisions.every(({ allowed }) => allowed)).toBe(true)
    expect(fleet.store.calls - before).toBeLessThanOrEqual(3)
  })
})

it('that was taken with a larger burst is not spent after the burst was lowered', async () => {
  const fleet = new Fleet([], 0)
  const limiter = new RateLimiter({ store: fleet.store, clock: () => fleet.now, onStoreError: 'throw' })
  const [before, after] = [10_000, 10].map((burst) =>
    parsePolicies(
      [{ name: 'all', algorithm: 'gcra', limit: 10_000, burst, window: '10s', consistency: 'leased' }],
      [],
      [],
    ).map((policy) => compile(policy)),
  )
  for (let i = 0; i < 3000; i++) {
    fleet.now += 1
    await limiter.decide([{ key: 'k', policies: before!, cost: 1 }])
  }
  expect(await limiter.decide([{ key: 'k', policies: before!, cost: 1 }])).toMatchObject({ allowed: true })
  expect(await limiter.decide([{ key: 'k', policies: after!, cost: 1 }])).toMatchObject({ allowed: false })
})

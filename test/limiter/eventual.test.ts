import fc from 'fast-check'
import { compile } from '../../limiter/compiled-policy'
import { type Mistake, StoreUnavailableError } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { observing } from '../../limiter/policies/variants'
import { RateLimiter } from '../../limiter/rate-limiter'
import { subjectKey } from '../../limiter/subject-key'
import { runs } from '../runs'
import { Fleet, seeded } from './fleet'

const eventual = (limit: number, window = '1s', more: object = {}) => [
  {
    name: 'all',
    algorithm: 'fixed-window' as const,
    limit,
    window,
    consistency: 'eventual' as const,
    syncMs: 100,
    ...more,
  },
]

/** Waits for calls that run beside the requests. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a limiter with eventual consistency', () => {
  it('calls the store once in an interval, beside the requests', async () => {
    const fleet = new Fleet(eventual(1_000_000), 1)
    for (let i = 0; i < 1000; i++) {
      fleet.now += 1
      await fleet.instances[0]!.limiter.take('global')
      await settled()
    }
    expect(fleet.store.calls).toBeGreaterThanOrEqual(10)
    expect(fleet.store.calls).toBeLessThanOrEqual(11)
  })

  it('answers before any call has returned', async () => {
    const fleet = new Fleet(eventual(5, '1m'), 1)
    const { limiter } = fleet.instances[0]!
    const write = jest.spyOn(fleet.store, 'write').mockImplementation(() => new Promise(() => {}))
    for (let i = 4; i >= 0; i--) expect(await limiter.take('global')).toMatchObject({ allowed: true, remaining: i })
    expect(await limiter.take('global')).toMatchObject({ allowed: false, policy: 'all' })
    write.mockRestore()
  })

  it('makes one call of a subject at a time, however long that takes', async () => {
    const fleet = new Fleet(eventual(1, '1m'), 1, { deadlineMs: 500, firstDeadlineMs: 500 })
    const { limiter } = fleet.instances[0]!
    await limiter.take('global')
    await settled()
    const read = jest.spyOn(fleet.store, 'read').mockImplementation(() => new Promise(() => {}))
    for (let i = 0; i < 5; i++) {
      fleet.now += 100
      expect((await limiter.take('global')).allowed).toBe(false)
      await settled()
    }
    expect(read).toHaveBeenCalledTimes(1)
  })

  it('admits at most the limit and, for each instance, its units of one interval', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.integer({ min: 50, max: 400 }),
        fc.integer({ min: 2, max: 6 }),
        async (seed, limit, size) => {
          const random = seeded(seed)
          const fleet = new Fleet(eventual(limit), size)
          const passed = new Map<number, number>()
          const units: number[] = fleet.instances.map(() => 0)
          let most = 0
          for (let i = 0; i < 2500; i++) {
            fleet.now += random() < 0.7 ? 1 : 0
            const which = Math.floor(random() * size)
            const { allowed } = await fleet.instances[which]!.limiter.take('global')
            await settled()
            if (fleet.now % 100 === 0) units.fill(0)
            if (allowed) units[which]!++
            most = Math.max(most, ...units)
            const window = Math.floor(fleet.now / 1000)
            if (allowed) passed.set(window, (passed.get(window) ?? 0) + 1)
          }
          // The intervals of instances begin at any time, so one may overlap two of ours.
          expect(Math.max(...passed.values())).toBeLessThanOrEqual(limit + size * 2 * most)
        },
      ),
      { numRuns: runs(2, 10) },
    )
  })

  it('stores everything that was admitted, also past the limit', async () => {
    const fleet = new Fleet(eventual(10, '1m'), 3)
    const admitted = { number: 0 }
    for (const { limiter } of fleet.instances) {
      for (let i = 0; i < 10; i++) if ((await limiter.take('global')).allowed) admitted.number++
    }
    expect(admitted.number).toBeGreaterThan(10)
    await Promise.all(fleet.instances.map(({ limiter }) => limiter.close()))
    const { policies } = await fleet.store.read(subjectKey('global'))
    const counts = Object.values(policies).flatMap((fields) =>
      Object.entries(fields).flatMap(([name, n]) => (name.length > 1 ? [n] : [])),
    )
    expect(counts).toEqual([admitted.number])
  })

  it('reports degraded decisions once the store has been away for a while, and not before', async () => {
    const fleet = new Fleet(eventual(100_000), 1, { onStoreError: 'local', deadlineMs: 500, firstDeadlineMs: 500 })
    const { limiter } = fleet.instances[0]!
    await limiter.take('global')
    await settled()
    const away = new StoreUnavailableError('unreachable', 'away')
    const spies = (['write', 'read'] as const).map((call) => jest.spyOn(fleet.store, call).mockRejectedValue(away))
    const degraded: boolean[] = []
    for (let i = 0; i < 30; i++) {
      fleet.now += 101
      degraded.push((await limiter.take('global')).degraded)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect(degraded[0]).toBe(false)
    expect(degraded.at(-1)).toBe(true)
    for (const spy of spies) spy.mockRestore()
    fleet.now += 60_000
    for (let i = 0; i < 3; i++) {
      await limiter.take('global').catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(await limiter.take('global')).toMatchObject({ allowed: true, degraded: false })
  })

  it.each(['sliding-window', 'anchored-window', 'sliding-buckets', 'gcra', 'token-bucket', 'leaky-bucket'] as const)(
    'works with %s',
    async (algorithm) => {
      const fleet = new Fleet(eventual(50, '1m', { algorithm }), 2)
      let allowed = 0
      for (let i = 0; i < 300; i++) {
        fleet.now += 10
        if ((await fleet.instances[i % 2]!.limiter.take('global')).allowed) allowed++
        await settled()
      }
      expect(allowed).toBeGreaterThanOrEqual(50)
      expect(allowed).toBeLessThanOrEqual(50 + 2 * 11)
    },
  )
})

/** The units that the store has counted for a subject. */
async function recorded(fleet: Fleet, subject: string) {
  const { policies } = await fleet.store.read(subjectKey(subject))
  const fields = Object.values(policies).flatMap((all) => Object.entries(all))
  return fields.reduce((sum, [name, n]) => sum + (name.length > 1 ? Number(n) : 0), 0)
}

it('a sync whose answer is lost counts once, however often it is sent', async () => {
  const fleet = new Fleet(eventual(1000, '1d'), 1, { deadlineMs: 20, firstDeadlineMs: 20, onStoreError: 'allow' })
  const { limiter } = fleet.instances[0]!
  let admitted = 0
  const take = async () => {
    fleet.now += 101
    if (!(await limiter.take('global')).degraded) admitted++
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  await take()
  const write = fleet.store.write.bind(fleet.store)
  const lost = jest.spyOn(fleet.store, 'write').mockImplementation(async (...call) => {
    await write(...call)
    return new Promise(() => {})
  })
  for (let i = 0; i < 6; i++) await take()
  lost.mockRestore()
  fleet.now += 60_000 // the circuit breaker closes again
  for (let i = 0; i < 3; i++) await take()
  await limiter.close()
  expect(await recorded(fleet, 'global')).toBe(admitted)
})

it('a subject that is evicted from memory leaves its units in the store', async () => {
  const fleet = new Fleet(eventual(100, '1d'), 1, { maxSubjects: 2 })
  const { limiter } = fleet.instances[0]!
  await limiter.take('me')
  await settled()
  for (let i = 0; i < 9; i++) await limiter.take('me')
  for (const other of ['one', 'two', 'three']) await limiter.take(other)
  await settled()
  expect(await recorded(fleet, 'me')).toBe(10)
})

describe('an instance that has been idle for a long time', () => {
  it.each([
    ['fixed-window', {}],
    ['sliding-window', {}],
    ['sliding-buckets', { buckets: 10 }],
    ['anchored-window', {}],
    ['gcra', {}],
    ['token-bucket', {}],
    ['token-bucket', { refill: 'interval' }],
  ] as const)('charges no units of a past window to the present one: %s %j', async (algorithm, more) => {
    const fleet = new Fleet(eventual(1000, '10s', { algorithm, syncMs: 1000, ...more }), 20)
    const burst = async (requests: number, spanMs: number) => {
      let denied = 0
      for (let i = 0; i < requests; i++) {
        fleet.now += spanMs / requests
        if (!(await fleet.instances[i % 20]!.limiter.take('global')).allowed) denied++
        await settled()
      }
      return denied
    }
    expect(await burst(900, 900)).toBe(0)
    fleet.now = Math.floor(fleet.now) + 3_600_000
    expect(await burst(400, 5000)).toBe(0)
  })

  it('is not degraded by one sync that failed before', async () => {
    const fleet = new Fleet(eventual(100, '1d'), 1, { deadlineMs: 20, firstDeadlineMs: 20, onStoreError: 'local' })
    const { limiter } = fleet.instances[0]!
    const write = jest.spyOn(fleet.store, 'write').mockRejectedValue(new StoreUnavailableError('refused', 'away'))
    await limiter.take('global')
    await settled()
    write.mockRestore()
    fleet.now += 3_600_000
    expect(await limiter.take('global')).toMatchObject({ degraded: false, remaining: 98 })
    await settled()
    expect(await recorded(fleet, 'global')).toBe(1) // the unit of an hour ago; the new one is sent with the next sync
  })

  it('knows after one request what other instances have admitted meanwhile', async () => {
    const fleet = new Fleet(eventual(100, '1d'), 2)
    const [one, other] = fleet.instances
    await one!.limiter.take('global')
    await settled()
    await other!.limiter.take('global', { cost: 90 })
    await settled()
    fleet.now += 3_600_000
    expect(await one!.limiter.take('global')).toMatchObject({ allowed: true, remaining: 98 })
    await settled()
    expect(await one!.limiter.take('global', { cost: 9 })).toMatchObject({ allowed: false })
  })
})

it('an instance that was frozen keeps the units of before, and admits past the limit its next request at most', async () => {
  const fleet = new Fleet(eventual(100, '1d'), 2)
  const [frozen, other] = fleet.instances.map(({ limiter }) => limiter)
  const take = async (limiter = frozen!, cost = 1) => {
    const { allowed } = await limiter.take('global', { cost })
    await settled()
    return allowed
  }
  expect(await take()).toBe(true)
  expect(await take(frozen, 9)).toBe(true) // in its interval, so unknown to the other
  expect(await take(other, 98)).toBe(true)
  fleet.now += 3_600_000
  expect(await take(frozen, 80)).toBe(true) // by what it knew
  for (let i = 0; i < 3; i++) {
    fleet.now += 101
    expect(await take()).toBe(false)
  }
  expect(await recorded(fleet, 'global')).toBe(1 + 9 + 98 + 80)
})

describe('a refund of eventual counts', () => {
  it('takes units that are only in memory at once', async () => {
    const fleet = new Fleet(eventual(10, '1d'), 1)
    const { limiter } = fleet.instances[0]!
    await limiter.take('s')
    await settled()
    for (let i = 0; i < 9; i++) await limiter.take('s')
    expect(await limiter.take('s')).toMatchObject({ allowed: false })
    await limiter.refund('s', 4)
    expect(await limiter.take('s', { cost: 4 })).toMatchObject({ allowed: true, remaining: 0 })
    await limiter.refund('s', 10)
    expect(await limiter.take('s')).toMatchObject({ allowed: true, remaining: 9 })
    await limiter.close()
    expect(await recorded(fleet, 's')).toBe(1)
  })

  it('waits for a sync under way, and takes no units that other instances charged', async () => {
    const fleet = new Fleet(eventual(100, '1d'), 2, { deadlineMs: 50, firstDeadlineMs: 50 })
    const [one, other] = fleet.instances
    await other!.limiter.take('s', { cost: 20 })
    await other!.limiter.close()
    const write = fleet.store.write.bind(fleet.store)
    let release = () => {}
    const held = jest.spyOn(fleet.store, 'write').mockImplementationOnce(
      (...call) =>
        new Promise((resolve, reject) => {
          release = () => void write(...call).then(resolve, reject)
        }),
    )
    await one!.limiter.take('s', { cost: 5 })
    const refund = one!.limiter.refund('s', 5)
    await settled()
    expect(await recorded(fleet, 's')).toBe(20)
    release()
    await refund
    held.mockRestore()
    expect(await recorded(fleet, 's')).toBe(20)
  })

  it('takes nothing if it is unknown whether the units were synced', async () => {
    const fleet = new Fleet(eventual(100, '1d'), 2, { deadlineMs: 20, firstDeadlineMs: 20 })
    const [one, other] = fleet.instances
    await other!.limiter.take('s', { cost: 20 })
    await other!.limiter.close()
    const lost = jest.spyOn(fleet.store, 'write').mockRejectedValue(new StoreUnavailableError('timeout', 'lost'))
    await one!.limiter.take('s', { cost: 5 })
    await expect(one!.limiter.refund('s', 5)).rejects.toThrow(StoreUnavailableError)
    lost.mockRestore()
    fleet.now += 60_000
    await one!.limiter.take('s')
    await one!.limiter.close()
    expect(await recorded(fleet, 's')).toBe(26)
  })
})

it('an outage begins with a share of what is left after the units that were not synced', async () => {
  const fleet = new Fleet(eventual(100, '1d', { syncMs: 1000 }), 1, {
    deadlineMs: 20,
    firstDeadlineMs: 20,
    onStoreError: 'local',
    localShare: 0.2,
  })
  const { limiter } = fleet.instances[0]!
  await limiter.take('global')
  await settled()
  jest.spyOn(fleet.store, 'write').mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
  jest.spyOn(fleet.store, 'read').mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
  let admitted = 1
  for (let i = 0; i < 89; i++) if ((await limiter.take('global')).allowed) admitted++
  let degraded = 0
  for (let i = 0; i < 60; i++) {
    fleet.now += 1000
    const decision = await limiter.take('global', { cost: i < 8 ? 0 : 1 })
    if (decision.allowed && i >= 8) admitted++
    if (decision.degraded) degraded++
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  expect(degraded).toBeGreaterThan(0)
  expect(admitted).toBeLessThanOrEqual(100)
})

it('units admitted in an outage are synced as well', async () => {
  const fleet = new Fleet(eventual(100, '1d'), 1, { deadlineMs: 20, firstDeadlineMs: 20, onStoreError: 'local' })
  const { limiter } = fleet.instances[0]!
  const write = jest.spyOn(fleet.store, 'write').mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
  let admitted = 0
  const take = async () => {
    fleet.now += 101
    const { allowed, degraded } = await limiter.take('global')
    if (allowed) admitted++
    await settled()
    return degraded
  }
  for (let i = 0; i < 30; i++) await take()
  write.mockRestore()
  fleet.now += 60_000
  while (await take());
  for (let i = 0; i < 20; i++) await take()
  await limiter.close()
  expect(await recorded(fleet, 'global')).toBe(admitted)
})

it('a reset clears the count in memory', async () => {
  const fleet = new Fleet(eventual(10, '1d'), 1)
  const { limiter } = fleet.instances[0]!
  await limiter.take('s')
  await settled()
  for (let i = 0; i < 9; i++) await limiter.take('s')
  await limiter.reset('s')
  expect(await limiter.take('s')).toMatchObject({ allowed: true, remaining: 9 })
  await limiter.close()
  expect(await recorded(fleet, 's')).toBe(1)
})

it('an instance that crashes loses no more than the units of its last interval', async () => {
  const fleet = new Fleet(eventual(100_000, '1d'), 1)
  const { limiter } = fleet.instances[0]!
  let admitted = 0
  for (let i = 0; i < 1234; i++) {
    fleet.now += 1
    if ((await limiter.take('global')).allowed) admitted++
    await settled()
  }
  const told = await recorded(fleet, 'global')
  expect(admitted - told).toBeGreaterThan(0)
  expect(admitted - told).toBeLessThanOrEqual(100)
})

it('an observing policy is charged up to its limit and no further', async () => {
  const [parsed] = parsePolicies(eventual(10, '1d'), [], [])
  const policies = [compile(observing(parsed!))]
  const fleet = new Fleet([], 0)
  const limiter = new RateLimiter({ store: fleet.store, clock: () => fleet.now })
  for (let i = 0; i < 40; i++) {
    fleet.now += 20
    expect(await limiter.decide([{ key: subjectKey('s'), policies, cost: 1 }])).toMatchObject({
      allowed: true,
      observed: i >= 10,
    })
    await settled()
  }
  await limiter.close()
  expect(await recorded(fleet, 's')).toBe(10)
})

it('requests of one subject with different policies are counted together', async () => {
  const fleet = new Fleet([...eventual(10, '1d'), ...eventual(5, '1d', { name: 'few' })], 1)
  const { limiter } = fleet.instances[0]!
  await limiter.take('s')
  for (let i = 0; i < 3; i++) await limiter.takeAll([{ subject: 's', policies: ['all'] }])
  expect((await limiter.take('s')).policies).toMatchObject({ all: { remaining: 5 }, few: { remaining: 3 } })
})

describe('the default sync interval', () => {
  const synced = (input: object) => {
    const issues: Mistake[] = []
    const [policy] = parsePolicies([{ name: 'p', limit: 1000, consistency: 'eventual', ...input }], [], issues)
    return issues.length > 0 ? issues.map(String) : compile(policy!).syncMs
  }

  it.each([
    [{ window: '1m' }, 1000],
    [{ window: 'day', algorithm: 'fixed-window' }, 1000],
    [{ window: '5s' }, 500],
    [{ window: '1s' }, 100],
    [{ window: '200ms' }, 50],
    [{ window: '50ms' }, 50],
    [{ window: '1m', algorithm: 'gcra', burst: 20 }, 120],
    [{ window: '1s', syncMs: 1000 }, 1000],
    [{ window: '1s', syncMs: 1001 }, ['syncMs must be at most the window, 1000 ms, got 1001 (policy "p")']],
    [{ window: '49ms' }, ['consistency "eventual" needs a window of at least 50ms (policy "p")']],
  ])('of %j is %j', (input, expected) => {
    expect(synced(input)).toEqual(expected)
  })

  it.each([
    ['fixed-window', {}],
    ['sliding-window', {}],
    ['sliding-buckets', { buckets: 10 }],
    ['anchored-window', {}],
    ['gcra', {}],
    ['gcra', { burst: 100 }],
    ['token-bucket', {}],
    ['token-bucket', { refill: 'interval' }],
    ['leaky-bucket', {}],
  ] as const)('is short enough that an even load of 90 %% is not denied: %s %j', async (algorithm, more) => {
    for (const size of [2, 15]) {
      const random = seeded(size)
      const fleet = new Fleet(eventual(500, '1s', { algorithm, syncMs: undefined, ...more }), size)
      let denied = 0
      for (let i = 0; i < 1350; i++) {
        fleet.now += 1000 / 450
        if (!(await fleet.instances[Math.floor(random() * size)]!.limiter.take('global')).allowed) denied++
        if (i % 3 === 0) await settled()
      }
      expect(denied).toBe(0)
    }
  })
})

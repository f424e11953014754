import { usageOf } from '../../cli/facade/counters'
import type { PolicyInput } from '../../limiter'
import { poolNamesIn, poolOf, poolsNamedIn } from '../../limiter/consistency/pools'
import { RateLimiter } from '../../limiter/rate-limiter'
import { subjectKey } from '../../limiter/subject-key'
import { compiled } from './policies'
import { type Instance, NO_FAULTS, PoolWorld, SUBJECT } from './pool-world'

const KEY = subjectKey(SUBJECT)
const LIMIT = 20_000
const all: PolicyInput = {
  name: 'all',
  limit: LIMIT,
  window: '1m',
  algorithm: 'fixed-window',
  consistency: 'leased',
}
const gcra: PolicyInput = { ...all, algorithm: 'gcra', limit: 1_000_000, burst: LIMIT }

/** What is asked about a subject while instances lease its units from pools. */
async function pooled(
  policies: readonly PolicyInput[],
  ask: (world: PoolWorld, instances: readonly Instance[]) => Promise<void>,
): Promise<void> {
  await inWorld(async (world) => {
    world.prefix = compiled(...policies)[0]!.prefix
    const instances = [1, 2, 3].map(() => world.instance(policies))
    world.faults = { ...NO_FAULTS, hot: 1 }
    await busy(world, instances, 60)
    world.faults = NO_FAULTS
    await busy(world, instances, 1500)
    expect(poolNamesIn(await world.store.read(KEY))).toHaveLength(1)
    await ask(world, instances)
  })
}

async function inWorld(run: (world: PoolWorld) => Promise<void>): Promise<void> {
  const world = new PoolWorld(1, 60_000)
  const uninstall = world.time.install(1)
  try {
    await run(world)
  } finally {
    uninstall()
  }
  expect(world.broken).toEqual([])
}

/** Each millisecond brings a request, to one instance after another. */
async function busy(world: PoolWorld, instances: readonly Instance[], ms: number): Promise<void> {
  for (let at = 0; at < ms; at++) {
    const instance = instances[at % instances.length]!
    world.time.after(at, () => void world.take(instance, 1), instance)
  }
  await world.time.runUntil(world.time.sinceStart + ms + 100)
}

/** What an instance asks for its first unit. */
async function askedFirst(world: PoolWorld, policy: PolicyInput): Promise<string[]> {
  const before = world.asked.length
  await busy(world, [world.instance([policy])], 1)
  return world.asked.slice(before)
}

/** Runs what makes calls to the store. */
async function during<T>({ time }: PoolWorld, work: Promise<T>): Promise<T> {
  await time.runUntil(time.sinceStart + 500)
  return work
}

/** Units in all pools. */
async function unitsInPools({ store }: PoolWorld): Promise<number> {
  const keys = poolsNamedIn(KEY, await store.read(KEY)).flatMap((named) => named.keys)
  const pools = await Promise.all(keys.map(async (key) => poolOf(await store.read(key))))
  return pools.reduce((sum, { left }) => sum + left, 0)
}

async function usedOf({ store, time }: PoolWorld, ...policies: PolicyInput[]): Promise<number[]> {
  const clock = () => time.now
  const counted = compiled(...policies).map((one) => ({ policy: one.name, route: undefined, compiled: one, key: KEY }))
  const usage = await usageOf({ limiter: new RateLimiter({ store, clock }), store }, counted, clock())
  for (const { used, remaining, limit } of usage) expect(used + remaining).toBe(Math.min(limit, LIMIT))
  return usage.map(({ used }) => used)
}

describe('a subject whose units lie in pools', () => {
  it('has used what was charged but for what lies there: what is spent or leased', () =>
    pooled([all], async (world) => {
      const units = await unitsInPools(world)
      const charged = [...world.charged.values()].reduce((sum, one) => sum + one, 0)
      expect(units).toBeGreaterThan(100)
      const [used] = await usedOf(world, all)
      expect(used).toBe(charged - units)
      expect(used).toBeGreaterThanOrEqual(world.tally.units)
    }))

  it('has used none of what lies in pools where units come back one by one, and never less than nothing', () =>
    pooled([gcra], async (world, instances) => {
      await world.time.runUntil(world.time.sinceStart + 1500) // all have come back, and those in pools are there, too
      expect(await usedOf(world, gcra)).toEqual([0])
      await busy(world, instances, 300)
      const [used] = await usedOf(world, gcra)
      expect(used).toBeLessThan(LIMIT / 2)
    }))

  it('counts for each policy the pools of the lists that have it', () =>
    pooled([all], async (world) => {
      const more: PolicyInput = { ...all, name: 'more' }
      const both = world.instance([all, more])
      await busy(world, [both], 1500)
      const names = poolNamesIn(await world.store.read(KEY))
      expect(names).toHaveLength(2)
      const [usedOfAll, usedOfMore] = await usedOf(world, all, more)
      expect(usedOfMore).toBeGreaterThanOrEqual([...both.allowed.within.values()].reduce((sum, one) => sum + one, 0))
      expect(usedOfMore).toBeLessThan(LIMIT / 4)
      expect(usedOfAll).toBeGreaterThan(usedOfMore!)
    }))

  it('has used what was charged past the limit, and what lies in pools of a limit that was lowered', () =>
    pooled([all], async (world) => {
      const units = await unitsInPools(world)
      const charged = [...world.charged.values()].reduce((sum, one) => sum + one, 0)
      const [used] = await usedOf(world, { ...all, limit: charged - 100 })
      expect(used).toBe(charged - 100) // those in pools are of another limit
      const late = new RateLimiter({ store: world.store, clock: () => world.time.now })
      const policies = compiled({ ...all, consistency: 'strict', overrun: '900%' })
      await late.decide([{ key: KEY, policies, cost: LIMIT }])
      expect(await usedOf(world, all)).toEqual([Math.min(LIMIT, charged + LIMIT - units)])
    }))

  it('is peeked by an instance with what its pool has, as a request there is decided', () =>
    pooled([all], async (world, instances) => {
      const one = new RateLimiter({ store: world.store, clock: () => world.time.now })
      const policies = compiled({ ...all, consistency: 'strict' }) // which knows of no pools
      const left = LIMIT - [...world.charged.values()].reduce((sum, units) => sum + units, 0)
      expect(await one.decide([{ key: KEY, policies, cost: left }])).toMatchObject({ allowed: true })
      expect(await one.peek([{ key: KEY, policies, cost: 1 }])).toMatchObject({ allowed: false, remaining: 0 })
      const [{ limiter }] = instances as [Instance]
      const peeked = await during(world, limiter.peek(SUBJECT))
      const taken = await during(world, limiter.take(SUBJECT))
      expect([peeked.allowed, taken.allowed]).toEqual([true, true])
    }))

  it('is reset with its pools: nothing of them is spent besides', () =>
    pooled([all], async (world, instances) => {
      expect(await unitsInPools(world)).toBeGreaterThan(100)
      const keys = poolsNamedIn(KEY, await world.store.read(KEY)).flatMap((named) => named.keys)
      await during(world, instances[0]!.limiter.reset(SUBJECT))
      for (const key of keys) expect(poolOf(await world.store.read(key)).left).toBe(0)
      expect(await usedOf(world, all)).toEqual([0])
      await busy(world, instances, 1500)
      expect(await usedOf(world, all)).not.toEqual([0])
    }))
})

describe('an instance that is new to a subject with 10,000 units a second and more', () => {
  const large: PolicyInput = { ...all, limit: 600_000 }

  it('draws from a pool, and asks nothing of the own item', () =>
    pooled([large], async (world) => {
      const many = Array.from({ length: 30 }, () => world.instance([large]))
      await busy(world, many, 300) // until all four pools are filled
      for (let i = 0; i < 5; i++) expect(await askedFirst(world, large)).toEqual(['read a pool', 'write a pool'])
    }))

  it('leases from the own item where there is no pool', () =>
    inWorld(async (world) => {
      expect(await askedFirst(world, large)).toEqual(['read a pool', 'write the own item'])
      for (const form of [{ limit: 599_999 }, { overrun: '10%' }] as const)
        expect(await askedFirst(world, { ...large, ...form })).toEqual(['write the own item'])
    }))

  it('waits for the first deposit where one finds the own item throttled', () =>
    inWorld(async (world) => {
      const instances = Array.from({ length: 40 }, () => world.instance([large]))
      world.faults = { ...NO_FAULTS, hot: 1 }
      await busy(world, instances.slice(0, 20), 20)
      world.faults = NO_FAULTS
      await world.time.runUntil(world.time.sinceStart + 100) // who found it throttled has told others to leave it alone
      const before = world.asked.length
      await busy(world, instances.slice(20), 20)
      const own = world.asked.slice(before).filter((call) => call === 'write the own item')
      expect(own.length).toBeLessThanOrEqual(8) // all of them deposits
      expect(world.tally).toMatchObject({ allowed: 20, degraded: 0 })
    }))
})

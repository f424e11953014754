import { createLimiter, MemoryStore, type PolicyInput, StoreUnavailableError } from '../../limiter'
import { decidePools } from '../../limiter/consistency/own-item'
import { claim, deposit, draw } from '../../limiter/consistency/pool-plans'
import { MAX_POOLS, poolKeyOf, poolOf, standingOf, turnMs } from '../../limiter/consistency/pools'
import { Decider } from '../../limiter/decider'
import { PREFIX_LENGTH } from '../../limiter/stores/attribute-prefix'
import { subjectKey } from '../../limiter/subject-key'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

const LIMIT = 500_000
const all: PolicyInput = { name: 'all', limit: LIMIT, window: '1s', algorithm: 'fixed-window', consistency: 'leased' }
const KEY = subjectKey('all')
const TURN_MS = turnMs(MAX_POOLS)

/** A store that remembers its calls, in order. */
class AskedStore extends MemoryStore {
  /** Whether the own item gets more writes than it takes. */
  isHot = false
  /** Whether no call is answered. */
  isDown = false
  readonly asked: { readonly what: 'read' | 'write'; readonly key: string }[] = []

  override read(...call: Parameters<MemoryStore['read']>) {
    this.asked.push({ what: 'read', key: call[0] })
    if (this.isDown) return Promise.reject(new StoreUnavailableError('unreachable', 'down'))
    return super.read(...call)
  }

  override write(...call: Parameters<MemoryStore['write']>) {
    this.asked.push({ what: 'write', key: call[0] })
    if (this.isDown) return Promise.reject(new StoreUnavailableError('unreachable', 'down'))
    if (this.isHot && call[0] === KEY) return Promise.reject(new StoreUnavailableError('hot-key', 'too many writes'))
    return super.write(...call)
  }
}

/** What the pools are that an instance draws from. */
interface Pools {
  readonly count?: number
  /** Writes that each has counted within a second. */
  readonly writes?: number
  readonly drawMs?: number
  /** How long they have counted, in milliseconds. */
  readonly countedMs?: number
  /** Units come back one by one. */
  readonly trickles?: boolean
  readonly endsInMs?: number
  /** Units that each has left of 1,000. */
  readonly left?: number
  /** For how long the own item is left alone, since it was throttled. */
  readonly throttledMs?: number
  /** Of the instance's policy. */
  readonly consistency?: 'strict' | 'leased'
  /** Policies that are charged with it, and had nothing left at the last deposit. */
  readonly more?: readonly PolicyInput[]
}

/** An instance that is new to a subject with such pools, and what it asks of the store. */
async function newTo({
  count = MAX_POOLS,
  writes = 300,
  countedMs = 0,
  trickles = true,
  drawMs = trickles ? 2 * TURN_MS : 0,
  endsInMs = 900,
  left = 999,
  throttledMs = 0,
  consistency = 'leased',
  more = [],
}: Pools) {
  const state = { now: MIDNIGHT }
  const clock = () => state.now
  const store = new AskedStore()
  const instance = (policy = all) => createLimiter({ store, clock, policies: [policy, ...more], onStoreError: 'throw' })
  await instance().take('all') // looks for a pool
  const name = store.asked[0]!.key.slice(KEY.length + 1, KEY.length + 1 + PREFIX_LENGTH)

  const policies = compiled(all, ...more)
  const verdict = { allowed: true, remaining: 0, resetAfterMs: 1000, retryAfterMs: 0 }
  const denied = { ...verdict, allowed: false, retryAfterMs: 700 }
  const options = { store, clock, deadlineMs: 1000, firstDeadlineMs: 1000, denialTtlMs: 5000, maxSubjects: 100 }
  const items = new Decider({ ...options, onEvent: () => {} })
  for (let place = 0; place < count; place++) {
    const key = poolKeyOf(KEY, name, place)
    const seen = poolOf(await store.read(key))
    const claimed = (await items.run(key, claim(items, { key, policies }, seen)))!
    const made = {
      units: 1000,
      chargedAt: state.now,
      endsAt: state.now + endsInMs,
      pools: { count, stamp: state.now + 1 },
      standing: standingOf([verdict, ...more.map(() => denied)], state.now),
      emptyUntil: trickles ? state.now + TURN_MS / 2 : 0,
      refused: 1,
      throttledUntil: throttledMs && state.now + throttledMs,
      drawMs,
    }
    await items.run(key, deposit(items, { key, policies }, claimed, made))
    await items.run(
      key,
      draw(items, { key, policies }, () => 1000 - left, writes),
    )
  }
  await items.run(KEY, decidePools(items, { key: KEY, policies }, name, 'throttled'))
  state.now += countedMs
  const { take } = instance({ ...all, consistency })
  /** Takes so many, and says how many are allowed and what was asked meanwhile. */
  const takes = async (requests: number) => {
    const from = store.asked.length
    let allowed = 0
    for (let i = 0; i < requests; i++) if ((await take('all')).allowed) allowed++
    const asked = store.asked.slice(from)
    const own = asked.filter(({ what, key }) => what === 'write' && key === KEY).length
    return { allowed, own, calls: asked.map(({ what }) => what) }
  }
  /** Charges to the item all that is left of the limit. */
  const fill = async () => {
    const exact = createLimiter({ store, clock, policies: [{ ...all, consistency: 'strict' }], autoLease: false })
    await exact.take('all', { cost: (await exact.peek('all')).remaining })
  }
  const leftInPools = async () => {
    const pools = Array.from({ length: count }, async (_, place) =>
      poolOf(await store.read(poolKeyOf(KEY, name, place))),
    )
    return (await Promise.all(pools)).reduce((sum, pool) => sum + pool.left, 0)
  }
  const resetByAnother = () => instance().reset('all')
  return Object.assign(state, { take, takes, fill, leftInPools, resetByAnother, store })
}

describe('an instance', () => {
  it('draws as often as it needs to from a pool that has units, once its turn is over not before it has looked', async () => {
    const one = await newTo({})
    expect(await one.takes(50)).toMatchObject({ allowed: 50, own: 0 })
    one.now += TURN_MS
    const { allowed, calls } = await one.takes(200)
    expect([allowed, calls.slice(0, 2)]).toEqual([200, ['read', 'write']]) // others draw from it
  })

  it('leaves a pool that it found empty alone until its turn', async () => {
    const one = await newTo({ left: 1 })
    expect((await one.takes(100)).allowed).toBe(1)
    expect(await one.takes(100)).toEqual({ allowed: 0, own: 0, calls: [] })
    one.now += 1.25 * TURN_MS
    expect((await one.takes(1)).calls[0]).toBe('read')
  })

  it.each<[string, Pools]>([
    ['that has units for long', { trickles: false }],
    ['that has enough for all', { trickles: false, countedMs: 1000, endsInMs: 1000 + TURN_MS - 10 }],
  ])('draws from a pool %s as often as it needs to, without a read', async (_, pools) => {
    const one = await newTo(pools)
    await one.takes(1)
    const { allowed, calls } = await one.takes(50)
    expect(allowed).toBe(50)
    expect(new Set(calls)).toEqual(new Set(['write']))
  })

  it.each([
    ['all that it is expected to spend, where the pool gets others soon', 10_000, ['write']],
    ['less than it is expected to spend, and again, where it does not', 0, ['write', 'write']],
  ])('draws %s', async (_, drawMs, calls) => {
    const one = await newTo({ trickles: false, drawMs })
    await one.takes(4)
    one.now += 400
    expect(await one.takes(5)).toEqual({ allowed: 5, own: 0, calls })
  })

  it('denies requests of any cost that an empty pool had nothing for', async () => {
    const one = await newTo({ left: 7 })
    expect(await one.take('all', { cost: 7 })).toMatchObject({ allowed: true })
    for (const cost of [1, 40, 20]) expect(await one.take('all', { cost })).toMatchObject({ allowed: false })
  })

  it('draws by what it was allowed, not by what it asked for', async () => {
    const one = await newTo({ count: 4, drawMs: 10_000, trickles: false, left: 500 })
    await one.fill()
    for (let i = 0; i < 20; i++) expect(await one.take('all', { cost: 2000 })).toMatchObject({ allowed: false })
    one.now += 400
    expect(await one.takes(1)).toMatchObject({ allowed: 1, own: 0 })
    expect(await one.leftInPools()).toBeGreaterThan(4 * 500 - 50)
  })

  it('denies for several policies at once, by the one that had nothing left when the pool was filled', async () => {
    const one = await newTo({ left: 1, more: [{ ...all, name: 'second', limit: LIMIT / 2 }] })
    expect(await one.take('all')).toMatchObject({ allowed: true })
    expect(await one.take('all')).toMatchObject({ allowed: false, policy: 'second', retryAfterMs: 700 })
  })

  it('charges the own item after a reset by another, for its pool is empty then', async () => {
    const one = await newTo({})
    await one.takes(1)
    await one.resetByAnother()
    one.now += TURN_MS
    expect(await one.takes(1)).toMatchObject({ allowed: 1, own: 2 }) // and it says how many pools there are
    expect((await one.takes(50)).allowed).toBe(50)
  })

  it('denies from memory until its turn while the store is out of reach, and draws again once it is not', async () => {
    const one = await newTo({ left: 1 })
    await one.takes(2)
    one.store.isDown = true
    expect(await one.takes(3)).toEqual({ allowed: 0, own: 0, calls: [] })
    one.now += 1.25 * TURN_MS
    await expect(one.take('all')).rejects.toMatchObject({ reason: 'unreachable' })
    one.store.isDown = false
    one.now += 60_000
    expect((await one.takes(1)).allowed).toBe(1)
  })

  it('keeps what it has drawn after a pause, for thousands of refunds would be too many for the own item', async () => {
    const one = await newTo({ count: 4, trickles: false, endsInMs: 5000, writes: 10, left: 500 })
    expect(await one.takes(2)).toMatchObject({ allowed: 2, own: 0 }) // draws as many as others do
    one.now += 1500
    expect(await one.takes(20)).toEqual({ allowed: 20, own: 0, calls: [] })
  })

  it('draws as often as it needs to where units end with their window, however soon', async () => {
    const one = await newTo({ trickles: false, endsInMs: TURN_MS - 10 })
    expect((await one.takes(50)).allowed).toBe(50)
  })
})

/** What leases has been loaded, if it was asked for. */
async function loaded(): Promise<void> {
  await import('../../limiter/consistency/leased.ts')
  await new Promise((resolve) => setImmediate(resolve))
}

describe('a strict subject whose units others lease from pools', () => {
  const strict = { count: 4, trickles: false, consistency: 'strict' } as const

  it.each([
    ['is leased after the first requests of an instance, where they are busy', 300, 1000, 0],
    ['has a write for each request once an instance has seen that they are not', 50, 1000, 8],
    ['is leased where they have not counted for a second yet', 50, 999, 0],
  ])('%s', async (_, writes, countedMs, own) => {
    const one = await newTo({ ...strict, writes, countedMs, endsInMs: 2000 })
    expect(await one.takes(2)).toMatchObject({ allowed: 2, own: 2 }) // the second loads what leases
    await loaded()
    expect(await one.takes(9)).toMatchObject({ allowed: 9, own })
  })

  it('takes from pools what its item has no room for', async () => {
    const one = await newTo({ ...strict, writes: 50 })
    await one.fill()
    await one.takes(2) // see that it has none
    await loaded()
    expect(await one.takes(3)).toMatchObject({ allowed: 3 })
  })
})

describe('a pool that tells that the own item was throttled', () => {
  const told = { count: 4, trickles: false, throttledMs: 40 }

  it('has its units drawn, also where it is low, and nothing is sent to the own item', async () => {
    const one = await newTo({ ...told, left: 100 })
    one.store.isHot = true
    expect(await one.takes(2)).toMatchObject({ allowed: 2, own: 0 })
  })

  it('refuses a request for more at once, and none for less', async () => {
    const one = await newTo({ ...told, left: 200 })
    one.store.isHot = true
    await expect(one.take('all', { cost: 500 })).rejects.toMatchObject({ reason: 'hot-key' })
    expect(await one.takes(3)).toMatchObject({ allowed: 3, own: 0 })
  })

  it('is filled after that time, and left alone for another where the own item is throttled yet', async () => {
    const one = await newTo({ ...told, left: 0 })
    const refused = () => expect(one.take('all')).rejects.toMatchObject({ reason: 'hot-key' })
    const { length } = one.store.asked
    one.store.isHot = true
    await refused()
    one.now += 40
    await refused()
    await refused()
    expect(one.store.asked.slice(length).filter(({ what, key }) => what === 'write' && key === KEY)).toHaveLength(1)
    one.store.isHot = false
    one.now += 75
    expect(await one.takes(3)).toMatchObject({ allowed: 3, own: 1 })
  })

  it('keeps nobody waiting whose clock is hours behind', async () => {
    const one = await newTo({ ...told, left: 0, throttledMs: 7_200_000 })
    expect(await one.takes(1)).toMatchObject({ allowed: 1 })
  })
})

it('a pool has no units longer than they can be spent, also where its deposit was late', async () => {
  let now = MIDNIGHT
  let lateMs = 0
  class LateStore extends AskedStore {
    override async write(...call: Parameters<MemoryStore['write']>) {
      const answer = await super.write(...call)
      if (call[0] === KEY) now += lateMs
      return answer
    }
  }
  const store = new LateStore()
  const policies: PolicyInput[] = [{ ...all, algorithm: 'sliding-buckets', buckets: 10 }]
  const instance = () => createLimiter({ store, clock: () => now, policies, onStoreError: 'throw' })
  const instances = Array.from({ length: 12 }, instance)
  store.isHot = true
  for (const { take } of instances) await expect(take('all')).rejects.toThrow()
  store.isHot = false
  now += 500
  lateMs = 700
  for (const { take } of instances) expect(await take('all')).toMatchObject({ allowed: true })
  const keys = new Set(store.asked.map(({ key }) => key))
  const pools = await Promise.all(
    [...keys].filter((key) => key !== KEY).map(async (key) => poolOf(await store.read(key))),
  )
  const held = pools.filter(({ level }) => level > 0).map(({ endsAt, chargedAt }) => endsAt - chargedAt)
  expect(held.length).toBeGreaterThan(1)
  expect(Math.max(...held)).toBeLessThanOrEqual(500)
})

describe('a limit by the minute that is used up, in pools', () => {
  const minute: PolicyInput = { ...all, limit: 400, window: '1m' }

  it('is denied from memory until its next window, and no longer', async () => {
    let now = MIDNIGHT
    const store = new AskedStore()
    const instance = (consistency: 'strict' | 'leased' = 'leased') =>
      createLimiter({
        store,
        clock: () => now,
        policies: [{ ...minute, consistency }],
        autoLease: false,
        onStoreError: 'throw',
      })
    const first = Array.from({ length: 24 }, () => instance())
    store.isHot = true
    for (const { take } of first) await expect(take('all')).rejects.toThrow()
    store.isHot = false
    now += 500
    for (const { take } of first) await take('all')
    const exact = instance('strict')
    await exact.take('all', { cost: (await exact.peek('all')).remaining })
    now = MIDNIGHT + 54_500
    for (const { take } of first) for (let i = 0; i < 400 && (await take('all')).allowed; i++);
    const late = Array.from({ length: 12 }, () => instance())
    now = MIDNIGHT + 57_000
    for (const { take } of [...late, ...late]) expect(await take('all')).toMatchObject({ allowed: false })
    const { length } = store.asked
    for (const { take } of late) expect(await take('all')).toMatchObject({ allowed: false, retryAfterMs: 3000 })
    expect(store.asked).toHaveLength(length)
    now = MIDNIGHT + 60_001
    for (const { take } of late) expect(await take('all')).toMatchObject({ allowed: true })
  })
})

import { numberOf } from '../../limiter/algorithms/conditional-write'
import { type LeaseState, learnCount } from '../../limiter/consistency/lease'
import { decidePools } from '../../limiter/consistency/own-item'
import { claim, deposit, depositOf, draw, drawMsOf } from '../../limiter/consistency/pool-plans'
import {
  countOf,
  hasEnough,
  isAmple,
  isClaimed,
  mostPools,
  type Pool,
  pauseOfEmpty,
  poolFieldsIn,
  poolNamesIn,
  poolOf,
  poolsOf,
  standingOf,
  turnMs,
} from '../../limiter/consistency/pools'
import { Decider } from '../../limiter/decider'
import { StoreUnavailableError } from '../../limiter/errors'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { MARKS, NO_ITEM, type StateStore } from '../../limiter/stores/store'
import { FaultyStore, STORE_FAULTS, type StoreFault } from './faulty-store'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

const LIMIT = 100_000
const T = MIDNIGHT + 1000
const END = MIDNIGHT + 60_000
const policies = compiled({
  name: 'all',
  algorithm: 'fixed-window',
  limit: LIMIT,
  window: '1m',
  consistency: 'leased',
})
const subject = { key: 'k.pool0', policies }

/** Instances with one store. */
function world(store: StateStore = new MemoryStore()) {
  const state = { now: T }
  let instances = 0
  /** Each writes under a mark of its own. */
  const instance = () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue((0.5 + instances++) / MARKS.length)
    const options = {
      store,
      clock: () => state.now,
      deadlineMs: 1000,
      firstDeadlineMs: 1000,
      denialTtlMs: 5000,
      maxSubjects: 10,
      onEvent: () => {},
    }
    const one = new Decider(options)
    random.mockRestore()
    return one
  }
  const seen = async () => poolOf(await store.read(subject.key))
  return Object.assign(state, { store, instance, seen })
}

const made = (units: number, more: object = {}) => ({
  units,
  chargedAt: T,
  endsAt: END,
  pools: { count: 4, stamp: 1 },
  standing: standingOf([{ allowed: true, remaining: 500, resetAfterMs: 59_000, retryAfterMs: 0 }], T),
  emptyUntil: 0,
  refused: 1,
  throttledUntil: 0,
  drawMs: 0,
  ...more,
})
const claimed = async (one: Decider, pool: Pool) => one.run(subject.key, claim(one, subject, pool))
const deposited = (one: Decider, pool: Pool, units: number, more: object = {}) =>
  one.run(subject.key, deposit(one, subject, pool, made(units, more)))
const drawn = (one: Decider, units: number) =>
  one.run(
    subject.key,
    draw(one, subject, ({ left }) => (left < units ? 0 : units)),
  )

/** A pool with so many units. */
async function pooled(units: number, store?: StateStore) {
  const one = world(store)
  const [first, second] = [one.instance(), one.instance()]
  const pool = (await claimed(first, poolOf(undefined)))!
  await deposited(first, pool, units)
  return Object.assign(one, { first, second })
}

describe('a pool', () => {
  const later = { endsAt: END + 60_000, chargedAt: END }

  it('gives each unit once, to whoever draws it', async () => {
    const { first, second, seen } = await pooled(100)
    const found = await Promise.all([drawn(first, 60), drawn(second, 30), drawn(second, 30)])
    expect(found.map(({ units }) => units).sort()).toEqual([0, 30, 60])
    expect(await seen()).toMatchObject({ left: 10, drawn: 90, writes: 4 })
  })

  it('gives none once they have ended, by the clock of whoever draws', async () => {
    const one = await pooled(100)
    one.now = END - 1
    expect((await drawn(one.first, 1)).units).toBe(1)
    one.now = END
    expect((await drawn(one.first, 1)).units).toBe(0)
  })

  it('is claimed by one instance, and by another if that one makes no deposit', async () => {
    const { first, second, seen } = await pooled(0)
    const pool = await seen()
    const both = [await claimed(first, pool), await claimed(second, pool)]
    expect(both.map((one) => one !== undefined && isClaimed(one))).toEqual([true, false])
    const later = (await claimed(second, both[0]!))!
    await deposited(first, both[0]!, 40)
    expect((await seen()).left).toBe(0)
    await deposited(second, later, 50)
    await deposited(second, later, 50)
    expect(await seen()).toMatchObject({
      left: 50,
      level: 50,
      pools: { count: 4, stamp: 1 },
      standing: [500, T + 59_000, 0],
    })
  })

  it('keeps its units beside those of the same window, and forfeits them for those of another', async () => {
    const one = await pooled(100)
    await deposited(one.first, (await claimed(one.first, await one.seen()))!, 40)
    expect(await one.seen()).toMatchObject({ left: 140, level: 140, endsAt: END, chargedAt: T })
    await deposited(one.first, (await claimed(one.first, await one.seen()))!, 70, later)
    expect(await one.seen()).toMatchObject({ left: 70, level: 70, ...later })
  })

  it('gives no units of another window than the one that was seen', async () => {
    const one = await pooled(100)
    await drawn(one.second, 1)
    await deposited(one.first, (await claimed(one.first, await one.seen()))!, 70, later)
    const ofThis = draw(one.second, subject, ({ endsAt }) => (endsAt === END ? 10 : 0))
    expect((await one.second.run(subject.key, ofThis)).units).toBe(0)
    expect((await one.seen()).left).toBe(70)
  })

  it('says of units whose answer was lost when they end, whatever was put in since', async () => {
    const store = new FaultyStore(new MemoryStore())
    const one = await pooled(100, store)
    const [seen] = [await one.seen(), await drawn(one.second, 1)]
    store.plan(['answer lost'], async () => {
      await deposited(one.first, (await claimed(one.first, seen))!, 70, later)
    })
    const { units, pool } = await drawn(one.second, 10)
    expect([units, pool.endsAt, pool.chargedAt]).toEqual([10, END, T])
    expect(await one.seen()).toMatchObject({ left: 70, ...later })
  })

  it('counts draws and writes anew once there are more or fewer pools', async () => {
    const one = await pooled(100)
    await drawn(one.second, 30)
    one.now += 1500
    const again = { pools: { count: 4, stamp: 1 } }
    await deposited(one.first, (await claimed(one.first, await one.seen()))!, 10, again)
    expect(await one.seen()).toMatchObject({ drawn: 30, writes: 5, since: T })
    const more = { pools: { count: 8, stamp: 2 } }
    await deposited(one.first, (await claimed(one.first, await one.seen()))!, 10, more)
    expect(await one.seen()).toMatchObject({ drawn: 0, writes: 2, since: T + 1500, ...more })
  })

  it('keeps its units where the own item had none', async () => {
    const one = await pooled(7)
    const pool = (await claimed(one.first, await one.seen()))!
    await deposited(one.first, pool, 0, { endsAt: END + 1, emptyUntil: T + 50, refused: 8 })
    expect(await one.seen()).toMatchObject({ left: 7, endsAt: END, emptyUntil: T + 50, refused: 8 })
  })

  describe.each(STORE_FAULTS)('whose calls have the fault "%s"', (fault: StoreFault) => {
    test.each([0, 1, 2])('at the call %i has no unit more than were put in', async (place) => {
      const store = new FaultyStore(new MemoryStore())
      const { first, second, seen } = await pooled(100, store)
      const ofCall = Array.from({ length: place + 1 }, (_, i) => (i === place ? fault : undefined))
      store.plan(ofCall)
      const ended = (work: Promise<unknown>) =>
        work.catch((error) => expect(error).toBeInstanceOf(StoreUnavailableError))
      const got = { units: 0 }
      await ended(drawn(first, 30).then(({ units }) => (got.units += units)))
      const pool = await claimed(first, poolOf(first.view(subject.key)!.item)).catch(() => undefined)
      if (pool) await ended(deposited(first, pool, 50))
      await store.deliverDelayed()
      const taken = (await claimed(second, await seen()))!
      if (pool) await ended(deposited(first, pool, 50))
      await deposited(second, taken, 20)
      await store.deliverDelayed()
      expect((await seen()).left + got.units).toBeLessThanOrEqual(100 + (pool ? 50 : 0) + 20)
      expect((await seen()).left).toBeGreaterThanOrEqual(20)
    })
  })
})

describe('the number of pools', () => {
  const countAndStamp = (one: Decider, evidence: Pool | 'throttled' = poolOf(undefined)) =>
    one.run('k', decidePools(one, { key: 'k', policies }, 'p1aa', evidence))
  const decided = async (one: Decider, evidence?: Pool | 'throttled') => (await countAndStamp(one, evidence)).count
  /** A pool that has counted so many writes since the last change. */
  const busy = async (one: Decider, perSecond: number, forMs = 60_000): Promise<Pool> => ({
    ...poolOf(undefined),
    pools: await countAndStamp(one),
    since: one.now() - forMs,
    writes: (perSecond * forMs) / 1000,
  })

  it('is one, four once the item gets more writes than it takes, and is changed once by all who find that', async () => {
    const one = world()
    const [first, second] = [one.instance(), one.instance()]
    expect(await decided(first, 'throttled')).toBe(4)
    expect(await Promise.all([decided(first, 'throttled'), decided(second, 'throttled')])).toEqual([4, 4])
    one.now += 2000
    const found = await busy(first, 900, 1000)
    expect([await decided(first), await decided(first, 'throttled')]).toEqual([4, 4])
    expect([await decided(second, found), await decided(first, found), await decided(second)]).toEqual([16, 16, 16])
    expect(countOf(poolFieldsIn(await one.store.read('k'))).count).toBe(16)
  })

  test.each([
    [900, 60_000, 16],
    [600, 60_000, 8],
    [500, 60_000, 4],
    [8 / 3, 60_000, 4], // 160 in a window, as many as if its instances had come in one second
    [2.6, 60_000, 2],
    [2.6, 119_000, 2],
    [2.6, 59_999, 4],
    [900, 1000, 16],
    [900, 900, 16], // so many in less than a second
    [900, 700, 8],
    [900, 500, 4],
    [900, 0, 4],
  ])('with %d writes a second of a pool within %i ms becomes %i of 4', async (perSecond, forMs, count) => {
    const one = world()
    const first = one.instance()
    await decided(first, 'throttled')
    one.now += 120_000
    const pool = await busy(first, perSecond, forMs)
    expect(await decided(first, { ...pool, pools: { count: 1, stamp: 0 } })).toBe(4) // counted while there was one
    expect(await decided(first, pool)).toBe(count)
  })

  it('is halved only once no pool was found to be needed for two windows', async () => {
    const one = world()
    const first = one.instance()
    await decided(first, 'throttled')
    one.now += 120_000
    const [needed, few] = [await busy(first, 3), await busy(first, 1)]
    expect(await decided(first, needed)).toBe(4)
    one.now += 119_000
    expect(await decided(first, { ...few, since: one.now - 60_000 })).toBe(4)
    expect(await decided(first, { ...needed, since: one.now - 60_000 })).toBe(4)
    one.now += 2000
    expect(await decided(first, { ...few, since: one.now - 60_000 })).toBe(4)
    one.now += 118_000
    expect(await decided(first, { ...few, since: one.now - 60_000 })).toBe(2)
    expect(await decided(first, { ...few, since: one.now - 60_000 })).toBe(2) // counted while there were four
  })

  it('is needed as long as any policies of the subject say, by clocks that differ, and one that was wrong', async () => {
    const one = world()
    const first = one.instance()
    const brief = { key: 'k', policies: compiled({ name: 'all', limit: LIMIT, window: '1s', consistency: 'leased' }) }
    const decidedBrief = async (pool: Pool) => (await first.run('k', decidePools(first, brief, 'p1aa', pool))).count
    await decided(first, 'throttled')
    one.now += 120_000
    const [needed, few] = [await busy(first, 3), await busy(first, 1)]
    const noted = async () => numberOf(poolFieldsIn(await one.store.read('k')), 'o')
    expect([await decided(first, needed), await noted()]).toEqual([4, one.now + 120_000])
    one.now += 119_000
    expect(await decidedBrief({ ...few, since: one.now - 1000, writes: 1 })).toBe(4)
    one.now -= 3_600_000 // before, it was an hour ahead
    expect(await decidedBrief({ ...few, since: one.now - 1000, writes: 1000 })).toBe(16)
    one.now += 2000
    const after = { ...few, pools: await countAndStamp(first), since: one.now - 1000 }
    expect(await decidedBrief({ ...after, writes: 1 })).toBe(8)
  })

  it('is noted by four of all that find it needed, on the average', async () => {
    const one = world()
    const first = one.instance()
    await decided(first, 'throttled')
    for (const count of [16, 64]) {
      one.now += 1000
      expect(await decided(first, await busy(first, 900, 1000))).toBe(count)
    }
    one.now += 120_000
    const needed = await busy(first, 3)
    const before = await one.store.read('k')
    const random = jest.spyOn(Math, 'random')
    for (const [chance, isNoted] of [
      [4.1 / 64, false],
      [3.9 / 64, true],
    ] as const) {
      random.mockReturnValue(chance)
      await decided(first, needed)
      expect((await one.store.read('k')) !== before).toBe(isNoted)
    }
    random.mockRestore()
  })

  it('keeps the names of sixteen lists of policies, whichever is written down again', async () => {
    const one = world()
    const first = one.instance()
    const names = Array.from({ length: 16 }, (_, i) => `p1a${'abcdefghijklmnop'[i]}`)
    for (const name of names) await first.run('k', decidePools(first, { key: 'k', policies }, name, 'throttled'))
    one.now += 120_000
    await first.run('k', decidePools(first, { key: 'k', policies }, names[3]!, await busy(first, 3)))
    expect(poolNamesIn(await one.store.read('k')).sort()).toEqual(names)
    await first.run('k', decidePools(first, { key: 'k', policies }, 'p2aa', 'throttled'))
    expect(poolNamesIn(await one.store.read('k'))).toEqual(['p2aa'])
  })

  test.each([
    [16, true, 4, 16], // nobody depends on this instance
    [4, true, 16, 16], // nobody else would draw what it has
    [4, false, 16, 4],
    [1, false, 16, 1],
  ])('is learnt to be %i from a pool, with units: %s', (told, hasUnits, known, learnt) => {
    for (const [stamp, count] of [
      [2, known],
      [1, learnt],
    ] as const) {
      const state = { pools: { count: known, stamp } } as LeaseState
      learnCount(state, { ...poolOf(undefined), since: T, pools: { count: told, stamp: 2 } }, hasUnits)
      expect(state.pools.count).toBe(count)
    }
  })

  it('is no more than leaves twenty units to each, and one where units pass that are not charged', () => {
    const some = (limit: number, more: object = {}) =>
      mostPools(compiled({ name: 'all', limit, window: '1s', consistency: 'leased', ...more }), T)
    expect([39, 40, 159, 160, 1280, 10_000_000].map((limit) => some(limit))).toEqual([1, 2, 4, 8, 64, 64])
    expect(some(LIMIT, { action: 'observe' })).toBe(1)
    const item = { ...NO_ITEM, policies: { p0__: { s: 64 } } }
    const lowered = compiled({ name: 'all', limit: 100, window: '1s', consistency: 'leased' })
    const counts = [poolsOf(item, policies, T), poolsOf(item, lowered, T), poolsOf(NO_ITEM, policies, T)]
    expect(counts.map(({ count }) => count)).toEqual([64, 4, 1])
  })

  it('has a stamp that is larger after each change, also by a clock behind, and where the item was deleted', async () => {
    const one = world()
    const [first] = [one.instance()]
    const stamps: number[] = []
    for (const at of [T, T - 5000, T + 5000, T + 10_000]) {
      if (at === T + 10_000) await one.store.delete('k', (await one.store.read('k')).marks)
      one.now = at
      const isFirst = countOf(poolFieldsIn(await one.store.read('k'))).count === 1
      stamps.push((await countAndStamp(first, isFirst ? 'throttled' : await busy(first, 900, 1000))).stamp)
    }
    expect(stamps).toEqual([...new Set(stamps)].sort((a, b) => a - b))
    expect(stamps).toHaveLength(4)
  })
})

describe('a deposit', () => {
  const available = { left: 8000, capacity: 10_000, ageMs: 0, endsInMs: 500, refill: 0, refillMs: 0 }
  const pools = { count: 8, stamp: 3 }
  const pool: Pool = { ...poolOf(undefined), since: T - 2000, drawn: 4000, writes: 100, pools }
  const of = (
    left: number,
    more: Partial<typeof available> = {},
    { count = 8, isEnough = false, drawMs = 0, from = pool } = {},
  ) => depositOf(from, { ...available, left, ...more }, { pools: { ...pools, count }, own: 10, isEnough, drawMs }, T)

  it('is three quarters of an equal share of what is left', () => {
    expect(of(8000)).toBe(750)
  })

  it('is at least what is drawn in 60 ms, of what is left and in the time that is left', () => {
    expect([of(200), of(60), of(200, { endsInMs: 20 })]).toEqual([120, 60, 40])
  })

  it('is at most what is drawn until the end or in ten seconds, and half as much again if there is enough', () => {
    const isEnough = { isEnough: true }
    expect([of(16_000), of(16_000, {}, isEnough)]).toEqual([1000, 1500])
    const long = { endsInMs: 60_000 }
    expect([of(1_000_000, long), of(1_000_000, long, isEnough)]).toEqual([20_000, 30_000])
  })

  it('may be sixteen times what an instance takes: of a pool that is used again, no pace is known', () => {
    expect(of(1_000_000, {}, { from: { ...pool, since: T - 60_000, drawn: 10 } })).toBe(160)
  })

  it.each<[string, Partial<Pool>]>([
    ['is new', { since: 0, drawn: 0 }],
    ['counted while there were more or fewer', { pools: { count: 4, stamp: 2 } }],
    ['had none while the item was throttled', { throttledUntil: T - 1 }],
  ])('is its share if there were all 64, of ten seconds in a longer window, where the pool %s', (_, more) => {
    const from = { ...pool, drawn: 10, ...more }
    expect([of(80_000, {}, { from }), of(800_000, { endsInMs: 80_000 }, { from })]).toEqual([937, 1171])
    expect([of(8000, {}, { from }), of(80_000, {}, { from, count: 64 })]).toEqual([160, 937]) // or sixteen draws
  })

  it('may be what was drawn since the last one until the end, as if that had taken a quarter of a second at least', () => {
    const drained = (ms: number) => ({ ...pool, drawn: 100, level: 1000, left: 0, chargedAt: T - ms })
    const most = (ms: number, more = {}) => of(1_000_000, more, { from: drained(ms) })
    expect([most(500), most(250), most(10), most(500, { refill: 1 })]).toEqual([1000, 2000, 2000, 160])
  })

  it('is what two turns draw where units come back one by one', () => {
    const back = { refill: 400, refillMs: 10 }
    expect([of(40_000, back, { count: 64 }), of(400, back)]).toEqual([640, 240])
  })

  it('is then no more than its part of what is left and of what came back since the last one', () => {
    const back = { refill: 400, refillMs: 10 }
    const at = (ms: number, left: number) =>
      of(left, back, { count: 64, from: { ...pool, drawn: 40_000, chargedAt: T - ms } })
    expect([at(10, 640), at(200, 640), at(10_000, 6400)]).toEqual([110, 135, 725])
  })

  it('is no more than is drawn for as long as instances draw at most', () => {
    expect([of(16_000, {}, { drawMs: 250 }), of(16_000, {}, { drawMs: 900 })]).toEqual([500, 1000])
  })
})

describe('how long instances draw', () => {
  const of = (left: number, refill: number, count = 8) =>
    drawMsOf({ left, capacity: 1e6, ageMs: 0, endsInMs: 60_000, refill, refillMs: 10 }, count)

  it('is two turns, or a quarter of a second, where less is left than comes back in a second', () => {
    expect([of(999, 10), of(999, 10, 64)]).toEqual([250, 320])
  })

  it('has a bound where enough is left, too, unless units come back with the next window only', () => {
    expect([of(1000, 10), of(999, 0)]).toEqual([10_000, 0])
  })
})

describe('an instance that finds a pool empty', () => {
  const pool: Pool = {
    ...poolOf(undefined),
    pools: { count: 64, stamp: 1 },
    emptyUntil: T + 10,
    endsAt: T + 500,
    drawMs: 250,
  }

  it("comes back after the pool's turn, the later the earlier it found that, where units come back one by one", () => {
    const pauses = Array.from({ length: 100 }, () => pauseOfEmpty(1, pool, T)!.until - pool.emptyUntil)
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...pauses)).toBeGreaterThan(10)
    expect(Math.max(...pauses)).toBeLessThanOrEqual(13) // 1.25 times as long
    expect(pauseOfEmpty(1, pool, T + 10)!.until).toBe(T + 10)
  })

  it('comes back no later than one turn and a quarter after that, however long the own item has none', () => {
    const late = Array.from({ length: 100 }, () => pauseOfEmpty(1, { ...pool, emptyUntil: T + 1500 }, T)!.until)
    expect(Math.max(...late)).toBeLessThanOrEqual(T + 1500 + 1.25 * turnMs(64))
    expect(pauseOfEmpty(1, { ...pool, emptyUntil: T + 5000, endsAt: T + 30_000, drawMs: 0 }, T)!.until).toBe(T + 5000)
  })

  it('waits for the next units where those that it had are over', () => {
    expect(pauseOfEmpty(1, { ...pool, emptyUntil: T - 10, endsAt: T }, T)!.until).toBe(T - 10)
  })
})

describe('whether a pool has enough', () => {
  const pool: Pool = { ...poolOf(undefined), since: T - 1000, drawn: 1000, left: 1000, endsAt: T + 500 }
  const cases: [string, Partial<Pool>, boolean][] = [
    ['has twice what is drawn until its units end', {}, true],
    ['has less', { left: 999 }, false],
    ['has counted for less than a second', { since: T - 999 }, false],
    ['gets others before they end, where units come back one by one', { left: 1, drawMs: 250 }, true],
  ]
  it.each(cases)('%s', (_, more, expected) => expect(hasEnough({ ...pool, ...more }, T)).toBe(expected))
})

describe('a limit that is ample', () => {
  const pools = { count: 8, stamp: 3 }
  const pool: Pool = { ...poolOf(undefined), since: T - 1000, drawn: 1000, pools }
  const ample = (left: number, from = pool) =>
    isAmple(from, { left, capacity: 1e6, ageMs: 0, endsInMs: 500, refill: 0, refillMs: 0 }, pools, T)

  it('has twice what all pools draw until its units end', () => {
    expect([ample(7999), ample(8000)]).toEqual([false, true])
  })

  it('is not known of a pool that has counted for less than a second, or while there were more or fewer pools', () => {
    expect(ample(1e6, { ...pool, since: T - 999 })).toBe(false)
    expect(ample(1e6, { ...pool, since: 0 })).toBe(false)
    expect(ample(1e6, { ...pool, pools: { count: 4, stamp: 2 } })).toBe(false)
  })
})

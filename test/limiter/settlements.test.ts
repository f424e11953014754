import { type PolicyInput, StoreUnavailableError } from '../../limiter'
import { compile } from '../../limiter/compiled-policy'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import { type ReservingLimiter, reserve } from '../../limiter/reservations/reservation'
import { settle } from '../../limiter/reservations/settlements'
import { parseReservation } from '../../limiter/reservations/token'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { COUNTINGS } from './lost-answers'

const T = Date.UTC(2090, 0, 1, 0, 20)
const MINUTE = 60_000
const TOKENS: PolicyInput = { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1d' }
const WORDS: PolicyInput = { ...TOKENS, name: 'words' }
const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '24h' } as const as never

/** Reservations of several subjects, by instances of one clock. Units of all policies are settled. */
function scene(policies: readonly PolicyInput[] = [TOKENS, WORDS, RUNNING]) {
  const store = new MemoryStore()
  const write = jest.spyOn(store, 'write')
  const time = { now: T }
  const instance = () =>
    new RateLimiter({ store, clock: () => time.now, onStoreError: 'throw', denialTtlMs: 0, deadlineMs: 2000 })
  const one = instance()
  const all = parsePolicies(policies, [], []).map((policy) => compile(policy))
  const lists = new Map<string, typeof all>()
  const listOf = (names: string) => {
    const list = lists.get(names) ?? all.filter(({ name }) => names.split(' ').includes(name))
    lists.set(names, list)
    return list
  }
  const charge = (key: string, names: string, cost: number) => ({ key, policies: listOf(names), cost })
  const take = (key: string, cost: number, by = one, names = 'tokens') => by.decide([charge(key, names, cost)])
  return {
    store,
    write,
    time,
    one,
    instance,
    take,
    /** @param subjects each with the names of its policies. */
    begin: async (subjects: Record<string, string>, cost = 100, by: ReservingLimiter = one) => {
      const charges = Object.entries(subjects).map(([key, names]) => charge(key, names, cost))
      return (await reserve(by, charges, MINUTE, () => true)).reservation!
    },
    /** @param used units of each policy, by its name. */
    end: (token: string, used: number | Record<string, number>, by = instance()) =>
      settle(by, parseReservation(token, all), ({ policy }) => (typeof used === 'number' ? used : used[policy.name])),
    usedOf: async (key: string, name = 'tokens') => {
      const { policies: standings } = await instance().peek([charge(key, name, 0)])
      return standings[name]!.limit - standings[name]!.remaining
    },
  }
}

/** Writes to a subject are lost from now on, before or after they are applied. */
function loseWrites({ store, write }: ReturnType<typeof scene>, key: string, when: 'before' | 'after') {
  const apply = MemoryStore.prototype.write.bind(store)
  write.mockImplementation(async (...call) => {
    if (call[0] !== key || when === 'after') await apply(...call)
    if (call[0] === key) throw new StoreUnavailableError('timeout', 'lost')
    return apply(call[0], { ...call[1] })
  })
  return () => write.mockImplementation(apply)
}

describe('a settlement takes as few writes as it can', () => {
  const countOf = async ({ write }: ReturnType<typeof scene>, call: () => Promise<unknown>) => {
    const before = write.mock.calls.length
    return [await call(), write.mock.calls.length - before]
  }

  it('of what is gone: one, and one more where others would owe for it', async () => {
    const world = scene()
    const { begin, end } = world
    const [alone, shared] = [await begin({ a: 'tokens' }), await begin({ b: 'tokens', all: 'tokens' })]
    for (const token of [alone, shared]) expect(await end(token, 100)).toBe(true)
    expect(await countOf(world, () => end(alone, 900))).toEqual([false, 1])
    expect(await countOf(world, () => end(shared, 100))).toEqual([false, 1])
    expect(await countOf(world, () => end(shared, 900))).toEqual([false, 2])
    expect(await countOf(world, () => end(alone.split('.').with(2, '').join('.'), 900))).toEqual([false, 1])
  })

  it('by who knows the caller: one, whatever time the token has', async () => {
    const world = scene()
    const token = await world.begin({ a: 'tokens' })
    const ofNoTime = token.split('.').with(2, '').join('.')
    expect(await countOf(world, () => world.end(ofNoTime, 10, world.one))).toEqual([true, 1])
  })

  it('of several subjects by another process, to which units were given back before: one for each', async () => {
    const world = scene()
    const { begin, end, one, take } = world
    for (const key of ['b', 'c']) {
      const { chargedAt } = await take(key, 5)
      const policies = parseReservation(await begin({ x: 'tokens' })).flatMap(({ entries }) => entries[0]!.policy)
      await one.refund({ key, policies, cost: 1 }, { chargedAt })
    }
    const token = await begin({ a: 'tokens', b: 'tokens', c: 'tokens' })
    expect(await countOf(world, () => end(token, 10))).toEqual([true, 3])
    expect(await Promise.all(['a', 'b', 'c'].map((key) => world.usedOf(key)))).toEqual([10, 14, 14])
  })

  it('where the limiter that reserved it remembers nothing: one more', async () => {
    const world = scene()
    const { one, begin, end } = world
    await end(await begin({ a: 'tokens', b: 'tokens', c: 'tokens' }), 0)
    const { lastSeen: _, ...forgetful } = { decide: one.decide.bind(one), lastSeen: undefined }
    const token = await begin({ a: 'tokens', b: 'tokens', c: 'tokens' }, 100, forgetful)
    expect(token).toMatch(/^2\.[\w-]+\.[0-9a-z]+\.-\.$/)
    expect(await countOf(world, () => end(token, 10))).toEqual([true, 5])
  })

  const { 'leaky-bucket as a queue': _, ...SETTLED } = COUNTINGS
  it.each(Object.entries(SETTLED))(
    'and charges a debt once, after others have written (%s)',
    async (_name, counting) => {
      const world = scene([
        TOKENS,
        { ...TOKENS, name: 'everybody', window: '1h', ...counting, limit: 1000 } as PolicyInput,
      ])
      const { begin, end, take, instance, one } = world
      await take('all', 1, one, 'everybody')
      const token = await begin({ a: 'tokens', all: 'everybody' }, 10)
      expect(await countOf(world, () => end(token, 30, one))).toEqual([true, 3])
      const later = await begin({ a: 'tokens', all: 'everybody' }, 10)
      await take('all', 1, instance(), 'everybody')
      expect(await end(later, 30)).toBe(true)
      expect(await world.usedOf('all', 'everybody')).toBe(62)
    },
  )
})

describe('of what several subjects hold', () => {
  it('slots are given back also where one of them was reset', async () => {
    const { one, begin, end, usedOf } = scene()
    const token = await begin({ a: 'running', b: 'running', c: 'running' }, 1)
    await one.reset('a')
    expect(await end(token, 0)).toBe(true)
    expect([await usedOf('b', 'running'), await usedOf('c', 'running')]).toEqual([0, 0])
    expect(await end(token, 0)).toBe(false)
  })

  it.each([0, 900])(
    'slots alone are left once its units are over long since, and %i units move nothing',
    async (used) => {
      const { begin, end, usedOf, take, time } = scene()
      const token = await begin({ a: 'tokens running', all: 'tokens' })
      time.now += 3 * 60 * MINUTE
      await take('a', 1)
      expect(await usedOf('a', 'running')).toBe(1)
      expect(await end(token, used)).toBe(false)
      expect([await usedOf('a', 'running'), await usedOf('a'), await usedOf('all')]).toEqual([0, 101, 100])
    },
  )

  it('nothing is charged for a reservation that nobody has purged yet, an hour after its time', async () => {
    const { begin, end, usedOf, time } = scene()
    const token = await begin({ a: 'tokens', all: 'tokens' })
    time.now += 3 * 60 * MINUTE
    expect(await end(token, 900)).toBe(false)
    expect([await usedOf('a'), await usedOf('all')]).toEqual([100, 100])
  })

  it.each([
    ['at its last millisecond', MINUTE, 10],
    ['one later', MINUTE + 1, 100],
  ])('what was not used is given back %s, or not: to all alike', async (_, afterMs, left) => {
    const { begin, end, usedOf, time } = scene()
    const token = await begin({ a: 'tokens', all: 'tokens' })
    time.now += afterMs
    expect(await end(token, 10)).toBe(true)
    expect([await usedOf('a'), await usedOf('all')]).toEqual([left, left])
  })

  it('one policy may owe, another get back, and a third be as reserved', async () => {
    for (const used of [
      { tokens: 100, words: 250 },
      { tokens: 100, words: 30 },
      { tokens: 170, words: 30 },
    ]) {
      const { begin, end, usedOf } = scene()
      const token = await begin({ a: 'tokens words', b: 'tokens words', c: 'tokens words' })
      expect(await end(token, used)).toBe(true)
      for (const key of ['a', 'b', 'c'])
        expect([await usedOf(key), await usedOf(key, 'words')]).toEqual([used.tokens, used.words])
    }
  })

  it('each reservation owes its own, to each subject, also to one process', async () => {
    const { one, begin, end, usedOf } = scene()
    for (const caller of ['x', 'y'])
      expect(await end(await begin({ [caller]: 'tokens', b: 'tokens', c: 'tokens' }, 10), 50, one)).toBe(true)
    expect([await usedOf('b'), await usedOf('c')]).toEqual([100, 100])
  })

  it('a slot is freed where all units were used', async () => {
    const { begin, end, usedOf } = scene()
    expect(await end(await begin({ a: 'tokens', all: 'tokens running' }), 100)).toBe(true)
    expect([await usedOf('all'), await usedOf('all', 'running')]).toEqual([100, 0])
  })

  it.each(['', '0', 'zzzzzzzz'])(
    'what was not used is given back whatever time its token has (%s)',
    async (written) => {
      const { begin, end, usedOf } = scene()
      const token = await begin({ a: 'tokens', all: 'tokens' })
      expect(await end(token.split('.').with(2, written).join('.'), 10)).toBe(true)
      expect([await usedOf('a'), await usedOf('all')]).toEqual([10, 10])
    },
  )

  it('the caller holds a reservation for another who takes nothing of what is settled', async () => {
    const { begin, end, usedOf, store } = scene()
    const token = await begin({ a: '', all: 'tokens' })
    expect(Object.keys((await store.read('a')).policies)).toEqual(['r0__'])
    expect(await end(token, 30)).toBe(true)
    expect([await end(token, 30), await usedOf('all')]).toEqual([false, 30])
  })
})

describe('where writes to another subject are lost', () => {
  it.each([
    ['after they were applied, a debt counts once', 'after', 0],
    ['before, and this process wrote since, it counts once', 'before', 7],
  ] as const)('%s, when it is settled again', async (_, when, taken) => {
    const world = scene()
    const { one, begin, end, take, usedOf } = world
    const token = await begin({ a: 'tokens', all: 'tokens' })
    const deliver = loseWrites(world, 'all', when)
    await expect(end(token, 400, one)).rejects.toThrow(StoreUnavailableError)
    deliver()
    if (taken) await take('all', taken)
    expect(await end(token, 400, one)).toBe(true)
    expect([await usedOf('a'), await usedOf('all')]).toEqual([400, 400 + taken])
  })

  it('what it would get back stays charged, and the rest is settled', async () => {
    const world = scene()
    const { one, begin, end, usedOf } = world
    const token = await begin({ a: 'tokens', all: 'tokens' })
    const deliver = loseWrites(world, 'all', 'before')
    expect(await end(token, 40, one)).toBe(true)
    deliver()
    expect([await usedOf('a'), await usedOf('all')]).toEqual([40, 100])
  })

  it('its slot is freed by the next call, which the first one asks for by an error', async () => {
    const world = scene()
    const { one, begin, end, usedOf } = world
    const token = await begin({ a: 'tokens', all: 'tokens running' })
    const deliver = loseWrites(world, 'all', 'before')
    await expect(end(token, 40, one)).rejects.toThrow(StoreUnavailableError)
    deliver()
    await end(token, 40, one)
    expect([await usedOf('a'), await usedOf('all', 'running')]).toEqual([40, 0])
  })

  it('an error that is none of the store is thrown', async () => {
    const { store, write, one, begin, end } = scene()
    const token = await begin({ a: 'tokens', all: 'tokens' })
    const apply = MemoryStore.prototype.write.bind(store)
    write.mockImplementation((...call) => {
      if (call[0] === 'all') throw new SyntaxError('a bug')
      return apply(...call)
    })
    await expect(end(token, 40, one)).rejects.toThrow(SyntaxError)
  })
})

it('a debt finds the room of a policy that observes as it is stored, not as it was once seen', async () => {
  const { one, instance, begin, end, take, usedOf } = scene([
    TOKENS,
    { ...TOKENS, name: 'everybody', limit: 500, action: 'observe' },
  ])
  const token = await begin({ a: 'tokens', all: 'everybody' })
  await take('all', 400, one, 'everybody')
  await instance().reset('all')
  expect(await end(token, 150, one)).toBe(true)
  expect(await usedOf('all', 'everybody')).toBe(50)
})

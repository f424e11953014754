import {
  createLimiter,
  type LimiterOptions,
  type PolicyInput,
  type ReserveOptions,
  StoreUnavailableError,
} from '../../limiter'
import { when } from '../../limiter/algorithms/conditional-write'
import { compile } from '../../limiter/compiled-policy'
import type { StoreFailure } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import { RateLimiter } from '../../limiter/rate-limiter'
import { Reservation, reserve } from '../../limiter/reservations/reservation'
import { settle } from '../../limiter/reservations/settlements'
import { parseReservation } from '../../limiter/reservations/token'
import { MemoryStore } from '../../limiter/stores/memory-store'

const T = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000
const TOKENS: PolicyInput = { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1h', cost: 'tokens' }
const REQUESTS: PolicyInput = { name: 'requests', algorithm: 'fixed-window', limit: 50, window: '1m' }
const RUNNING = { name: 'running', algorithm: 'concurrency', limit: 2, timeout: '1h' } as const as never

function scene(policies: readonly PolicyInput[] = [TOKENS], more: Partial<LimiterOptions> = {}) {
  const store = new MemoryStore()
  const write = jest.spyOn(store, 'write')
  const time = { now: T }
  const limiter = () =>
    createLimiter({ store, policies, clock: () => time.now, onStoreError: 'throw', denialTtlMs: 0, ...more })
  const one = limiter()
  const usedOf = async (name = 'tokens', subject = 'a') => {
    const { limit, remaining } = (await limiter().peek(subject, { cost: 0 })).policies[name]!
    return limit - remaining
  }
  const reserve = async (tokens: number, duration: ReserveOptions['reserve'] = '2m') =>
    (await one.take('a', { costs: { tokens }, reserve: duration })).reservation!
  const fail = (reason: StoreFailure) => write.mockRejectedValue(new StoreUnavailableError(reason, 'away'))
  return { store, write, time, limiter, one, usedOf, reserve, fail }
}

/** Policies of a limiter that is no library's, such as the authorizer's. */
const compiled = (...policies: PolicyInput[]) => parsePolicies(policies, [], []).map((policy) => compile(policy))
const everyUnit = () => true

describe('what was used beyond a reservation', () => {
  it('counts from its request on, while that counts', async () => {
    const { one, time, reserve, usedOf } = scene([{ ...TOKENS, algorithm: 'sliding-log', window: '1m' }])
    const reservation = await reserve(10)
    time.now += 30_000
    await one.settle(reservation, 40)
    time.now += 29_999
    expect(await usedOf()).toBe(40)
    time.now += 1
    expect(await usedOf()).toBe(0)
  })

  it('counts in the window of its request, by the part of it that counts', async () => {
    const { one, time, reserve, usedOf } = scene([{ ...TOKENS, algorithm: 'sliding-window', window: '10s' }])
    time.now += 9500
    const reservation = await reserve(20)
    time.now += 700
    await one.settle(reservation, 40)
    time.now = T + 15_000
    expect(await usedOf()).toBe(20)
  })

  it('counts from now on, once the window of its request is over', async () => {
    const { one, time, reserve, usedOf } = scene([{ ...TOKENS, window: '1m' }])
    const reservation = await reserve(10)
    time.now += 90_000
    await one.settle(reservation, 40)
    expect(await usedOf()).toBe(30)
  })

  it('counts in an anchored window that another request has opened since, and opens none', async () => {
    for (const others of [0, 1]) {
      const { one, time, reserve, usedOf } = scene([{ ...TOKENS, algorithm: 'anchored-window', window: '1m' }])
      const reservation = await reserve(10)
      time.now += 90_000
      if (others) await one.take('a', { costs: { tokens: others } })
      await one.settle(reservation, 40)
      expect(await usedOf()).toBe(others && 30 + others)
    }
  })

  it('is stored for as long as it counts', async () => {
    const { store, one, time, reserve } = scene([{ ...TOKENS, algorithm: 'sliding-log', window: '12h' }])
    const reservation = await reserve(10, '24h')
    time.now += 23 * HOUR
    await one.settle(reservation, 40)
    const [[key]] = [...(store as unknown as { items: Map<string, object> }).items] as [[string, object]]
    expect((await store.read(key)).expiresAtSeconds * 1000).toBeGreaterThanOrEqual(time.now + 12 * HOUR)
  })

  it('is charged until an hour and a second after its time, and then no more', async () => {
    const end = 120_000 + HOUR + 1000
    for (const [afterMs, isSettled] of [
      [end - 1, true],
      [end, false],
    ] as const) {
      const { limiter, time, reserve } = scene()
      const reservation = await reserve(10)
      time.now += afterMs
      expect(await limiter().settle(reservation, 40)).toBe(isSettled)
    }
  })
})

it('what was not used leaves an anchored window open that the request opened', async () => {
  const { one, limiter, time, reserve } = scene([{ ...TOKENS, algorithm: 'anchored-window', window: '1m' }])
  const reservation = await reserve(10)
  time.now += 20_000
  await one.settle(reservation, 0)
  await one.take('a', { costs: { tokens: 5 } })
  expect(await limiter().peek('a', { cost: 0 })).toMatchObject({ remaining: 995, resetAfterMs: 40_000 })
})

it('a request of no units at all is a look, also with `reserve`', async () => {
  const { one, write } = scene([REQUESTS])
  const looked = await one.take('a', { cost: 0, reserve: '2m' })
  expect([looked.allowed, 'reservation' in looked, write.mock.calls.length]).toEqual([true, false, 0])
})

describe('a slot', () => {
  it('stores no reservation where no units are reserved, and its units stay charged', async () => {
    const { store, one, usedOf, write } = scene([REQUESTS, RUNNING])
    const slot = await one.acquire('a')
    expect(slot.chargedAt).toBe(T)
    expect(Object.keys((await store.read(write.mock.calls[0]![0])).policies)).not.toContain('r0__')
    expect([await slot.release(), await usedOf('requests'), await usedOf('running')]).toEqual([true, 1, 0])
  })

  it('is released by one call, and by none again', async () => {
    const { one, write } = scene([RUNNING])
    const slot = await one.acquire('a')
    expect([await slot.release(), await slot.release(), write.mock.calls.length]).toEqual([true, false, 2])
    const twice = await one.acquire('a')
    expect(await Promise.all([twice.release(), twice.release()])).toEqual([true, false])
  })

  it('of a table that is not there is released without a call, and with one where the answer was lost', async () => {
    for (const [reason, calls] of [
      ['missing-table', 0],
      ['timeout', 1],
    ] as const) {
      const { one, write, fail } = scene([TOKENS, RUNNING], { onStoreError: 'local' })
      await one.take('b', { costs: { tokens: 1 } }).catch(() => {})
      await (await one.acquire('b')).release()
      fail(reason)
      const slot = await one.acquire('a', { costs: { tokens: 5 }, reserve: '2m' })
      expect(slot).toMatchObject({ allowed: true, degraded: true, chargedAt: T })
      expect(slot).not.toHaveProperty('reservation')
      write.mockClear()
      write.mockResolvedValue({ kind: 'refused', item: { policies: {}, marks: {}, expiresAtSeconds: 0 } })
      expect(await slot.release()).toBe(true)
      expect(Math.min(1, write.mock.calls.length)).toBe(calls)
    }
  })

  it('that goes out of scope reports an error that is none of the store', async () => {
    const { one, write, fail } = scene([RUNNING])
    const [away, broken] = [await one.acquire('a'), await one.acquire('a')]
    fail('unreachable')
    await away[Symbol.asyncDispose]()
    write.mockRejectedValue(new SyntaxError('a bug'))
    await expect(broken[Symbol.asyncDispose]()).rejects.toThrow(SyntaxError)
  })
})

describe('a meter', () => {
  it('takes from the subjects whose policies count what was used, by one call each', async () => {
    const words: PolicyInput = { ...TOKENS, name: 'words', cost: 'words' }
    const { one, usedOf, write } = scene([TOKENS, words])
    const { reservation } = await one.takeAll(
      [
        { subject: 'a', policies: ['tokens'] },
        { subject: 'b', policies: ['words'] },
      ],
      { costs: { tokens: 10, words: 10 }, reserve: '2m' },
    )
    write.mockClear()
    const meter = one.meter(reservation!)
    expect(await meter.debit({ costs: { tokens: 50, words: 10 } })).toEqual({ stop: false })
    expect(write).toHaveBeenCalledTimes(1)
    expect(await Promise.all([usedOf('tokens'), usedOf('words'), usedOf('tokens', 'b'), usedOf('words', 'b')])).toEqual(
      [50, 0, 0, 10],
    )
  })

  it('takes plain units, too', async () => {
    const { one, usedOf } = scene([REQUESTS])
    const { reservation } = await one.take('a', { cost: 5, reserve: '2m' })
    expect(await one.meter(reservation!).debit(8)).toEqual({ stop: false })
    expect(await usedOf('requests')).toBe(8)
  })

  it('charges when it settles what a policy that observes had no room for', async () => {
    const { one, time, usedOf, reserve } = scene([{ ...TOKENS, limit: 100, window: '1m', action: 'observe' }])
    const meter = one.meter(await reserve(90))
    expect(await meter.debit(120)).toEqual({ stop: false })
    expect(await usedOf()).toBe(90)
    time.now += 60_000
    await meter.settle()
    expect(await usedOf()).toBe(30)
  })
})

describe('units that were used are named as they were reserved', () => {
  const words: PolicyInput = { ...TOKENS, name: 'words', cost: 'words' }
  it.each<[readonly PolicyInput[], unknown, string]>([
    [[TOKENS], null, 'cost must be an integer'],
    [[TOKENS], { costs: 5 }, 'used.costs must be units by name, got 5'],
    [[TOKENS, words], 5, 'used must say which units by the names of costs, got 5'],
    [[TOKENS, words], { costs: { a: 1, b: 2 } }, 'units of tokens, words, which are reserved, got "a", "b"'],
    [[TOKENS, REQUESTS], { costs: { a: 1 } }, 'units of tokens, cost, which are reserved, got "a"'],
  ])('%#', async (policies, used, message) => {
    const { one } = scene(policies)
    const costs = Object.fromEntries(policies.flatMap(({ cost }) => (cost ? [[cost, 1]] : [])))
    const { reservation } = await one.take('a', { cost: 1, costs, reserve: '2m' })
    await expect(one.settle(reservation!, used as never)).rejects.toThrow(message)
  })

  it('by a mistake with a code, as for a debit after the end', async () => {
    const { one, reserve } = scene()
    const meter = one.meter(await reserve(1))
    await expect(meter.debit({ costs: { a: 1 } })).rejects.toMatchObject({ mistakes: [{ code: 'invalid_value' }] })
    await meter.settle()
    await expect(meter.debit(1)).rejects.toMatchObject({ mistakes: [{ code: 'invalid_value' }] })
  })
})

describe('a reservation of charges', () => {
  const [tokens, running, observed, requests] = compiled(
    { ...TOKENS, cost: undefined as never },
    RUNNING,
    { ...REQUESTS, name: 'observed', action: 'observe' },
    REQUESTS,
  ) as [ReturnType<typeof compile>, ReturnType<typeof compile>, ReturnType<typeof compile>, ReturnType<typeof compile>]
  /** The same policy as another tier has it. */
  const compiledAnew = () => compiled({ ...REQUESTS, name: 'observed', action: 'observe' })[0]!
  const world = (more: object = {}) => {
    const store = new MemoryStore()
    const write = jest.spyOn(store, 'write')
    const one = new RateLimiter({ store, clock: () => T, onStoreError: 'throw', denialTtlMs: 0, ...more })
    const end = (token: string, used: number) => settle(one, parseReservation(token), () => used)
    const stored = async (key: string) => Object.keys((await store.read(key)).policies).sort()
    return { store, write, one, end, stored }
  }

  it.each([true, false])(
    'stands with the caller that is named, in whichever place (with own policies: %s)',
    async (own) => {
      const { one, end, stored } = world()
      const charges = [
        { key: 'all', policies: [tokens], cost: 3 },
        ...(own ? [{ key: 'a', policies: [tokens], cost: 3 }] : []),
      ]
      const { reservation, policies } = await reserve(one, charges, 60_000, everyUnit, {}, 'a')
      expect(Object.keys(policies)).toEqual(['tokens'])
      expect((await stored('a')).includes('r0__')).toBe(true)
      expect(parseReservation(reservation).map(({ key }) => key)).toEqual(['a', 'all'])
      expect([await end(reservation!, 1), await end(reservation!, 1)]).toEqual([true, false])
    },
  )

  it('is with nobody else where only slots are held, and where a request takes nothing it holds none', async () => {
    const { one, write, stored } = world()
    const { reservation } = await reserve(one, [{ key: 'b', policies: [running], cost: 1 }], 0, everyUnit, {}, 'a')
    expect([write.mock.calls.length, await stored('a')]).toEqual([1, []])
    expect(parseReservation(reservation)).toMatchObject([{ key: 'b', entries: [], holders: [{ windowMs: HOUR }] }])
    const looked = { key: 'd', policies: [running], cost: 0 }
    const { reservation: open } = await reserve(
      one,
      [{ key: 'c', policies: [tokens], cost: 1 }, looked],
      1000,
      everyUnit,
    )
    expect(parseReservation(open).map(({ key }) => key)).toEqual(['c'])
  })

  it('leaves charges as they are that hold nothing, and is none where nothing is held', async () => {
    const { one } = world()
    const plain = { key: 'b', policies: [requests], cost: 1 }
    const isTokens = ({ name }: { name: string }) => name === 'tokens'
    const { charges } = new Reservation([{ key: 'a', policies: [tokens], cost: 1 }, plain], 1000, isTokens)
    expect(charges[1]).toBe(plain)
    expect(await reserve(one, [plain], 1000, isTokens)).not.toHaveProperty('reservation')
  })

  it.each([
    [[observed], true],
    [[observed, tokens], false],
  ])('denies a caller with 1,000 open ones, unless all that is reserved observes (%#)', async (policies, allowed) => {
    const { one, store } = world()
    const hold = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`x${i}`, T + 60_000]))
    const assignments = Object.entries({ n: 1000, ...hold }).map(([field, value]) => ({ field, set: value }))
    const parts = [{ prefix: 'r0__', write: when([], ...assignments) }]
    await store.write('a', { parts, id: { mark: 'r0', value: 2 ** 33, rangeEnd: 2 ** 34 }, at: T } as never)
    const decision = await reserve(one, [{ key: 'a', policies, cost: 1 }], 60_000, everyUnit)
    expect(decision).toMatchObject({ allowed, observed: allowed })
    expect(decision.policies).toHaveProperty('reservations')
  })

  it('is charged no units of a policy that was not asked, and gives back those that were', async () => {
    const { one, end, store } = world()
    const [named] = compiled({ ...TOKENS, action: 'observe' })
    const charge = { key: 'a', policies: [tokens, named!], cost: 5, costs: { tokens: 0 } }
    const { reservation } = await reserve(one, [charge], 60_000, everyUnit)
    expect(await end(reservation!, 2)).toBe(true)
    const { policies } = await one.peek([{ key: 'a', policies: [tokens, named!], cost: 0 }])
    expect(Object.values(policies).map(({ limit, remaining }) => limit - remaining)).toContain(2)
    expect((await store.read('a')).policies).toHaveProperty(named!.prefix)
  })

  it('proves what each subject was charged, where their policies share a name', async () => {
    const { one, end } = world()
    const usedOf = async (key: string) => {
      const { limit, remaining } = await one.peek([{ key, policies: [observed], cost: 0 }])
      return limit - remaining
    }
    await one.decide([{ key: 'b', policies: [observed], cost: 45 }])
    const charges = ['a', 'b'].map((key) => ({ key, policies: [compiledAnew()], cost: 10 }))
    const { reservation } = await reserve(one, charges, 60_000, everyUnit)
    expect([await usedOf('a'), await usedOf('b')]).toEqual([10, 45])
    expect(await end(reservation!, 4)).toBe(true)
    expect([await usedOf('a'), await usedOf('b')]).toEqual([4, 45])
  })

  it('has a token whose longest form is known before', async () => {
    const { one } = world()
    const charges = ['a', 'b', 'c'].map((key) => ({ key, policies: [tokens, observed], cost: 1 }))
    const reservation = new Reservation(charges, 60_000, everyUnit)
    const token = reservation.tokenFor(await one.decide(reservation.charges), (key) => one.lastSeen(key))!
    const [form, content, time, marks, proofs] = token.split('.') as [string, string, string, string, string]
    expect([form, time, marks.split('-').length, proofs.length]).toEqual(['2', T.toString(36), 2, 3 * 25])
    const ofMarks = 2 * (1 + Number.MAX_SAFE_INTEGER.toString(36).length) + 1
    const longest = [1, content.length, Number.MAX_SAFE_INTEGER.toString(36).length, ofMarks, proofs.length]
    expect(reservation.longestToken).toBe(longest.reduce((sum, one) => sum + one) + 4)
    const alone = new Reservation([{ key: 'a', policies: [tokens], cost: 1 }], 60_000, everyUnit)
    expect(alone.longestToken).toBe(alone.tokenInDoubt!.length + Number.MAX_SAFE_INTEGER.toString(36).length)
  })

  it.each<[StoreFailure, 'allow' | 'deny', boolean]>([
    ['timeout', 'allow', true],
    ['throttled', 'allow', false],
    ['timeout', 'deny', false],
  ])('after %s, by failure mode %s, can be ended where it may stand: %s', async (reason, onStoreError, mayStand) => {
    const { one, end, store, write } = world({ onStoreError })
    const charge = { key: 'a', policies: [tokens], cost: 5 }
    await reserve(one, [{ ...charge, key: 'b' }], 60_000, everyUnit)
    const apply = MemoryStore.prototype.write.bind(store)
    write.mockImplementation(async (...call) => {
      await apply(...call)
      throw new StoreUnavailableError(reason, 'lost')
    })
    const decision = await reserve(one, [charge], 60_000, everyUnit)
    write.mockImplementation(apply)
    expect([decision.degraded, 'reservation' in decision]).toEqual([true, mayStand])
    if (mayStand) expect(await end(decision.reservation!, 2)).toBe(true)
    const { remaining } = await one.peek([{ ...charge, cost: 0 }])
    expect(remaining).toBe(mayStand ? 998 : 995)
  })
})

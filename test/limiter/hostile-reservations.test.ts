import { deflateRawSync, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { createLimiter, type PolicyInput, ReservationError, StoreUnavailableError } from '../../limiter'
import { toUpdate } from '../../limiter/stores/expressions'
import { MemoryStore } from '../../limiter/stores/memory-store'
import type { ItemWrite } from '../../limiter/stores/store'
import { runs, thoroughly } from '../runs'

const T = Date.UTC(2026, 0, 1)
const TOKENS: PolicyInput = { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1h', cost: 'tokens' }

/** Refuses what DynamoDB would, and takes a moment, so that requests share writes. */
class StrictStore extends MemoryStore {
  readonly updates: string[] = []

  override async write(key: string, write: ItemWrite) {
    const { ConditionExpression, UpdateExpression } = toUpdate(write)
    this.updates.push(`${ConditionExpression} ${UpdateExpression}`)
    await new Promise(setImmediate)
    return super.write(key, write)
  }

  /** What is stored of the policy that has such a field. */
  async fieldsWith(key: string, field: string) {
    const { policies } = await this.read(key)
    return Object.values(policies).find((fields) => field in fields)!
  }
}

function scene(policies: readonly PolicyInput[] = [TOKENS], more: object = {}) {
  const store = new StrictStore()
  const time = { now: T }
  const limiter = (own = policies) =>
    createLimiter({
      store,
      policies: own,
      clock: () => time.now,
      onStoreError: 'throw',
      denialTtlMs: 0,
      deadlineMs: 2000,
      ...more,
    })
  const one = limiter()
  const left = async (by = limiter()) => (await by.peek('a', { cost: 0 })).policies.tokens!.remaining
  const reserve = async (tokens: number, by = one) =>
    (await by.take('a', { costs: { tokens }, reserve: '2m' })).reservation!
  return { store, time, limiter, one, left, reserve }
}

/** What a reservation says, and the rest of it. */
function read(token: string): { said: unknown[]; rest: string } {
  const [, text, ...rest] = token.split('.')
  return { said: JSON.parse(inflateRawSync(Buffer.from(text!, 'base64url')).toString()), rest: rest.join('.') }
}
const write = (said: unknown, rest: string) => `2.${deflateRawSync(JSON.stringify(said)).toString('base64url')}.${rest}`

/** In the form of b620fa4, whose second part told the state of the subject. */
const firstForm = (...parts: unknown[]) =>
  parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')

const ALGORITHMS = ['fixed-window', 'sliding-window', 'anchored-window', 'token-bucket', 'gcra', 'sliding-log'] as const

type Subject = [key: string, entries: unknown[][]]

describe('a reservation that somebody else has written', () => {
  it.each([
    ['nothing held', (subject: Subject) => [[subject[0], []]]],
    ['no subject', () => []],
    ['an invalid key', (subject: Subject) => [[5, subject[1]]]],
    ['an invalid prefix', ([key, [entry]]: Subject) => [[key, [['a OR b1cd', ...entry!.slice(1)]]]]],
    ['an invalid number of units', ([key, [entry]]: Subject) => [[key, [[entry![0], 1.5, entry![2]]]]]],
    ['units below 0', ([key, [entry]]: Subject) => [[key, [[entry![0], -1, entry![2]]]]]],
    ['an invalid policy', ([key, [entry]]: Subject) => [[key, [[entry![0], 1, { limit: 0 }]]]]],
  ])('and that has %s, is refused, in both forms', async (_, forge) => {
    const { one, reserve } = scene()
    const { said, rest } = read(await reserve(500))
    const [form, chance, forMs, [subject]] = said as [number, string, number, [Subject]]
    for (const forged of [
      write([form, chance, forMs, forge(subject)], rest),
      firstForm([chance, forMs, forge(subject)], [[[]]]),
    ]) {
      await expect(one.settle(forged, 0)).rejects.toThrow(ReservationError)
      await expect(one.meter(forged).debit(1)).rejects.toThrow(ReservationError)
    }
  })

  it('and that unfolds to more than a reservation says, is refused', async () => {
    const { one } = scene()
    await expect(one.settle(`2.${deflateRawSync(Buffer.alloc(1e6)).toString('base64url')}...`, 0)).rejects.toThrow(
      ReservationError,
    )
  })

  it('brings no words of its own into an expression, and no state', async () => {
    const { limiter, store, left, one } = scene()
    await one.take('a', { costs: { tokens: 100 } })
    const { reservation } = await one.take('a', { costs: { tokens: 500 }, reserve: '2m' })
    const { said, rest } = read(reservation!)
    const state = [
      { n: 1, '00,p6J8g17': 5 },
      { w: 1, '01': 1e15, l: [1] },
    ]
    const [, ...inFirstForm] = said
    expect(await limiter().settle(firstForm(inFirstForm, [[[0], 0, state]]), 600)).toBe(false)
    expect(store.updates.join()).not.toContain('p6J8g17')
    expect(await left()).toBe(400)
    expect(await limiter().settle(write(said, rest), 600)).toBe(true)
    expect(await left()).toBe(300)
  })

  it.each(ALGORITHMS)('and that reads it in the other form, names none (%s)', async (algorithm) => {
    const everybody = { ...TOKENS, name: 'everybody', algorithm }
    const { one, limiter } = scene([{ ...TOKENS, algorithm }, everybody] as PolicyInput[])
    const { reservation } = await one.takeAll(
      [
        { subject: 'a', policies: ['tokens'] },
        { subject: 'all', policies: ['everybody'] },
      ],
      { costs: { tokens: 1 }, reserve: '2m' },
    )
    const { said, rest } = read(reservation!)
    const [, ...withoutForm] = said
    const settle = (token: string) =>
      limiter()
        .settle(token, 500)
        .catch((error) => error)
    expect(await settle(write(withoutForm, rest))).toBeInstanceOf(ReservationError)
    expect(await settle(firstForm(said, []))).toBeInstanceOf(ReservationError)
    expect(await settle(firstForm(withoutForm, []))).toBe(false)
    expect(await settle(reservation!)).toBe(true)
    for (const [subject, name] of [
      ['a', 'tokens'],
      ['all', 'everybody'],
    ] as const) {
      const { limit, remaining } = (await limiter().peek(subject, { cost: 0 })).policies[name]!
      expect(limit - remaining).toBe(500)
    }
  })

  /** Each part of a token changed at random: what is charged in the end is never less than what was used. */
  it('never settles in the favour of its holder', async () => {
    const forms = ['fixed-window', 'sliding-window', 'anchored-window', 'token-bucket', 'sliding-log'] as const
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...forms),
        fc.constantFrom('deny', 'observe'),
        fc.integer({ min: 0, max: 4 }),
        fc.nat(200),
        fc.constantFrom('', '0', 'z', 'A', '9', '-', '00000000'),
        fc.constantFrom(0, 5, 30),
        async (algorithm, action, part, at, text, used) => {
          const { one, limiter, left, time } = scene([{ ...TOKENS, algorithm, action, limit: 60 } as PolicyInput])
          await one.take('a', { costs: { tokens: 10 } })
          const { reservation } = await one.take('a', { costs: { tokens: 20 }, reserve: '2m' })
          time.now += 1000
          const parts = reservation!.split('.')
          const old = parts[part]!
          parts[part] = old.slice(0, at % (old.length + 1)) + text + old.slice((at % (old.length + 1)) + 1)
          const settled = await limiter()
            .settle(parts.join('.'), used)
            .catch(() => false)
          expect(await left()).toBeLessThanOrEqual(settled ? 60 - 10 - used : 60 - 10 - 20)
        },
      ),
      { numRuns: runs(200, 5000) },
    )
  })
})

describe('what is reserved can be settled', () => {
  it('where a request takes units of a named cost alone', async () => {
    const { one, left } = scene([TOKENS, { name: 'requests', limit: 5, window: '1m' }])
    const { reservation } = await one.take('a', { cost: 0, costs: { tokens: 500 }, reserve: '2m' })
    expect(await one.settle(reservation!, 100)).toBe(true)
    expect(await left()).toBe(900)
  })

  it('where requests wait for their turn as long as only a program does', async () => {
    const queue: PolicyInput = { ...TOKENS, algorithm: 'leaky-bucket', mode: 'queue', delayIn: 'authorizer' }
    const { one, reserve } = scene([{ ...queue, maxDelay: '10m' }])
    expect(await one.settle(await reserve(10), 1)).toBe(true)
  })

  it('by the limit in force then, not by one from which it was lowered', async () => {
    const policy: PolicyInput = { ...TOKENS, algorithm: 'token-bucket', limit: 3600, burst: 36 }
    const { limiter, reserve, time, left } = scene([policy])
    const lowered = limiter([{ ...policy, limit: 36 }])
    const reservation = await reserve(1)
    await lowered.take('a', { costs: { tokens: 34 } })
    await lowered.settle(reservation, 2)
    time.now += 37_000
    expect(await left(lowered)).toBe(0)
  })

  it('in full where the clock of the process that reserved it was behind', async () => {
    const { store, limiter, time, left } = scene([{ ...TOKENS, algorithm: 'sliding-window', limit: 60, window: '10s' }])
    const behind = createLimiter({
      store,
      policies: [{ ...TOKENS, algorithm: 'sliding-window', limit: 60, window: '10s' }],
      clock: () => time.now - 1000,
    })
    time.now += 10_300
    await limiter().take('a', { costs: { tokens: 2 } })
    const { reservation } = await behind.take('a', { costs: { tokens: 20 }, reserve: '1m' })
    time.now += 1700
    await limiter().settle(reservation!, 40)
    expect(await left()).toBe(18)
  })

  it('and not where used says no units', async () => {
    const { one, reserve } = scene()
    await expect(one.settle(await reserve(1), { costs: null as never })).rejects.toThrow('used.costs must be units')
  })
})

describe('a policy that observes gives nothing back of a request that it let pass uncharged', () => {
  it('when others have given units back since it was seen', async () => {
    const { one, limiter, left, reserve } = scene([{ ...TOKENS, action: 'observe' }], { denialTtlMs: 5000 })
    await one.take('a', { costs: { tokens: 900 } })
    await limiter().refund('a', 0, { costs: { tokens: 500 } })
    const reservation = await reserve(500)
    const before = await left()
    await one.settle(reservation, 0)
    expect(await left()).toBe(before)
  })

  it('when the answer was lost', async () => {
    const { one, left, reserve, store } = scene([{ ...TOKENS, action: 'observe' }])
    await one.take('a', { costs: { tokens: 900 } })
    const write = store.write.bind(store)
    jest.spyOn(store, 'write').mockImplementationOnce(async (...call) => {
      await write(...call)
      throw new StoreUnavailableError('timeout', 'lost')
    })
    await one.settle(await reserve(500), 0)
    expect(await left()).toBe(100)
  })
})

it('what a meter was let use without the store, uncharged, is charged when it settles', async () => {
  const { one, left, reserve, store, time } = scene([TOKENS], { onStoreError: 'allow' })
  const meter = one.meter(await reserve(100))
  const away = jest.spyOn(store, 'write').mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
  expect(await meter.debit(300)).toEqual({ stop: false })
  away.mockRestore()
  time.now += 60_000
  expect(await meter.settle()).toBe(true)
  expect(await left()).toBe(700)
})

describe('every write fits the limits of DynamoDB', () => {
  it('where many requests reserve at once', async () => {
    const { reserve } = scene()
    const all = await Promise.all(Array.from({ length: 150 }, () => reserve(1)))
    expect(all.filter(Boolean)).toHaveLength(150)
  })

  const heavy = Array.from(
    { length: 29 },
    (_, i): PolicyInput => ({ name: `p${i}`, algorithm: 'sliding-window', limit: 2000, window: '1m' }),
  )

  it('where they have thirty policies', async () => {
    const { reserve } = scene([TOKENS, ...heavy])
    expect((await Promise.all(Array.from({ length: 20 }, () => reserve(1)))).filter(Boolean)).toHaveLength(20)
  })

  thoroughly('where they have thirty policies, and the time of 1,000 others is over', async () => {
    const { reserve, limiter, time, store } = scene()
    const [[key]] = read(await reserve(1)).said[3] as [Subject]
    for (let i = 0; i < 999; i++) await reserve(1)
    const many = limiter([{ ...TOKENS, limit: 5000 }, ...heavy])
    for (const afterMs of [125_000, 4_000_000]) {
      time.now += afterMs
      expect(await reserve(1, many)).toBeDefined()
      await Promise.all(Array.from({ length: 5 }, () => reserve(1, many)))
      const { n, ...stored } = await store.fieldsWith(key, 'n')
      expect(n).toBe(Object.keys(stored).length)
    }
  })
})

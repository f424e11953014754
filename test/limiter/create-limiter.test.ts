import { createLimiter, type Limiter, type LimiterOptions, MemoryStore, type PolicyInput } from '../../limiter'
import { ConfigError } from '../../limiter/errors'
import type { LimiterEvent } from '../../limiter/options'
import { subjectKey } from '../../limiter/subject-key'
import { CountingStore, limiterOn, TestClock } from './limiters'
import { compiled } from './policies'

const minute = { name: 'minute', algorithm: 'fixed-window', limit: 10, window: '1m' } as const
const hour = { name: 'hour', algorithm: 'fixed-window', limit: 20, window: '1h' } as const

/** The issues of options, none if they are valid. */
function issuesOf(options: unknown): readonly string[] {
  try {
    createLimiter(options as LimiterOptions)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.issues
    throw error
  }
}
const withStore = (more: object) => issuesOf({ store: new MemoryStore(), policies: [minute], ...more })

describe('options of a limiter', () => {
  it.each([
    ['deadlineMs', [1, 300, 600_000], [0, 0.5, 600_001, '300'], 'milliseconds from 1 to 600000'],
    ['firstDeadlineMs', [1, 600_000], [0, 600_001], 'milliseconds from 1 to 600000'],
    ['denialTtlMs', [0, 600_000], [-1, 600_001], 'milliseconds from 0 to 600000'],
    ['maxSubjects', [1, 50_000], [0, 1.5], 'a positive integer'],
    ['localShare', [0.001, 1], [0, 1.001, -1], 'a number above 0 and up to 1'],
    ['autoLease', [true, false], ['yes', 0], 'true or false'],
    ['clock', [Date.now], [5], 'a function that returns epoch milliseconds'],
    ['onEvent', [console.log], ['tell'], 'a function that receives LimiterEvents'],
    ['onStoreError', ['local', 'allow', 'deny', 'throw'], ['open', ''], 'one of local, allow, deny, throw'],
  ] as const)('are checked when the limiter is made: %s', (name, right, wrong, wanted) => {
    for (const value of right) expect(withStore({ [name]: value })).toEqual([])
    for (const value of wrong) {
      const issues = withStore({ [name]: value })
      expect(issues).toHaveLength(1)
      expect(issues[0]).toContain(name)
      expect(issues[0]).toContain(wanted)
    }
  })

  it('must include a store that reads, writes and deletes', () => {
    const { write, read, delete: remove } = MemoryStore.prototype
    for (const store of [undefined, 5, { write, read }, { write, delete: remove }, { read, delete: remove }]) {
      const issues = issuesOf({ store, policies: [minute] })
      expect(issues).toHaveLength(1)
      expect(issues[0]).toMatch(
        /store.*a store such as new MemoryStore\(\) or new DynamoDbStore\(\{ client, tableName \}\)/,
      )
    }
    expect(issuesOf({ store: { write, read, delete: remove }, policies: [minute] })).toEqual([])
  })

  it('must include policies, all of whose mistakes are reported at once together with those of the options', () => {
    expect(issuesOf({ store: new MemoryStore(), policies: [] })).toEqual([
      'policies must have at least one policy, got none',
    ])
    expect(issuesOf({ store: new MemoryStore() })).toEqual([expect.stringContaining('a list of policies')])
    const both = withStore({
      deadlineMs: 0,
      policies: [
        { ...minute, limit: 0 },
        { ...hour, window: 'soon' },
      ],
    })
    expect(both).toHaveLength(3)
  })

  it('are reported in sentences that end with what was got, since a program has no file to point to', () => {
    expect(issuesOf(undefined)).toEqual(['options must be an object, got undefined'])
    expect(withStore({ deadlineMs: 0 })).toEqual(['deadlineMs must be milliseconds from 1 to 600000, got 0'])
    expect(withStore({ policies: 'all' })).toEqual(['policies must be a list, got "all"'])
  })

  it('are rejected if thirty policies would not fit into one item', () => {
    const logs = Array.from({ length: 30 }, (_, i) => ({
      name: `log-${i}`,
      algorithm: 'sliding-log',
      limit: 2000,
      window: '1d',
    }))
    expect(withStore({ policies: logs })).toEqual([
      expect.stringMatching(/^one subject could store .* 400 KB: .* and 25 more$/),
    ])
  })
})

describe('policies chosen by name', () => {
  const made = () => {
    const store = new CountingStore()
    return { store, limiter: limiterOn(store, new TestClock(), [minute, hour]) }
  }

  it('apply to a subject alone, and all policies apply if none are named', async () => {
    const { limiter } = made()
    const decision = await limiter.takeAll([{ subject: 'a', policies: ['hour'] }])
    expect(Object.keys(decision.policies)).toEqual(['hour'])
    expect(Object.keys((await limiter.takeAll([{ subject: 'a' }])).policies)).toEqual(['minute', 'hour'])
  })

  it('that do not exist are rejected with a list of those that do', async () => {
    const { limiter } = made()
    const take = (...policies: string[]) => limiter.takeAll([{ subject: 'a', policies }])
    await expect(take('hour', 'day', 'year')).rejects.toThrow(
      'policies must be some of "minute", "hour", got "day", "year"',
    )
    await expect(take()).rejects.toThrow('policies must be some of "minute", "hour", got none')
    await expect(limiter.takeAll([])).rejects.toThrow('takeAll needs at least one subject, got none')
  })

  it('are the same list each time, so that writes are coalesced', async () => {
    const { limiter, store } = made()
    await Promise.all(Array.from({ length: 8 }, () => limiter.takeAll([{ subject: 'a', policies: ['hour'] }])))
    expect(store.writes).toBe(2)
    store.writes = 0
    const lists = Array.from({ length: 8 }, (_, i) => (i % 2 ? ['hour'] : ['minute']))
    await Promise.all(lists.map((policies) => limiter.takeAll([{ subject: 'b', policies }])))
    expect(store.writes).toBe(8)
  })

  it('are not confused, however their names concatenate', async () => {
    const named = (name: string) => ({ ...minute, name })
    const limiter = limiterOn(new MemoryStore(), new TestClock(), ['a', 'bc', 'ab', 'c'].map(named))
    const held = async (...policies: string[]) =>
      Object.keys((await limiter.takeAll([{ subject: 's', policies }])).policies)
    expect([await held('a', 'bc'), await held('ab', 'c')]).toEqual([
      ['a', 'bc'],
      ['ab', 'c'],
    ])
  })

  /**
   * How many writes three simultaneous requests for one subject and one list of policies need, if so many other lists
   * are used before the last of them.
   */
  async function writesWith(otherLists: number): Promise<number> {
    const { limiter, store } = made()
    const take = () => limiter.takeAll([{ subject: 'a', policies: ['hour'] }])
    const takes = [take(), take()]
    const others = Array.from({ length: otherLists }, (_, i) => {
      const policies = [...i.toString(2).padStart(10, '0')].map((digit) => (digit === '0' ? 'minute' : 'hour'))
      return limiter.takeAll([{ subject: 'b', policies, cost: -1 }]) // is rejected after its list was looked up
    })
    takes.push(take())
    await Promise.all([...takes, Promise.allSettled(others)])
    return store.writes
  }

  it.each([
    [1, 2],
    [999, 2],
    [1000, 3],
  ])('are remembered as up to a thousand lists, so that memory is bounded: with %i others', async (others, writes) => {
    expect(await writesWith(others)).toBe(writes)
  })
})

describe('a limiter', () => {
  it('stores a policy under the prefix of its name and state schema, without a scope, as every release does', async () => {
    const store = new MemoryStore()
    await limiterOn(store, new TestClock(), [minute, hour]).take('a')
    expect(Object.keys((await store.read(subjectKey('a'))).policies)).toEqual(
      compiled(minute, hour).map(({ prefix }) => prefix),
    )
  })

  it('takes and refunds one unit by default', async () => {
    const limiter = limiterOn(new MemoryStore(), new TestClock(), [minute])
    expect(await limiter.take('a')).toMatchObject({ remaining: 9 })
    expect(await limiter.takeAll([{ subject: 'a' }], { cost: 3 })).toMatchObject({ remaining: 6 })
    expect(await limiter.peek('a')).toMatchObject({ allowed: true, remaining: 6 })
    expect(await limiter.peek('a', { cost: 7 })).toMatchObject({ allowed: false, remaining: 6 })
    await limiter.refund('a')
    await limiter.refund('a', 2)
    expect(await limiter.peek('a', { cost: 0 })).toMatchObject({ remaining: 9 })
    await limiter.reset('a')
    expect(await limiter.peek('a', { cost: 0 })).toMatchObject({ remaining: 10 })
  })

  it('returns leased units when it is closed', async () => {
    const clock = new TestClock()
    const store = new MemoryStore()
    const leased = { ...minute, limit: 10_000, consistency: 'leased' } as const
    const limiter = limiterOn(store, clock, [leased])
    for (let i = 0; i < 300; i++) {
      clock.at++
      await limiter.take('a')
    }
    await limiter.close()
    expect(await limiterOn(store, clock, [leased]).peek('a', { cost: 0 })).toMatchObject({ remaining: 9700 })
  })

  it('sends events only if it was given a listener', async () => {
    const events: LimiterEvent[] = []
    const options = { store: new MemoryStore(), policies: [minute] }
    await createLimiter({ ...options, onEvent: (event) => events.push(event) }).take('a')
    expect(events).toEqual([{ kind: 'store-call', ms: expect.any(Number), failure: undefined }])
    await createLimiter(options).take('a')
  })
})

describe('what is wrong is told by a code', () => {
  const limiter: Limiter = createLimiter({ store: new MemoryStore(), policies: [minute] })
  const broken = (at: number) => createLimiter({ store: new MemoryStore(), policies: [minute], clock: () => at })
  const slots = { name: 'slots', algorithm: 'concurrency', limit: 2, timeout: '1m' } as const
  const codeOf = async (call: () => unknown) => {
    try {
      await call()
    } catch (error) {
      const { code, mistakes } = error as ConfigError
      return mistakes?.map((mistake) => mistake.code).join() ?? code
    }
  }

  it.each<[string, () => unknown]>([
    ['missing_field', () => createLimiter({ store: new MemoryStore(), policies: [] as PolicyInput[] })],
    ['missing_field', () => limiter.takeAll([])],
    ['field_not_applicable', () => limiter.acquire('a')],
    ['unknown_field', () => limiter.peek('a', { reserve: '1m' } as never)],
    [
      'field_not_applicable',
      () => createLimiter({ store: new MemoryStore(), policies: [slots as never] }).take('a') as never,
    ],
    ['invalid_value', () => limiter.take('a', { costs: { tokens: 1 } })],
    ['invalid_value', () => limiter.takeAll([{ subject: 'a', policies: ['hour'] }])],
    ['invalid_hmac_key', () => createLimiter({ store: new MemoryStore(), policies: [minute], hmacKey: 'short' })],
    ['invalid_charged_at', () => limiter.refund('a', 1, { chargedAt: -1 })],
    ['invalid_reservation', () => limiter.settle('none', 1)],
    ['invalid_clock', () => broken(Number.NaN).take('a')],
    ['invalid_subject', () => limiter.take('')],
  ])('%s: %s', async (code, call) => {
    expect(await codeOf(call)).toBe(code)
  })

  it.each<[string, RegExp, () => unknown]>([
    ['ChargedAtError', /^chargedAt must be .*, got -1$/, () => limiter.refund('a', 1, { chargedAt: -1 })],
    ['ReservationError', /^reservation must be .*, got "x{60}…"$/, () => limiter.settle('x'.repeat(100), 1)],
    ['ReservationError', /^reservation must be .*, got 5n$/, () => limiter.settle(5n as never, 1)],
    ['ReservationError', /^reservation must be .*, got null$/, () => limiter.settle(null as never, 1)],
    ['ClockError', /^clock must .*, got NaN$/, () => broken(Number.NaN).take('a')],
    ['SubjectError', /^subject must be .*, got ""$/, () => limiter.take('')],
  ])('%s %s', async (name, message, call) => {
    await expect(async () => call()).rejects.toMatchObject({ name, message: expect.stringMatching(message) })
  })

  it('and costs that no policy counts are named with those that one does', async () => {
    const counting = { ...hour, name: 'tokens', cost: 'tokens' }
    const both = createLimiter({
      store: new MemoryStore(),
      policies: [counting, { ...counting, name: 'b', cost: 'b' }],
    })
    await expect(both.take('a', { costs: { c: 1, d: 1 } })).rejects.toThrow('some of tokens, b, got "c", "d"')
    await expect(limiter.take('a', { costs: { c: 1 } })).rejects.toThrow('left out, for no policy has a `cost`')
  })
})

import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { MemoryStore, type PolicyInput } from '../../limiter'
import { runs } from '../runs'
import { CountingStore, everyAlgorithm, holdNextWrite, limiterOn, MIDNIGHT, TestClock } from './limiters'
import { Ends, limiterWith, PER_HOUR, PER_SECOND, pass, QUEUE, simulateTime } from './waits'

simulateTime()

describe('waitFor', () => {
  it('takes at once what is there, as take does', async () => {
    const store = new CountingStore()
    const limiter = limiterWith([PER_SECOND], { store })
    expect(await limiter.waitFor('vendor', { cost: 2 })).toEqual(
      await limiterWith([PER_SECOND]).take('vendor', { cost: 2 }),
    )
    expect(store.calls).toBe(1)
    expect((await limiter.waitFor('vendor')).remaining).toBe(2)
  })

  it('waits for the next window, and is answered with the decision that charged it', async () => {
    const limiter = limiterWith([PER_SECOND])
    const ends = new Ends(limiter)
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) ends.start(name, { cost: 2 })
    await pass(3000)
    expect(ends.story).toBe('a@0 b@0 c@1000 d@1000 e@2000 f@2000')
    expect(ends.decisions.f).toMatchObject({ allowed: true, remaining: 1, chargedAt: MIDNIGHT + 2000 })
  })

  it('lets no smaller request pass one that came before and waits for more', async () => {
    const ends = new Ends(limiterWith([PER_SECOND]))
    ends.start('three', { cost: 3 })
    await pass(1)
    ends.start('four', { cost: 4 })
    await pass(1)
    for (const name of ['one', 'another']) ends.start(name)
    await pass(2500)
    expect(ends.story).toBe('three@0 four@1000 one@1000 another@2000')
  })

  it('waits for each of several costs, and is overtaken by nobody who needs less of one', async () => {
    const limiter = limiterWith([
      PER_SECOND,
      { ...PER_SECOND, name: 'tokens', limit: 1000, window: '3s', cost: 'tokens' },
    ])
    const ends = new Ends(limiter)
    const costs = { tokens: 700 }
    ends.start('a', { costs })
    ends.start('b', { costs })
    costs.tokens = 5000 // which is not what was asked for
    for (const name of ['c', 'd', 'e', 'f']) ends.start(name, { costs: { tokens: 20 } })
    ends.start('never', { costs: { tokens: 1001 } })
    await pass(7000)
    expect(ends.story).toBe('a@0 never@0! b@3000 c@3000 d@3000 e@3000 f@3000')
    expect(ends.decisions.b).toMatchObject({ chargedAt: expect.any(Number), policies: { tokens: { allowed: true } } })
    await expect(limiter.waitFor('vendor', { costs: { tokns: 5 } })).rejects.toMatchObject({ code: 'invalid_config' })
    await expect(limiter.waitFor('vendor', { costs: { tokens: 0.5 } })).rejects.toMatchObject({ code: 'invalid_cost' })
  })

  it('waits for those costs alone of which it takes any, and one unit of those that it does not name', async () => {
    const tokens = { ...PER_SECOND, name: 'tokens', cost: 'tokens' }
    const ends = new Ends(limiterWith([PER_SECOND, tokens, { ...tokens, name: 'images', cost: 'images' }]))
    for (const name of ['a', 'b']) ends.start(name, { cost: 4, costs: { tokens: 0 } })
    for (const name of ['c', 'd']) ends.start(name, { cost: 1, costs: { tokens: 4 } })
    await pass(5000)
    expect(ends.story).toBe('a@0 b@1000 c@1000 d@2000')
    expect([ends.decisions.b, ends.decisions.d].map((one) => Object.keys(one!.policies))).toEqual([
      [PER_SECOND.name, 'images'],
      [PER_SECOND.name, 'tokens', 'images'],
    ])
  })

  it('gives every cost of an aborted request back', async () => {
    const limiter = limiterWith([PER_HOUR, { ...PER_HOUR, name: 'tokens', limit: 1000, cost: 'tokens' }])
    const aborter = new AbortController()
    const wait = limiter.waitFor('vendor', { costs: { tokens: 700 }, signal: aborter.signal })
    aborter.abort()
    await expect(wait).rejects.toMatchObject({ name: 'AbortError' })
    await pass(0)
    const { policies } = await limiter.peek('vendor', { cost: 0 })
    expect(policies).toMatchObject({ 'per-hour': { remaining: 5 }, tokens: { remaining: 1000 } })
  })

  it('has a line for each subject', async () => {
    const ends = new Ends(limiterWith([PER_HOUR]))
    ends.start('a', { cost: 5 })
    ends.start('b', { maxWaitMs: 10 })
    ends.start('other', {}, 'other vendor')
    await pass(10)
    expect(ends.story).toBe('a@0 other@0 b@10!')
  })

  it('passes each request at the first millisecond at which take would, first come first served', async () => {
    const algorithms = everyAlgorithm(4, '120ms').filter(({ name }) => !/queue|calendar/.test(name))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...algorithms),
        fc.array(fc.record({ afterMs: fc.integer({ min: 0, max: 70 }), cost: fc.integer({ min: 1, max: 4 }) }), {
          minLength: 1,
          maxLength: 6,
        }),
        async (policy, requests) => {
          jest.setSystemTime(MIDNIGHT)
          const ends = new Ends(limiterWith([policy]))
          for (const [i, { afterMs, cost }] of requests.entries()) {
            await pass(afterMs)
            ends.start(`${i}`, { cost })
          }
          await pass(2000)
          expect(ends.list).toEqual(await firstMoments(policy, requests))
        },
      ),
      { numRuns: runs(12, 500) },
    )
  })
})

/** When each request passes if the first of the line asks by `take` in every millisecond in which that may tell. */
async function firstMoments(policy: PolicyInput, requests: readonly { afterMs: number; cost: number }[]) {
  const clock = new TestClock()
  const limiter = limiterOn(new MemoryStore(), clock, [policy])
  let arrivesAt = MIDNIGHT
  const moments = []
  for (const [i, { afterMs, cost }] of requests.entries()) {
    arrivesAt += afterMs
    clock.at = Math.max(clock.at, arrivesAt)
    while (!(await limiter.take('vendor', { cost })).allowed) clock.at++
    moments.push({ name: `${i}`, atMs: clock.at - MIDNIGHT, allowed: true })
  }
  return moments
}

describe('maxWaitMs', () => {
  it('ends a wait with a denial that charged nothing', async () => {
    const limiter = limiterWith([PER_HOUR])
    const ends = new Ends(limiter)
    await limiter.take('vendor', { cost: 4 })
    ends.start('two', { cost: 2, maxWaitMs: 1500 })
    ends.start('one', { maxWaitMs: 900 })
    await pass(2000)
    expect(ends.story).toBe('one@900! two@1500!')
    const { two, one } = ends.decisions
    expect(two).toMatchObject({ policy: 'per-hour', chargedAt: null, retryAfterMs: 3_598_500, remaining: 1 })
    expect(two!.retryAfterIsLowerBound).toBe(false)
    expect(one!.retryAfterIsLowerBound).toBe(true) // the one before it has to pass first
    expect((await limiter.take('vendor')).allowed).toBe(true)
  })

  it('lets the next one ask once the one before it has given up', async () => {
    const limiter = limiterWith([PER_HOUR])
    const ends = new Ends(limiter)
    await limiter.take('vendor', { cost: 4 })
    ends.start('two', { cost: 2, maxWaitMs: 700 })
    ends.start('one')
    await pass(700)
    expect(ends.story).toBe('two@700! one@700')
  })

  it.each([0, 1])('of %i ms asks, and never denies what is not over a limit', async (maxWaitMs) => {
    const limiter = limiterWith([{ ...PER_HOUR, limit: 250 }])
    const costs = Array.from({ length: 400 }, (_, i) => (i === 120 ? 200 : 1))
    const ends = new Ends(limiter)
    for (const [i, cost] of costs.entries()) ends.start(`${i}`, { cost, maxWaitMs })
    await pass(maxWaitMs)
    const passed = ends.list.filter(({ allowed }) => allowed).map(({ name }) => Number(name))
    expect(passed).toEqual([...Array(251).keys()].filter((i) => i !== 120))
    expect(ends.list).toHaveLength(400)
  })

  it('of 0 is denied at once behind those who wait, even if it would fit', async () => {
    const limiter = limiterWith([PER_SECOND])
    const ends = new Ends(limiter)
    await limiter.take('vendor', { cost: 4 })
    ends.start('two', { cost: 2 })
    await pass(10)
    ends.start('one', { maxWaitMs: 0 })
    await pass(1000)
    expect(ends.story).toBe('one@10! two@1000')
  })

  it('is not waited for by a cost that can never pass, nor is anybody else', async () => {
    const limiter = limiterWith([PER_SECOND])
    const ends = new Ends(limiter)
    for (const name of ['a', 'b']) ends.start(name, { cost: 5 })
    await pass(10)
    ends.start('never', { cost: 6 })
    await pass(1000)
    expect(ends.story).toBe('a@0 never@10! b@1000')
    expect(ends.decisions.never).toMatchObject({ retryAfterMs: Infinity, chargedAt: null })
  })
})

describe('a queue', () => {
  it('spaces requests out, each resolves in its slot', async () => {
    const ends = new Ends(limiterWith([QUEUE]))
    for (const name of ['a', 'b', 'c', 'd']) ends.start(name)
    await pass(1000)
    expect(ends.story).toBe('a@0 b@200 c@400 d@600')
    expect(ends.decisions.d!.delayMs).toBe(200) // it asked when it was the first
  })

  it.each([
    ['leaky bucket', QUEUE],
    ['action: delay', { ...PER_SECOND, limit: 1, action: 'delay', maxDelay: '30s' }],
  ] as const)(
    'whose slot is later than a request would wait denies it at once, and the slot goes to the next: %s',
    async (_, policy) => {
      const limiter = limiterWith([policy])
      const ends = new Ends(limiter)
      ends.start('a')
      await pass(1)
      ends.start('b', { maxWaitMs: 50 })
      await pass(1)
      ends.start('c', { maxWaitMs: 5000 })
      await pass(5000)
      const slot = policy === QUEUE ? 200 : 1000
      expect(ends.story).toBe(`a@0 b@1! c@${slot}`)
      expect(ends.decisions.b).toMatchObject({ policy: policy.name, retryAfterMs: slot - 51, delayMs: 0 })
      expect(ends.decisions.b).toMatchObject({ chargedAt: null, policies: { [policy.name]: { allowed: false } } })
    },
  )

  it('that is full is waited for', async () => {
    const limiter = limiterWith([{ ...QUEUE, burst: 2 }])
    const ends = new Ends(limiter)
    for (const name of ['a', 'b', 'c', 'd']) ends.start(name)
    await pass(2000)
    expect(ends.story).toBe('a@0 b@200 c@400 d@600')
  })
})

describe('abort', () => {
  const reason = new Error('stopped')

  it('before the call rejects with the reason, and asks nobody', async () => {
    const store = new CountingStore()
    const limiter = limiterWith([PER_SECOND], { store })
    await expect(limiter.waitFor('vendor', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(store.calls).toBe(0)
  })

  it('while it waits rejects with the reason, and the next one asks', async () => {
    const limiter = limiterWith([PER_HOUR])
    const ends = new Ends(limiter)
    await limiter.take('vendor', { cost: 4 })
    const [aborter, other] = [new AbortController(), new AbortController()]
    ends.start('two', { cost: 2, signal: aborter.signal })
    ends.start('three', { cost: 3, signal: aborter.signal })
    ends.start('one', { signal: other.signal })
    await pass(100)
    expect(getEventListeners(aborter.signal, 'abort')).toHaveLength(1) // more than ten would be a warning
    aborter.abort(reason)
    await pass(0)
    expect(ends.story).toBe('two@100! three@100! one@100')
    expect(ends.list[0]!.error).toBe(reason)
    for (const { signal } of [aborter, other]) expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('leaves no listener behind, whatever the end of the wait', async () => {
    const { signal } = new AbortController()
    const limiter = limiterWith([PER_SECOND, { ...QUEUE, limit: 4 }])
    const ends = new Ends(limiter)
    ends.start('never', { cost: 9, signal })
    for (const maxWaitMs of [0, 100, 300, 5000]) ends.start(`${maxWaitMs}`, { maxWaitMs, signal })
    await pass(5000)
    expect(ends.list).toHaveLength(5)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('while the charge is under way gives the units back, for the next one', async () => {
    const store = new MemoryStore()
    const limiter = limiterWith([PER_HOUR], { store })
    const ends = new Ends(limiter)
    const aborter = new AbortController()
    const write = holdNextWrite(store)
    ends.start('five', { cost: 5, signal: aborter.signal })
    ends.start('four', { cost: 4 })
    await pass(10)
    aborter.abort(reason)
    await pass(10)
    expect(ends.story).toBe('five@10!')
    write.arrive()
    await pass(0)
    expect(ends.story).toBe('five@10! four@20')
    expect((await limiter.peek('vendor', { cost: 0 })).remaining).toBe(1)
  })

  it.each([
    ['leaky bucket', QUEUE, 200],
    ['action: delay', { ...PER_SECOND, limit: 1, action: 'delay', maxDelay: '30s' }, 1000],
  ] as const)('while it waits for its slot gives the units back: %s', async (_, policy, slot) => {
    const limiter = limiterWith([policy])
    const ends = new Ends(limiter)
    const aborter = new AbortController()
    ends.start('a')
    ends.start('b', { signal: aborter.signal })
    await pass(100)
    aborter.abort(reason)
    await pass(0)
    ends.start('c')
    await pass(1000)
    expect(ends.story).toBe(`a@0 b@100! c@${slot}`)
  })

  it('of a request that is not the first does not make the others ask', async () => {
    const store = new CountingStore()
    const limiter = limiterWith([PER_SECOND], { store })
    const ends = new Ends(limiter)
    const aborter = new AbortController()
    await limiter.take('vendor', { cost: 5 })
    ends.start('a')
    ends.start('b', { signal: aborter.signal })
    await pass(1)
    const before = store.calls
    aborter.abort()
    await pass(900)
    expect(store.calls).toBe(before)
    await pass(100)
    expect(ends.story).toBe('b@1! a@1000')
    expect(ends.list[0]!.error).toMatchObject({ name: 'AbortError' })
  })
})

describe('options of waitFor', () => {
  it.each([
    [{ maxWaitMs: -1 }, 'maxWaitMs must be milliseconds from 0 to 2147483647, got -1'],
    [{ maxWaitMs: Number.NaN }, 'maxWaitMs must be milliseconds from 0 to 2147483647, got NaN'],
    [{ maxWaitMs: 2 ** 31 }, 'maxWaitMs must be milliseconds from 0 to 2147483647, got 2147483648'],
    [{ maxWaitMs: '1s' }, 'maxWaitMs must be milliseconds from 0 to 2147483647, got "1s"'],
    [{ lagMs: 0 }, 'lagMs must be milliseconds from 1 to 60000, got 0'],
    [{ lagMs: 60_001 }, 'lagMs must be milliseconds from 1 to 60000, got 60001'],
    [{ signal: {} }, 'signal must be an AbortSignal, got an object'],
    [{ maxWait: 5 }, 'unknown field "maxWait", did you mean "maxWaitMs"?'],
    [5, 'options must be an object, got 5'],
  ])('are checked before anything is charged: %j', async (options, sentence) => {
    const store = new CountingStore()
    const limiter = limiterWith([PER_SECOND], { store })
    await expect(limiter.waitFor('vendor', options as never)).rejects.toMatchObject({
      code: 'invalid_config',
      issues: [sentence],
    })
    expect(store.calls).toBe(0)
  })

  it.each([0.5, -1, Number.NaN, '1'])('cost %p is refused, as by take, also behind others', async (cost) => {
    const limiter = limiterWith([PER_SECOND])
    const ends = new Ends(limiter)
    ends.start('a', { cost: 5 })
    ends.start('b', { cost: 5 })
    await expect(limiter.waitFor('vendor', { cost: cost as number })).rejects.toMatchObject({ code: 'invalid_cost' })
    await expect(limiter.waitFor('', { cost: 1 })).rejects.toMatchObject({ code: 'invalid_subject' })
    await pass(1000)
    expect(ends.story).toBe('a@0 b@1000')
  })

  const wrong: readonly (readonly [string, readonly PolicyInput[]])[] = [
    ['fixed-window', [PER_SECOND]],
    ['a burst', [{ ...PER_SECOND, algorithm: 'gcra', burst: 2 }]],
    ['overrun', [{ ...PER_SECOND, algorithm: 'sliding-log', overrun: '20%' }]],
    ['leased', [{ ...PER_SECOND, algorithm: 'gcra', burst: 1, consistency: 'leased' }]],
    ['action: delay', [{ ...PER_SECOND, algorithm: 'gcra', burst: 1, action: 'delay' }]],
    ['a queue beside a log', [QUEUE, { ...PER_SECOND, algorithm: 'sliding-log' }]],
  ]
  it.each(wrong)('lagMs is refused for policies that do not space calls: %s', async (_, policies) => {
    const store = new CountingStore()
    const limiter = limiterWith(policies, { store })
    await expect(limiter.waitFor('vendor', { lagMs: 50 })).rejects.toMatchObject({
      code: 'invalid_config',
      issues: [expect.stringMatching(/^lagMs .* policy "(per-second|queue)"$/)],
    })
    expect(store.calls).toBe(0)
  })

  it('lagMs resolves that long after the charge, in order', async () => {
    const ends = new Ends(limiterWith([{ ...PER_SECOND, algorithm: 'gcra', burst: 1 }]))
    for (const name of ['a', 'b', 'c']) ends.start(name, { lagMs: 70 })
    await pass(1000)
    expect(ends.story).toBe('a@70 b@270 c@470')
  })

  it('lagMs gives an answer back that came later, and asks for the next turn, before others', async () => {
    const store = new MemoryStore()
    const limiter = limiterWith([{ ...PER_SECOND, limit: 1, algorithm: 'sliding-log' }], { store, deadlineMs: 5000 })
    const ends = new Ends(limiter)
    const write = holdNextWrite(store)
    for (const name of ['a', 'b']) ends.start(name, { lagMs: 50 })
    await pass(80)
    write.arrive()
    await pass(1400)
    expect(ends.list.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(ends.list[0]!.atMs).toBe(130)
    expect(ends.list[1]!.atMs).toBeGreaterThanOrEqual(1130)
    expect(ends.list[1]!.atMs).toBeLessThanOrEqual(1190) // it may give way to others
  })
})

import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { type Decision, type Limiter, MemoryStore, type PolicyInput, type WaitOptions } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import { runs } from '../runs'
import { FaultyStore } from './faulty-store'
import { CountingStore, everyAlgorithm, holdNextWrite, limiterOn, MIDNIGHT, TestClock } from './limiters'

const PER_SECOND = { name: 'per-second', algorithm: 'fixed-window', limit: 5, window: '1s' } as const
const PER_HOUR = { name: 'per-hour', algorithm: 'fixed-window', limit: 5, window: '1h' } as const
const QUEUE = { name: 'queue', algorithm: 'leaky-bucket', mode: 'queue', limit: 5, window: '1s', burst: 50 } as const

beforeEach(() => jest.useFakeTimers({ now: MIDNIGHT }))
afterEach(() => {
  expect(jest.getTimerCount()).toBe(0)
  jest.useRealTimers()
})

/** A limiter on the simulated system clock. */
const limiterWith = (policies: readonly PolicyInput[], more: Parameters<typeof limiterOn>[3] = {}): Limiter =>
  limiterOn(more.store ?? new MemoryStore(), new TestClock(), policies, { clock: undefined, ...more })

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms)

/** What came of waits, in the order in which they ended. */
class Ends {
  readonly list: { readonly name: string; readonly atMs: number; readonly allowed?: boolean; error?: unknown }[] = []
  readonly decisions: Record<string, Decision> = {}

  constructor(private readonly limiter: Limiter) {}

  start(name: string, options?: WaitOptions, subject = 'vendor'): void {
    this.limiter.waitFor(subject, options).then(
      (decision) => {
        this.decisions[name] = decision
        this.list.push({ name, atMs: Date.now() - MIDNIGHT, allowed: decision.allowed })
      },
      (error) => this.list.push({ name, atMs: Date.now() - MIDNIGHT, error }),
    )
  }

  /** `name@ms`, and `!` for a denial or an error. */
  get story(): string {
    return this.list.map(({ name, atMs, allowed }) => `${name}@${atMs}${allowed ? '' : '!'}`).join(' ')
  }
}

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
    expect(ends.decisions.d!.delayMs).toBe(600)
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
      expect(ends.decisions.b).toMatchObject({ policy: policy.name, retryAfterMs: slot - 51, delayMs: 0, waitMs: 0 })
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
    ['leaky bucket, of which time has given half back', QUEUE, 300],
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

describe('units that come back', () => {
  it.each([
    ['a refund', (limiter: Limiter) => limiter.refund('vendor', 2)],
    ['a reset', (limiter: Limiter) => limiter.reset('vendor')],
  ])('by %s of the same limiter are taken at once', async (_, giveBack) => {
    const limiter = limiterWith([PER_HOUR])
    const ends = new Ends(limiter)
    await limiter.take('vendor', { cost: 5 })
    ends.start('a', { cost: 2 })
    await pass(100)
    await giveBack(limiter)
    await pass(0)
    expect(ends.story).toBe('a@100')
  })

  it('in another process are noticed within denialTtlMs', async () => {
    const store = new MemoryStore()
    const ends = new Ends(limiterWith([PER_HOUR], { store, denialTtlMs: 3000 }))
    const other = limiterWith([PER_HOUR], { store })
    await other.take('vendor', { cost: 5 })
    ends.start('a')
    await pass(100)
    await other.reset('vendor')
    await pass(2901)
    expect(ends.list).toMatchObject([{ name: 'a', allowed: true }])
  })

  it('are not looked for by everybody: hundreds who wait for an hour cost one call in denialTtlMs', async () => {
    const store = new CountingStore()
    const limiter = limiterWith([PER_HOUR], { store })
    const ends = new Ends(limiter)
    await limiter.take('vendor', { cost: 5 })
    for (let i = 0; i < 300; i++) ends.start(`${i}`, { maxWaitMs: 120_000 + 10 * i })
    await pass(60_000)
    expect(store.calls).toBeLessThanOrEqual(1 + 60_000 / 5000)
    await pass(63_000)
    expect(ends.list).toHaveLength(300)
    expect(store.calls).toBeLessThanOrEqual(2 + 123_000 / 5000)
  })
})

it('hundreds of requests that come at once share writes', async () => {
  const store = new CountingStore()
  const ends = new Ends(limiterWith([{ ...PER_HOUR, limit: 350 }], { store }))
  for (let i = 0; i < 400; i++) ends.start(`${i}`, { maxWaitMs: 0 })
  await pass(0)
  expect(ends.list.map(({ name, allowed }) => [name, allowed])).toEqual(
    Array.from({ length: 400 }, (_, i) => [`${i}`, i < 350]),
  )
  expect(store.calls).toBeLessThan(20)
})

describe('requests, aborts, refunds and resets at any time, on a slow store', () => {
  /** Each call is under way for some milliseconds before and after the store has it. */
  const slow = (latencies: readonly number[]) => {
    const inner = new MemoryStore()
    let calls = 0
    const late = async <T>(call: () => Promise<T>): Promise<T> => {
      const ms = latencies[calls++ % latencies.length]!
      await new Promise((resolve) => setTimeout(resolve, ms))
      const answer = await call()
      await new Promise((resolve) => setTimeout(resolve, ms / 2))
      return answer
    }
    return {
      write: (...call: Parameters<MemoryStore['write']>) => late(() => inner.write(...call)),
      read: (...call: Parameters<MemoryStore['read']>) => late(() => inner.read(...call)),
      delete: (...call: Parameters<MemoryStore['delete']>) => late(() => inner.delete(...call)),
    }
  }
  const ms = (max: number) => fc.integer({ min: 0, max })
  const wait = fc.record({
    kind: fc.constant('wait' as const),
    cost: fc.integer({ min: 0, max: 6 }),
    maxWaitMs: ms(300),
    abortAfterMs: fc.option(ms(100), { nil: undefined }),
  })
  const refund = fc.record({ kind: fc.constant('refund' as const) })
  const reset = fc.record({ kind: fc.constant('reset' as const) })
  const sum = (units: readonly number[]) => units.reduce((all, one) => all + one, 0)

  it.each([
    ['fixed-window', { ...PER_HOUR, limit: 10 }],
    ['leased', { ...PER_HOUR, limit: 10, consistency: 'leased' } as const],
    ['a queue', QUEUE],
  ])('every wait ends once, those that pass in their order, and only those are charged: %s', async (_, policy) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(ms(40), fc.oneof({ weight: 8, arbitrary: wait }, refund, reset)), { maxLength: 15 }),
        fc.array(ms(20), { minLength: 1, maxLength: 5 }),
        async (events, latencies) => {
          jest.setSystemTime(MIDNIGHT)
          const store = slow(latencies)
          const limiter = limiterWith([policy], { store, deadlineMs: 5000 })
          const ends = new Ends(limiter)
          const signals: AbortSignal[] = []
          const costs: number[] = []
          const refunded = new Set<string>()
          for (const [afterMs, event] of events) {
            await pass(afterMs)
            if (event.kind === 'reset') void limiter.reset('vendor')
            else if (event.kind === 'refund') {
              const charged = Object.entries(ends.decisions).find(
                ([name, { chargedAt }]) => chargedAt !== null && !refunded.has(name),
              )
              if (!charged) continue
              refunded.add(charged[0])
              void limiter.refund('vendor', 1, charged[1])
            } else {
              const { cost, maxWaitMs, abortAfterMs } = event
              const aborter = new AbortController()
              ends.start(`${costs.length}`, { cost, maxWaitMs, signal: aborter.signal })
              signals.push(aborter.signal)
              costs.push(cost)
              if (abortAfterMs !== undefined) setTimeout(() => aborter.abort(), abortAfterMs)
            }
          }
          await pass(5000)
          void limiter.close()
          await pass(500)

          expect(ends.list).toHaveLength(costs.length)
          expect(signals.flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([])
          const passed = ends.list.filter(({ allowed }) => allowed).map(({ name }) => Number(name))
          const isReset = events.some(([, { kind }]) => kind === 'reset')
          // whoever waits for a slot keeps it, though after a reset others get earlier ones
          if (policy !== QUEUE || !isReset) expect(passed).toEqual([...passed].sort((a, b) => a - b))
          if (policy === QUEUE || isReset) return
          let remaining: number | undefined
          void limiterWith([policy], { store })
            .peek('vendor', { cost: 0 })
            .then((decision) => {
              remaining = decision.remaining
            })
          await pass(100)
          expect(10 - remaining!).toBe(sum(passed.map((i) => costs[i]!)) - refunded.size)
        },
      ),
      { numRuns: runs(12, 300) },
    )
  })
})

describe('several processes', () => {
  it('share the limit, and serve everybody, and ask less often the more of them there are', async () => {
    const store = new CountingStore()
    const policy = { name: 'gcra', algorithm: 'gcra', limit: 10, window: '1s', burst: 1 } as const
    const all = Array.from({ length: 4 }, () => new Ends(limiterWith([policy], { store })))
    for (const ends of all) for (let i = 0; i < 25; i++) ends.start(`${i}`)
    await pass(9899)
    const served = () => all.flatMap(({ list }) => list).filter(({ allowed }) => allowed).length
    expect(served()).toBeGreaterThanOrEqual(80)
    expect(served()).toBeLessThanOrEqual(99)
    await pass(3000)
    expect(served()).toBe(100)
    for (const { list } of all) expect(list.map(({ name }) => name)).toEqual([...Array(25).keys()].map(String))
    expect(store.calls).toBeLessThanOrEqual(300) // and 400 if all asked whenever a unit is due
  })
})

describe('a store that cannot be asked', () => {
  /** A store that is away while `isAway`. */
  const failing = (inner = new MemoryStore()) => {
    const store = {
      isAway: false,
      write: async (...call: Parameters<MemoryStore['write']>) => store.reached().write(...call),
      read: async (...call: Parameters<MemoryStore['read']>) => store.reached().read(...call),
      delete: async (...call: Parameters<MemoryStore['delete']>) => store.reached().delete(...call),
      reached: () => {
        if (store.isAway) throw new StoreUnavailableError('unreachable', 'away')
        return inner
      },
    }
    return store
  }

  it('rejects everybody who waits under the failure mode throw', async () => {
    const store = failing()
    const limiter = limiterWith([PER_SECOND], { store })
    const ends = new Ends(limiter)
    await limiter.take('vendor', { cost: 5 })
    for (const name of ['a', 'b']) ends.start(name)
    await pass(500)
    store.isAway = true
    await pass(600)
    expect(ends.story).toBe('a@1000! b@1000!')
    expect(ends.list[0]!.error).toBeInstanceOf(StoreUnavailableError)
  })

  it('lets them wait until it is back under deny, at one decision a second', async () => {
    const store = failing()
    const limiter = limiterWith([PER_SECOND], { store, onStoreError: 'deny' })
    const ends = new Ends(limiter)
    await limiter.take('vendor')
    store.isAway = true
    ends.start('a')
    ends.start('short', { maxWaitMs: 1500 })
    await pass(10_000)
    store.isAway = false
    await pass(60_000)
    expect(ends.list).toMatchObject([
      { name: 'short', atMs: 1500, allowed: false },
      { name: 'a', allowed: true },
    ])
    expect(ends.decisions.short).toMatchObject({ degraded: true, chargedAt: null })
    expect(ends.decisions.a).toMatchObject({ degraded: false })
  })

  it('is stood in for by memory under local, in the same order', async () => {
    const store = failing()
    store.isAway = true
    const limiter = limiterWith([PER_SECOND], { store, onStoreError: 'local' })
    const ends = new Ends(limiter)
    for (const name of ['a', 'b', 'c']) ends.start(name, { cost: 4 })
    await pass(2000)
    expect(ends.story).toBe('a@0 b@1000 c@2000')
    expect(ends.decisions.c).toMatchObject({ degraded: true, allowed: true })
  })

  it('whose answers are lost charges each request once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('request lost' as const, 'answer lost' as const, 'sent twice' as const, undefined), {
          maxLength: 12,
        }),
        async (faults) => {
          jest.setSystemTime(MIDNIGHT)
          const store = new FaultyStore(new MemoryStore())
          const limiter = limiterWith([PER_HOUR], { store, deadlineMs: 600_000, firstDeadlineMs: 600_000 })
          const ends = new Ends(limiter)
          store.plan(faults)
          for (const [i, cost] of [1, 2, 1].entries()) ends.start(`${i}`, { cost, maxWaitMs: 500 })
          await pass(120_000)
          const costs = [1, 2, 1].filter((_, i) => ends.decisions[i]?.allowed)
          const doubtful = [1, 2, 1].filter((_, i) => ends.decisions[i] === undefined)
          store.plan([])
          const used = 5 - (await limiter.peek('vendor', { cost: 0 })).remaining
          const sum = (list: number[]) => list.reduce((all, one) => all + one, 0)
          expect(ends.list).toHaveLength(3)
          expect(used).toBeGreaterThanOrEqual(sum(costs))
          expect(used).toBeLessThanOrEqual(sum(costs) + sum(doubtful))
        },
      ),
      { numRuns: runs(15, 500) },
    )
  })
})

describe('a program that stops', () => {
  it('waits in close for what aborted requests give back', async () => {
    const store = new MemoryStore()
    const limiter = limiterWith([PER_HOUR], { store })
    const aborter = new AbortController()
    const write = holdNextWrite(store)
    const ends = new Ends(limiter)
    ends.start('a', { cost: 3, signal: aborter.signal })
    await pass(0)
    aborter.abort()
    write.arrive()
    await pass(0)
    await limiter.close()
    expect((await limiterWith([PER_HOUR], { store }).peek('vendor', { cost: 0 })).remaining).toBe(5)
  })

  it('leaves those who wait waiting: the limiter can be used on', async () => {
    const limiter = limiterWith([{ ...PER_SECOND, consistency: 'leased' }])
    const ends = new Ends(limiter)
    await limiter.take('vendor', { cost: 5 })
    ends.start('a')
    await pass(10)
    await limiter.close()
    await pass(2000)
    expect(ends.list).toMatchObject([{ name: 'a', allowed: true }])
  })
})

describe('options of waitFor', () => {
  it.each([
    [{ maxWaitMs: -1 }, 'maxWaitMs must be milliseconds from 0 to 2147483647, got -1'],
    [{ maxWaitMs: Number.NaN }, 'maxWaitMs must be milliseconds from 0 to 2147483647, got NaN'],
    [{ maxWaitMs: 2 ** 31 }, 'maxWaitMs must be milliseconds from 0 to 2147483647, got 2147483648'],
    [{ maxWaitMs: '1s' }, 'maxWaitMs must be milliseconds from 0 to 2147483647, got "1s"'],
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
})

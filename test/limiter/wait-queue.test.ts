import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { type Limiter, MemoryStore } from '../../limiter'
import { StoreUnavailableError } from '../../limiter/errors'
import { runs } from '../runs'
import { FaultyStore } from './faulty-store'
import { CountingStore, holdNextWrite, MIDNIGHT } from './limiters'
import { Ends, limiterWith, PER_HOUR, PER_SECOND, pass, QUEUE, simulateTime } from './waits'

simulateTime()

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

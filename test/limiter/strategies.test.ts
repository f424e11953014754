import { Eventual } from '../../limiter/consistency/eventual'
import { Leased } from '../../limiter/consistency/leased'
import { Strategies } from '../../limiter/consistency/strategies'
import { Strict } from '../../limiter/consistency/strict'
import { Decider } from '../../limiter/decider'
import { StoreUnavailableError } from '../../limiter/errors'
import type { LimiterEvent } from '../../limiter/options'
import type { Consistency } from '../../limiter/policies/policy'
import { CountingStore, holdNextWrite, MIDNIGHT } from './limiters'
import { compiled } from './policies'

const counted = (consistency: Consistency, name: string = consistency) =>
  compiled({ name, algorithm: 'fixed-window', limit: 100_000, window: '1d', consistency })
const [strict, leased, eventual] = [counted('strict'), counted('leased'), counted('eventual')]

afterEach(() => jest.restoreAllMocks())

function world() {
  const world = { now: MIDNIGHT + 1000 }
  const store = new CountingStore()
  const events: LimiterEvent[] = []
  const times = { deadlineMs: 20_000, firstDeadlineMs: 20_000, denialTtlMs: 5000 }
  const items = new Decider({ ...times, store, clock: () => world.now, maxSubjects: 100, onEvent: () => {} })
  const strategies = new Strategies(items, (event) => events.push(event))
  const used = async (policies: typeof strict) =>
    (await items.peek({ key: 'k', policies, cost: 0 })).map(({ remaining }) => 100_000 - remaining)
  /** Sends requests of one unit, one in each millisecond. */
  const busy = async (policies: typeof strict, requests: number) => {
    await strategies.load([{ policies }])
    for (let i = 0; i < requests; i++) {
      world.now++
      for (const part of strategies.partsOf({ key: 'k', policies, cost: 1 }))
        await part.strategy.take({ key: part.key, policies: part.policies, cost: part.cost })
    }
  }
  return Object.assign(world, { store, events, items, strategies, used, busy })
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the parts of a charge', () => {
  it('are its policies by consistency, each with its strategy', async () => {
    const { strategies } = world()
    await strategies.load([{ policies: [...leased, ...eventual] }])
    const [other] = counted('strict', 'other')
    const parts = strategies.partsOf({ key: 'k', policies: [...eventual, ...strict, ...leased, other!], cost: 3 })
    expect(parts.map(({ strategy: way }) => way.constructor)).toEqual([Strict, Leased, Eventual])
    expect(parts.map(({ policies }) => policies.map(({ name }) => name))).toEqual([
      ['strict', 'other'],
      ['leased'],
      ['eventual'],
    ])
    expect(parts.map(({ key, cost }) => [key, cost])).toEqual(Array(3).fill(['k', 3]))
  })

  it.each([
    ['strict', strict, Strict],
    ['leased', leased, Leased],
    ['eventual', eventual, Eventual],
  ] as const)('are one if all policies are %s, with the very list that was given', async (_, policies, way) => {
    const { strategies } = world()
    await strategies.load([{ policies }])
    const parts = strategies.partsOf({ key: 'k', policies, cost: 1 })
    expect(parts.map((part) => part.strategy.constructor)).toEqual([way])
    expect(parts[0]!.policies).toBe(policies)
  })

  it('have the same lists for every subject and each time, so that writes are coalesced', async () => {
    const { strategies } = world()
    const policies = [...strict, ...leased]
    await strategies.load([{ policies }])
    const [one, other] = ['a', 'b'].map((key) => strategies.partsOf({ key, policies, cost: key === 'a' ? 1 : 2 }))
    expect(one!.map(({ key, cost }) => [key, cost])).toEqual(Array(2).fill(['a', 1]))
    expect(other!.map(({ key, cost }) => [key, cost])).toEqual(Array(2).fill(['b', 2]))
    for (const i of [0, 1]) expect(other![i]!.policies).toBe(one![i]!.policies)
    expect(strategies.partsOf({ key: 'a', policies: [...policies], cost: 1 })[0]!.policies).not.toBe(one![0]!.policies)
  })
})

it('the last view of an eventual subject includes what was counted in memory since', async () => {
  const { strategies, items, busy } = world()
  expect(strategies.lastSeen({ key: 'k', policies: eventual })).toEqual([undefined])
  await busy(eventual, 3)
  const [{ counter }] = eventual as [(typeof eventual)[0]]
  const [fields] = strategies.lastSeen({ key: 'k', policies: eventual })
  expect(counter.step(fields, 0, items.now()).verdict.remaining).toBe(100_000 - 3)
})

it('a busy subject is leased, which is reported as an event', async () => {
  const { events, busy } = world()
  await busy(leased, 900)
  expect(events.length).toBeGreaterThan(0)
  expect(new Set(events.map(({ kind }) => kind))).toEqual(new Set(['lease']))
})

it('a strict subject whose item is throttled is leased, which is reported as an event', async () => {
  const { store, events, busy } = world()
  jest.spyOn(store, 'write').mockRejectedValueOnce(new StoreUnavailableError('hot-key', 'too many writes'))
  await busy(strict, 1)
  expect(events).toEqual([{ kind: 'hot-key' }])
})

describe('close', () => {
  it('returns leases and syncs eventual counts', async () => {
    const { strategies, busy, used } = world()
    await busy([...leased, ...eventual], 900)
    expect((await used(leased))[0]).toBeGreaterThan(900)
    expect((await used(eventual))[0]).toBeLessThan(900)
    await strategies.close()
    expect([await used(leased), await used(eventual)]).toEqual([[900], [900]])
  })
})

describe('a reset', () => {
  it('clears the memory of each consistency', async () => {
    const { strategies, busy, used, store, items } = world()
    await busy([...leased, ...eventual], 900)
    const before = [await used(leased), await used(eventual)]
    await items.subjects.forget('k')
    await strategies.close()
    expect([await used(leased), await used(eventual)]).toEqual(before)
    jest.spyOn(store, 'write').mockRejectedValueOnce(new StoreUnavailableError('hot-key', 'too many writes'))
    await busy(strict, 1)
    await items.subjects.forget('k')
    const { writes } = store
    await busy(strict, 20)
    expect(store.writes).toBe(writes + 20) // no longer hot
  })

  it('forgets a subject once nothing of it is under way', async () => {
    const one = world()
    await one.busy(eventual, 1)
    await settled()
    const { arrive } = holdNextWrite(one.store)
    one.now += 1000
    await one.busy(eventual, 1) // its sync is under way
    let forgotten = false
    const forgetting = one.items.subjects.forget('k').then(() => {
      forgotten = true
    })
    await settled()
    expect(forgotten).toBe(false)
    arrive()
    await forgetting
  })
})

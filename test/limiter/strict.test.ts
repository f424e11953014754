import type { Verdicts } from '../../limiter/algorithms/algorithm'
import type { Leased } from '../../limiter/consistency/leased'
import type { PoolsSeen } from '../../limiter/consistency/pool-plans'
import { Strict } from '../../limiter/consistency/strict'
import type { WriteCoalescer } from '../../limiter/consistency/write-coalescer'
import type { Decider } from '../../limiter/decider'
import { StoreUnavailableError } from '../../limiter/errors'
import { Lazy } from '../../limiter/lazy'
import type { LimiterEvent } from '../../limiter/options'
import type { ChargeTime } from '../../limiter/request'
import { Subjects } from '../../limiter/subject'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

const policies = compiled({ name: 'p', algorithm: 'fixed-window', limit: 1000, window: '1m' })
const unleasable = compiled({ name: 'queue', algorithm: 'leaky-bucket', mode: 'queue', limit: 10, window: '1s' })
const CHARGED: ChargeTime = { at: MIDNIGHT }

afterEach(() => jest.restoreAllMocks())

/** Which strategy is asked, and a store that throttles an item. */
function world(random = 0.5) {
  jest.spyOn(Math, 'random').mockReturnValue(random)
  const world = {
    now: MIDNIGHT,
    asked: [] as string[],
    events: [] as LimiterEvent[],
    error: undefined as Error | undefined,
    verdicts: [] as Verdicts,
    pools: 'none' as PoolsSeen,
  }
  const say = (name: string) => () => {
    world.asked.push(name)
    return name as never
  }
  const part = (name: string) => ({
    cachedDenial: say(`${name} cached denial`),
    giveBack: say(`${name} back`),
    standing: say(`${name} standing`),
  })
  const subjects = new Subjects(1000, () => world.now)
  const items = {
    ...part('items'),
    now: () => world.now,
    peek: say('items peek'),
    refund: say('items back'),
    standing: () => {
      world.asked.push('items standing')
      return world.verdicts
    },
    subjects,
  }
  const writes = {
    async take() {
      world.asked.push('write')
      if (world.error) throw world.error
      return world.verdicts
    },
  }
  const leases = { ...part('lease'), take: say('lease'), peek: say('lease peek'), poolsFor: () => world.pools }
  const told = (event: LimiterEvent) => world.events.push(event)
  const strict = new Strict(
    items as unknown as Decider,
    writes as unknown as WriteCoalescer,
    new Lazy(async () => leases as unknown as Leased),
    told,
  )
  const take = async (key = 'k', of = policies) => {
    world.asked.length = 0
    await strict.take({ key, policies: of, cost: 1 })
    return [...world.asked]
  }
  const heat = async (key = 'k') => {
    world.error = new StoreUnavailableError('hot-key', 'too many writes')
    await take(key)
    world.error = undefined
  }
  return Object.assign(world, { subjects, strict, take, heat })
}

describe('a subject whose item is throttled', () => {
  it('is leased at once, which is reported as an event', async () => {
    const world_ = world()
    expect(await world_.take()).toEqual(['write'])
    world_.error = new StoreUnavailableError('hot-key', 'too many writes')
    expect(await world_.take()).toEqual(['write', 'lease'])
    expect(world_.events).toEqual([{ kind: 'hot-key' }])
    expect(await world_.take()).toEqual(['lease'])
    expect(world_.events).toHaveLength(1)
  })

  it('has all requests decided by its lease meanwhile, including peeks', async () => {
    const { strict, asked, heat } = world()
    const all = () => {
      asked.length = 0
      strict.cachedDenial({ key: 'k', policies, cost: 1 })
      void strict.peek({ key: 'k', policies, cost: 1 })
      void strict.giveBack({ key: 'k', policies, cost: 1 }, CHARGED)
      strict.standing({ key: 'k', policies })
      return [...asked]
    }
    expect(all()).toEqual(['items cached denial', 'items peek', 'items back', 'items standing'])
    await heat()
    expect(all()).toEqual(['lease cached denial', 'lease peek', 'lease back', 'lease standing'])
  })

  it.each([
    [0, 45_000],
    [0.5, 67_500],
    [0.999, 89_955],
  ])('is leased for a random time of 45 to 90 seconds: %f', async (random, ms) => {
    const world_ = world(random)
    await world_.heat()
    world_.now += ms - 1
    expect(await world_.take()).toEqual(['lease'])
    world_.now += 1
    expect(await world_.take()).toEqual(['write'])
  })

  it('is leased for as long as its pools are busy', async () => {
    const world_ = world()
    await world_.heat()
    world_.now += 90_000
    world_.pools = 'busy'
    expect(await world_.take()).toEqual(['lease'])
    world_.pools = 'quiet'
    expect(await world_.take()).toEqual(['items standing', 'write'])
  })

  it('is leased where its item has no units, and its pools may have some', async () => {
    const world_ = world()
    await world_.heat()
    world_.now += 90_000
    world_.pools = 'quiet'
    world_.verdicts = [{ allowed: true, remaining: 1, resetAfterMs: 1000, retryAfterMs: 0 }]
    expect(await world_.take()).toEqual(['items standing', 'write'])
    world_.verdicts = [{ allowed: true, remaining: 0, resetAfterMs: 1000, retryAfterMs: 0 }]
    expect(await world_.take()).toEqual(['items standing', 'lease'])
    world_.pools = 'none'
    expect(await world_.take()).toEqual(['write'])
    world_.pools = 'quiet'
    expect(await world_.take('k', unleasable)).toEqual(['write'])
  })

  it('is no longer leased if the clock was set back', async () => {
    const world_ = world()
    await world_.heat()
    world_.now -= 22_500
    expect(await world_.take()).toEqual(['lease'])
    world_.now -= 1
    expect(await world_.take()).toEqual(['write'])
  })

  it('is leased only for the policies that can be leased', async () => {
    const world_ = world()
    await world_.heat()
    expect(await world_.take('k', unleasable)).toEqual(['write'])
    expect(await world_.take('k', [...policies, ...unleasable])).toEqual(['write'])
    expect(await world_.take('k', policies)).toEqual(['lease'])
  })

  it('is not leased if a policy cannot be', async () => {
    const world_ = world()
    world_.error = new StoreUnavailableError('hot-key', 'too many writes')
    await expect(world_.take('k', [...policies, ...unleasable])).rejects.toBe(world_.error)
    expect([world_.asked, world_.events]).toEqual([['write'], []])
  })

  it('affects no other subject, and is strict again after a reset', async () => {
    const world_ = world()
    await world_.heat()
    expect(await world_.take('other')).toEqual(['write'])
    expect(await world_.take('k')).toEqual(['lease'])
    await world_.subjects.forget('k')
    expect(await world_.take('k')).toEqual(['write'])
  })

  it('is remembered among those that are', async () => {
    const world_ = world()
    for (let i = 0; i < 1000; i++) await world_.heat(`k${i}`)
    expect([await world_.take('k0'), await world_.take('k999')]).toEqual([['lease'], ['lease']])
    await world_.heat('k1000')
    expect([await world_.take('k1'), await world_.take('k1000')]).toEqual([['write'], ['lease']])
  })
})

it.each([
  ['of the store', new StoreUnavailableError('throttled', 'the table is busy')],
  ['of the program', new TypeError('no function')],
])('a failure other than a hot key leases nothing: %s', async (_, error) => {
  const world_ = world()
  world_.error = error
  await expect(world_.take()).rejects.toBe(error)
  expect([world_.asked, world_.events]).toEqual([['write'], []])
})

import type { Fields } from '../../limiter/algorithms/conditional-write'
import type { CompiledPolicy } from '../../limiter/compiled-policy'
import { Fallback } from '../../limiter/consistency/fallback'
import type { LateCharges } from '../../limiter/consistency/late-charges'
import type { Decider } from '../../limiter/decider'
import { StoreUnavailableError } from '../../limiter/errors'
import type { FailureMode } from '../../limiter/options'
import type { Subject } from '../../limiter/request'
import { NO_ITEM } from '../../limiter/stores/store'
import { Subjects } from '../../limiter/subject'
import { MIDNIGHT } from './limiters'
import { chargedFields, compiled } from './policies'

const hourly = (limit: number, name = 'all', more: object = {}) => ({
  name,
  algorithm: 'fixed-window' as const,
  limit,
  window: '1h',
  ...more,
})
const all = compiled(hourly(100))
const T = MIDNIGHT + 1000
const HOUR = 3_600_000

/** An instance without its store, what it last saw there, and what it sends later. */
function world(maxSubjects = 1000) {
  const world = { now: T, error: undefined as Error | undefined }
  const seen = new Map<string, Fields>()
  const seenAt = new Map<string, number>()
  const told: { key: string; units: number[]; codes: string[] }[] = []
  let ids = 0
  const subjects = new Subjects(maxSubjects, () => world.now)
  const items = {
    now: () => world.now,
    nextId: () => ({ mark: 'r0', value: ++ids }),
    subjects,
    async chargeLate(key: string, { charges }: LateCharges) {
      told.push({ key, units: charges.map(({ units }) => units), codes: charges.map(({ policy }) => policy.prefix) })
      if (world.error) throw world.error
      return true
    },
  } as unknown as Decider
  const lastSeen = ({ key, policies }: Subject) => policies.map(({ prefix }) => seen.get(`${key} ${prefix}`))
  const fallback = new Fallback(items, lastSeen)
  const charge = (key: string, cost = 1, policies: readonly CompiledPolicy[] = all) => ({ key, policies, cost })
  const take = (
    cost = 1,
    {
      key = 'k',
      share = 1,
      policies = all,
    }: { key?: string; share?: number; policies?: readonly CompiledPolicy[] } = {},
  ) => fallback.decide([charge(key, cost, policies)], 'local', share)
  const left = (options: Parameters<typeof take>[1] = {}) => take(0, options).remaining
  const tell = async (...keys: string[]) => {
    for (const key of keys) if (seenAt.has(key)) subjects.learn(key, NO_ITEM, seenAt.get(key)!)
    const flushing = fallback.flush(keys.map((key) => charge(key)))
    await flushing
    return flushing !== undefined
  }
  return Object.assign(world, { fallback, subjects, seen, seenAt, told, charge, take, left, tell })
}
const see = (one: ReturnType<typeof world>, used: number, [policy] = all, key = 'k') =>
  one.seen.set(`${key} ${policy!.prefix}`, chargedFields(policy!, used, T))

describe('a decision without the store', () => {
  const decide = (mode: Exclude<FailureMode, 'throw'>, cost: number, policies = all) =>
    world().fallback.decide([{ key: 'k', policies, cost }], mode, 1)

  it('in failure mode allow allows every request, as if it were the first', () => {
    for (let i = 0; i < 3; i++)
      expect(decide('allow', 1)).toMatchObject({
        allowed: true,
        remaining: 99,
        degraded: true,
        retryAfterMs: 0,
        chargedAt: null,
      })
    expect(decide('allow', 500)).toMatchObject({ allowed: true, retryAfterMs: 0 })
  })

  it('in failure mode deny denies every request, with a retry time of a second', () => {
    expect(decide('deny', 1)).toMatchObject({ allowed: false, remaining: 100, degraded: true, retryAfterMs: 1000 })
    expect(decide('deny', 500)).toMatchObject({ allowed: false, retryAfterMs: 1000 })
  })

  it('in failure mode deny allows what only an observing policy limits', () => {
    const watched = compiled(hourly(1, 'watched', { action: 'observe' }))
    expect(decide('deny', 5, watched)).toMatchObject({ allowed: true, retryAfterMs: 0 })
    expect(decide('deny', 5, [...watched, ...all])).toMatchObject({
      allowed: false,
      policies: { watched: { allowed: true }, all: { allowed: false } },
    })
  })
})

describe('a local count', () => {
  it('admits the share of this instance, and reports when it was charged', () => {
    const one = world()
    expect(one.take(20, { share: 0.25 })).toMatchObject({
      allowed: true,
      degraded: true,
      remaining: 5,
      chargedAt: T,
      limit: 100,
    })
    expect(one.take(6, { share: 0.25 })).toMatchObject({
      allowed: false,
      degraded: true,
      remaining: 5,
      chargedAt: null,
    })
    expect(one.take(5, { share: 0.25 })).toMatchObject({ allowed: true, remaining: 0 })
    expect(one.take(0, { share: 0.25 })).toMatchObject({ chargedAt: null })
  })

  it('admits the whole limit with a share of 1, and follows a changed share', () => {
    const one = world()
    expect(one.left()).toBe(100)
    expect(one.take(10, { share: 0.5 })).toMatchObject({ allowed: true })
    expect([one.left({ share: 0.5 }), one.left({ share: 0.2 }), one.left({ share: 0.5 })]).toEqual([40, 10, 40])
  })

  it('computes a share of policies once, until the share changes, and none for the whole limit', () => {
    const policies = compiled(hourly(100, 'shared'))
    const shareOf = jest.spyOn(policies[0]!, 'shareOf')
    const one = world()
    const computed = [1, 0.5, 0.5, 0.2, 0.2].map((share) => {
      one.take(1, { share, policies })
      return shareOf.mock.calls.length
    })
    expect(computed).toEqual([0, 1, 1, 2, 2])
  })

  it('begins with its share of what was left at the last view of the store', () => {
    for (const [used, share, left] of [
      [0, 0.25, 25],
      [60, 0.25, 10],
      [99, 0.25, 1], // at least one unit as long as there is one
      [100, 0.25, 0],
      [60, 1, 40],
    ] as const) {
      const one = world()
      see(one, used)
      expect([used, one.left({ share })]).toEqual([used, left])
    }
  })

  it('is raised to a higher use that is seen later, and never lowered', () => {
    const one = world()
    one.take(30)
    see(one, 10)
    expect(one.left()).toBe(70)
    see(one, 90)
    expect(one.left()).toBe(10)
    one.seen.clear()
    expect(one.left()).toBe(10)
  })

  it('is whole again when its window is over', () => {
    const one = world()
    one.take(100)
    expect(one.take()).toMatchObject({ allowed: false, retryAfterMs: HOUR - 1000 })
    one.now = MIDNIGHT + HOUR
    expect(one.left()).toBe(100)
  })

  it('gives a finite retry time to a cost above the share, and an infinite one to a cost above the limit', () => {
    const one = world()
    expect(one.take(50, { share: 0.25 })).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    expect(one.take(100, { share: 0.25 })).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    expect(one.take(101, { share: 0.25 })).toMatchObject({ allowed: false, retryAfterMs: Infinity })
  })

  it('records denials where a policy counts them', () => {
    const log = compiled({ name: 'log', algorithm: 'sliding-log', limit: 2, window: '10s', countDenied: true })
    const one = world()
    const allowed = [0, 1, 2, 3].map(() => {
      one.now += 4000
      return one.take(1, { policies: log }).allowed
    })
    expect(allowed).toEqual([true, true, false, false])
  })
})

describe('a request over several subjects without the store', () => {
  it('charges all of them or none', () => {
    const one = world()
    const own = compiled(hourly(5, 'own'))
    const both = (cost: number) => one.fallback.decide([one.charge('a', cost), one.charge('b', cost, own)], 'local', 1)
    expect(both(3)).toMatchObject({ allowed: true, policies: { all: { remaining: 97 }, own: { remaining: 2 } } })
    expect(both(3)).toMatchObject({
      allowed: false,
      policy: 'own',
      policies: { all: { remaining: 97 }, own: { remaining: 2 } },
    })
    expect([one.left({ key: 'a' }), one.left({ key: 'b', policies: own })]).toEqual([97, 2])
  })

  it('reports that its retry time is a lower bound if not all subjects were asked', () => {
    const one = world()
    const take = (...costs: number[]) =>
      one.fallback.decide(
        costs.map((cost, i) => one.charge(`s${i}`, cost)),
        'local',
        1,
      ).retryAfterIsLowerBound
    expect([take(101, 1), take(1, 101), take(101)]).toEqual([true, false, false])
  })

  it('charges a subject twice that is listed twice', () => {
    const one = world()
    expect(one.fallback.decide([one.charge('a', 60), one.charge('a', 60)], 'local', 1).allowed).toBe(false)
    expect(one.fallback.decide([one.charge('a', 40), one.charge('a', 50)], 'local', 1)).toMatchObject({
      allowed: true,
      remaining: 10,
    })
    expect(one.left({ key: 'a' })).toBe(10)
  })
})

describe('units admitted without the store', () => {
  it('are sent once the store has answered for the subject since', async () => {
    const one = world()
    one.take(5)
    one.now += 10
    one.take(6)
    expect(await one.tell('k')).toBe(false) // the store has not answered yet
    one.seenAt.set('k', one.now - 1)
    expect(await one.tell('k')).toBe(false) // answered before the last unit
    one.seenAt.set('k', one.now)
    expect([await one.tell('k'), one.told]).toEqual([true, [{ key: 'k', units: [11], codes: [all[0]!.prefix] }]])
    expect(await one.tell('k')).toBe(false)
  })

  it('are none for a peek, a denial or another subject', async () => {
    const one = world()
    one.take(0)
    one.take(101)
    one.take(1, { key: 'other' })
    for (const key of ['k', 'other']) one.seenAt.set(key, one.now)
    expect(await one.tell('k')).toBe(false)
    expect(await world().tell('k')).toBe(false)
  })

  it('are sent again at most once a second if the store does not answer', async () => {
    const one = world()
    one.take(5)
    one.error = new StoreUnavailableError('timeout', 'lost')
    const tellings = []
    for (const ms of [0, 999, 1, 1000, -999, -1]) {
      one.now += ms
      one.seenAt.set('k', one.now + 10_000)
      tellings.push(await one.tell('k'))
    }
    expect(tellings).toEqual([true, false, true, true, false, true])
    expect(one.told.every(({ units }) => units[0] === 5)).toBe(true)
  })

  it('are sent for each subject of a request', async () => {
    const one = world()
    for (const key of ['a', 'b', 'c']) {
      one.take(2, { key })
      one.seenAt.set(key, one.now)
    }
    expect([await one.tell('a', 'b'), one.told.map(({ key }) => key)]).toEqual([true, ['a', 'b']])
  })

  it('are sent on close, as far as the store answers', async () => {
    const one = world()
    one.take(2, { key: 'a' })
    one.take(3, { key: 'b' })
    await one.fallback.close()
    expect(one.told.map(({ units }) => units)).toEqual([[2], [3]])
    one.take(1, { key: 'a' })
    one.error = new StoreUnavailableError('unreachable', 'away')
    await one.fallback.close()
    one.error = new TypeError('no function')
    await expect(one.fallback.close()).rejects.toThrow(TypeError)
  })

  it('are dropped by a reset', async () => {
    const one = world()
    one.take(60)
    await one.subjects.forget('k')
    expect(one.left()).toBe(100)
    await one.fallback.close()
    expect(one.told).toEqual([])
  })
})

describe('a refund of units admitted without the store', () => {
  const giveBack = (one: ReturnType<typeof world>, units: number, at: number) =>
    one.fallback.giveBack(one.charge('k', units), { at })

  it('takes units that were not sent yet', async () => {
    const one = world()
    one.take(10)
    expect([giveBack(one, 4, T), one.left()]).toEqual([4, 94])
    expect([giveBack(one, 9, T), one.left()]).toEqual([6, 100])
    expect(giveBack(one, 1, T)).toBe(0)
    await one.fallback.close()
    expect(one.told).toEqual([])
  })

  it('takes none that were charged before the outage, after it, or sent already', async () => {
    const one = world()
    one.take(10)
    one.now += 50
    one.take(1)
    expect([giveBack(one, 1, T - 1), giveBack(one, 1, T + 51), one.left()]).toEqual([0, 0, 89])
    expect([giveBack(one, 1, T), giveBack(one, 1, T + 50), one.left()]).toEqual([1, 1, 91])
    await one.fallback.close()
    one.now += 50
    one.take(1)
    expect(giveBack(one, 1, T)).toBe(0)
    expect(giveBack(one, 1, T + 100)).toBe(1)
    expect(one.fallback.giveBack(one.charge('unseen'), { at: T })).toBe(0)
  })
})

it('a refund takes no units without the store from a policy that was not counted here', () => {
  const one = world()
  one.take(10)
  const other = compiled(hourly(100, 'other'))
  expect(one.fallback.giveBack(one.charge('k', 1, other), { at: T })).toBe(0)
  expect(one.fallback.giveBack(one.charge('k', 1, [...all, ...other]), { at: T })).toBe(0)
  expect(one.left()).toBe(90)
})

describe('the subjects of the local counts', () => {
  it('are evicted for others, and return with what they had used until it is whole again', () => {
    const one = world(2)
    one.take(40, { key: 'a' })
    for (const key of ['b', 'c', 'd']) one.take(1, { key })
    expect(one.left({ key: 'a' })).toBe(60)
    const later = world(2)
    later.take(40, { key: 'a' })
    for (const key of ['b', 'c']) later.take(1, { key })
    later.now = MIDNIGHT + HOUR
    expect(later.left({ key: 'a' })).toBe(100)
  })

  it('that were used last are kept, with what was not sent', async () => {
    const one = world(2)
    for (const key of ['a', 'b', 'a', 'c']) one.take(1, { key })
    await one.fallback.close()
    expect(one.told.map(({ key, units }) => [key, ...units])).toEqual([
      ['a', 2],
      ['c', 1],
    ])
  })

  it('are dropped after their windows, unless they have units to send', async () => {
    const one = world()
    const isKept = () => one.subjects.get('k')!.outage !== undefined
    one.take(1)
    await one.tell('k')
    expect(isKept()).toBe(true)
    await one.fallback.close()
    await one.tell('k')
    expect(isKept()).toBe(true) // its window still counts
    one.now = MIDNIGHT + HOUR
    await one.tell('k')
    expect(isKept()).toBe(false)
  })

  it('are kept until the longest of their windows is over', async () => {
    const one = world()
    const both = compiled(hourly(100), hourly(100, 'minute', { window: '1m' }))
    one.take(60, { policies: both })
    await one.fallback.close()
    one.now = MIDNIGHT + 60_000
    await one.tell('k')
    expect([one.left(), one.left({ policies: both.slice(1) })]).toEqual([40, 100])
  })
})

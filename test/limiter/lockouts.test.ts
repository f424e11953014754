import { type LimiterOptions, MemoryStore, type PolicyInput } from '../../limiter'
import { compile } from '../../limiter/compiled-policy'
import { StoreUnavailableError } from '../../limiter/errors'
import { parsePolicies } from '../../limiter/policies/parse-policies'
import type { Policy } from '../../limiter/policies/policy'
import { observing } from '../../limiter/policies/variants'
import { RateLimiter } from '../../limiter/rate-limiter'
import { subjectKey } from '../../limiter/subject-key'
import { Fleet } from './fleet'
import { everyAlgorithm, MIDNIGHT } from './limiters'
import { compiled } from './policies'
import { world } from './two-processes'

const login: PolicyInput = { name: 'login', algorithm: 'fixed-window', limit: 5, window: '1m', blockFor: '15m' }
const FOR_MS = 900_000

function fleetOf(size: number, policies: readonly PolicyInput[] = [login], more: Partial<LimiterOptions> = {}) {
  const fleet = new Fleet(policies, size, more)
  const take = (i: number, cost = 1, subject = 'a') => fleet.instances[i]!.limiter.take(subject, { cost })
  const calls = () => {
    const told = [fleet.store.writes, fleet.store.reads]
    fleet.store.writes = fleet.store.reads = 0
    return told
  }
  return { fleet, take, calls }
}

function away(fleet: Fleet): () => void {
  const fail = () => Promise.reject(new StoreUnavailableError('unreachable', 'away'))
  const spies = (['write', 'read'] as const).map((call) => jest.spyOn(fleet.store, call).mockImplementation(fail))
  return () => {
    for (const spy of spies) spy.mockRestore()
  }
}

afterEach(() => jest.restoreAllMocks())

describe('a lock-out', () => {
  it('costs one write to start, nothing on the instance that knows, and one look on another', async () => {
    const { fleet, take, calls } = fleetOf(3)
    await take(0, 5)
    calls()
    expect(await take(0)).toMatchObject({ allowed: false, lockedOut: true, retryAfterMs: FOR_MS, policy: 'login' })
    expect(calls()).toEqual([1, 0])
    for (let i = 0; i < 10; i++) expect(await take(0)).toMatchObject({ lockedOut: true })
    expect(calls()).toEqual([0, 0])
    fleet.now += 60_000
    for (let i = 0; i < 10; i++) expect(await take(1)).toMatchObject({ allowed: false, retryAfterMs: FOR_MS - 60_000 })
    expect(calls()).toEqual([1, 0])
    fleet.now += FOR_MS - 60_001
    expect(await take(2)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    fleet.now += 1
    expect(await take(1)).toMatchObject({ allowed: true, remaining: 4 })
  })

  it('is written down once by many instances that deny at once, and all tell the same end', async () => {
    const { fleet, take, calls } = fleetOf(20)
    for (let i = 0; i < 20; i++) await take(i, 0)
    await take(0, 5)
    calls()
    fleet.now += 1000
    const denied = await Promise.all(fleet.instances.map(async (_, i) => take(i)))
    expect(denied.map(({ lockedOut, retryAfterMs }) => [lockedOut, retryAfterMs])).toEqual(
      Array(20).fill([true, FOR_MS]),
    )
    fleet.now += 59_000
    const later = await Promise.all(fleet.instances.map(async (_, i) => take(i)))
    expect(later.map(({ retryAfterMs }) => retryAfterMs)).toEqual(Array(20).fill(FOR_MS - 59_000))
  })

  it('of several denials counts those of all instances', async () => {
    const { fleet, take } = fleetOf(4, [{ ...login, after: 7 }])
    await take(0, 5)
    const denied = await Promise.all(Array.from({ length: 8 }, (_, i) => take(i % 4)))
    expect(denied.filter(({ lockedOut }) => lockedOut)).toHaveLength(2)
    fleet.now += 60_000
    expect((await take(3)).lockedOut).toBe(true)
  })

  it('holds for a stale instance that has seen room', async () => {
    const { fleet, take } = fleetOf(2)
    await take(1)
    fleet.now += 60_000
    await take(0, 5)
    await take(0)
    fleet.now += 60_000
    expect(await take(1)).toMatchObject({ allowed: false, lockedOut: true })
  })

  it('ends by a reset, and no denial of before starts another one', async () => {
    const { fleet, take } = fleetOf(3)
    await take(0, 5)
    await fleet.instances[1]!.limiter.peek('a') // remembers a limit that is used up
    await fleet.instances[2]!.limiter.reset('a')
    expect(await take(1)).toMatchObject({ allowed: true })
    await take(0, 4)
    expect((await take(0)).lockedOut).toBe(true)
    await fleet.instances[2]!.limiter.reset('a')
    expect(await take(2)).toMatchObject({ allowed: true, remaining: 4 })
    fleet.now += 5001 // denialTtlMs
    expect(await take(0)).toMatchObject({ allowed: true, remaining: 3 })
  })

  it('does not start where units were given back that the denying instance has not seen', async () => {
    const { fleet, take } = fleetOf(2)
    const { chargedAt } = await take(0, 5)
    await fleet.instances[1]!.limiter.peek('a')
    await fleet.instances[0]!.limiter.refund('a', 2, { chargedAt })
    expect(await take(1, 2)).toMatchObject({ allowed: true })
    expect((await take(1)).lockedOut).toBe(true)
  })

  it('does not end by a refund', async () => {
    const { fleet, take } = fleetOf(2)
    const { chargedAt } = await take(0, 5)
    await take(0)
    await fleet.instances[1]!.limiter.refund('a', 5, { chargedAt })
    for (const i of [0, 1]) expect(await take(i)).toMatchObject({ allowed: false, lockedOut: true, remaining: 0 })
  })

  it('is shown by a peek, which starts none and counts nothing', async () => {
    const { fleet, take, calls } = fleetOf(1, [{ ...login, after: 2 }])
    const [{ limiter }] = fleet.instances as [Fleet['instances'][0]]
    await take(0, 5)
    calls()
    for (let i = 0; i < 3; i++) expect((await limiter.peek('a')).lockedOut).toBeUndefined()
    expect((await take(0)).lockedOut).toBeUndefined()
    expect((await limiter.peek('a')).lockedOut).toBe(true) // this request would be the second denial
    expect((await limiter.peek('a', { cost: 0 })).lockedOut).toBeUndefined()
    await take(0)
    expect(await limiter.peek('a', { cost: 0 })).toMatchObject({
      allowed: false,
      lockedOut: true,
      retryAfterMs: FOR_MS,
    })
    expect(calls()).toEqual([2, 6])
  })

  it('is no matter of other subjects, nor of denials by other policies', async () => {
    const { fleet, take } = fleetOf(1, [login, { name: 'hour', algorithm: 'fixed-window', limit: 2, window: '1h' }])
    await take(0, 2)
    expect(await take(0)).toMatchObject({ allowed: false, policy: 'hour', policies: { login: { allowed: true } } })
    expect(await take(0, 5)).toMatchObject({ policy: 'login', lockedOut: true }) // denied by both
    const two = [{ subject: 'b' }, { subject: 'a' }]
    for (let i = 0; i < 7; i++) await fleet.instances[0]!.limiter.takeAll(two)
    expect(await take(0, 1, 'b')).toMatchObject({ allowed: true, policies: { login: { remaining: 4 } } })
  })

  it.each(everyAlgorithm(2))('is one and the same for $name', async (policy) => {
    const { fleet, take } = fleetOf(2, [{ ...policy, blockFor: '3d' }])
    await take(0, 2)
    expect((await take(0)).lockedOut).toBe(true)
    for (const elapsed of [1000, 3_600_000, 48 * 3_600_000]) {
      fleet.now = MIDNIGHT + elapsed
      for (const i of [0, 1]) expect(await take(i)).toMatchObject({ allowed: false, lockedOut: true })
    }
    fleet.now = MIDNIGHT + 72 * 3_600_000
    expect(await take(1)).toMatchObject({ allowed: true })
  })

  it('ends when an instance’s own clock is there: as much sooner or later as clocks differ', async () => {
    const fleet = new Fleet([login], 3, {}, [0, 2000, -2000])
    const take = (i: number) => fleet.instances[i]!.limiter.take('a')
    await fleet.instances[0]!.limiter.take('a', { cost: 5 })
    await take(0)
    fleet.now += FOR_MS - 2001
    expect((await take(1)).lockedOut).toBe(true)
    fleet.now += 1
    expect((await take(0)).lockedOut).toBe(true)
    expect((await take(1)).allowed).toBe(true)
    fleet.now += 3999
    expect((await take(2)).lockedOut).toBe(true)
    fleet.now += 1
    expect((await take(2)).allowed).toBe(true)
  })

  it('outlives its item’s time to live', async () => {
    const one = world(compiled({ ...login, blockFor: '30d' }))
    await one.decide(5)
    await one.decide(1)
    const { expiresAtSeconds } = await one.memory.read('k')
    expect(expiresAtSeconds * 1000).toBeGreaterThanOrEqual(one.now + 30 * 86_400_000 + 3_600_000)
  })

  it('whose write got no answer is written once', async () => {
    const one = world(compiled(login))
    await one.decide(5)
    one.plan.push({ lost: true })
    expect(await one.decide(1)).toMatchObject([[{ lockedOut: true, retryAfterMs: FOR_MS }]])
    expect(Object.values((await one.memory.read('k')).policies)).toMatchObject([{ b: one.now + FOR_MS }])
  })

  it('is not spent from a lease while the subject’s item is throttled', async () => {
    const fleet = new Fleet([login], 1, { onStoreError: 'deny' })
    const [{ limiter, events }] = fleet.instances as [Fleet['instances'][0]]
    await limiter.take('a')
    const hot = () => Promise.reject(new StoreUnavailableError('hot-key', 'hot'))
    const spy = jest.spyOn(fleet.store, 'write').mockImplementation(hot)
    expect(await limiter.take('a')).toMatchObject({ allowed: false, degraded: true })
    spy.mockRestore()
    expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 3 })
    expect(events.filter(({ kind }) => kind === 'lease' || kind === 'hot-key')).toEqual([])
  })
})

describe('without the store, with failure mode local', () => {
  it.each([1, 0.5])('who is known to be locked out stays so, and nobody else is (share %d)', async (localShare) => {
    const { fleet, take } = fleetOf(2, [login], { onStoreError: 'local', localShare, denialTtlMs: 0 })
    await take(0, 5)
    await take(0)
    fleet.now += 61_000
    const back = away(fleet)
    expect(await take(0)).toMatchObject({ allowed: false, degraded: true, lockedOut: true })
    expect((await take(0)).retryAfterMs).toBe(FOR_MS - 61_000)
    for (let i = 0; i < 9; i++) await take(0, 1, 'b')
    expect(await take(0, 1, 'b')).toMatchObject({ allowed: false, degraded: true })
    expect((await take(0, 1, 'b')).lockedOut).toBeUndefined()
    fleet.now += 60_000
    expect(await take(0, 1, 'b')).toMatchObject({ allowed: true, degraded: true })
    fleet.now += FOR_MS
    expect(await take(0)).toMatchObject({ allowed: true, degraded: true })
    back()
  })

  it('nobody is locked out by a policy beside one that locks nobody out', async () => {
    const { fleet, take } = fleetOf(1, [login, { ...login, name: 'plain', blockFor: undefined }], {
      onStoreError: 'local',
    })
    away(fleet)
    for (let i = 0; i < 7; i++) await take(0)
    fleet.now += 60_000
    expect(await take(0)).toMatchObject({ allowed: true, degraded: true })
  })

  it('a reset that the instance has seen ends it', async () => {
    const { fleet, take } = fleetOf(2, [login], { onStoreError: 'local', denialTtlMs: 0 })
    await take(0, 5)
    await take(0)
    const back = away(fleet)
    expect((await take(0)).lockedOut).toBe(true)
    back()
    fleet.now += 60_000 // the circuit breaker tries again
    await fleet.instances[1]!.limiter.reset('a')
    expect(await take(0)).toMatchObject({ allowed: true, degraded: false })
    away(fleet)
    expect(await take(0)).toMatchObject({ allowed: true, degraded: true })
  })

  it('what was admitted meanwhile is charged afterwards, also to who is locked out by then', async () => {
    const { fleet, take } = fleetOf(2, [{ ...login, window: '1h' }], { onStoreError: 'local', localShare: 1 })
    await take(0)
    const back = away(fleet)
    expect(await take(0, 2)).toMatchObject({ allowed: true, degraded: true })
    back()
    await take(1, 4)
    expect((await take(1)).lockedOut).toBe(true)
    fleet.now += 60_000
    expect((await take(0)).lockedOut).toBe(true) // and writes down what it has admitted
    await fleet.instances[0]!.limiter.close()
    fleet.now += FOR_MS
    expect(await take(1)).toMatchObject({ allowed: false, retryAfterMs: FOR_MS + 3_600_000 - 960_000 - FOR_MS })
    expect(await take(1, 0)).toMatchObject({ lockedOut: true })
    const [fields] = Object.values((await fleet.store.read(subjectKey('a'))).policies)
    expect(Object.values(fields ?? {})).toContain(7)
  })
})

describe('policies that lock out', () => {
  it('are decided when fifteen of them are on one subject, beside each other', async () => {
    const policies = Array.from({ length: 15 }, (_, i) => ({
      ...login,
      name: `p${i}`,
      limit: 5 + i,
      after: 1 + (i % 3),
    }))
    const { fleet, take } = fleetOf(1, policies)
    await take(0, 5)
    expect(await take(0)).toMatchObject({ policy: 'p0', lockedOut: true })
    expect(await take(0, 1000)).toMatchObject({ allowed: false })
    fleet.now += FOR_MS
    expect((await take(0)).allowed).toBe(true)
  })

  it('let nobody wait in line, whom they would lock out', async () => {
    const { fleet } = fleetOf(1)
    await expect(fleet.instances[0]!.limiter.waitFor('a')).rejects.toThrow(
      'blockFor does not go with waitFor, which policy "login" would lock out: use take',
    )
    expect(fleet.store.calls).toBe(0)
  })

  it('lock nobody out while all limits only observe', async () => {
    const store = new MemoryStore()
    const [policy] = parsePolicies([login], [], [])
    const decide = (as: Policy, cost = 1) =>
      new RateLimiter({ store, clock: () => MIDNIGHT }).decide([{ key: 'a', policies: [compile(as)], cost }])
    await decide(policy!, 5)
    await decide(policy!)
    const observed = observing(policy!)
    expect(await decide(observed)).toMatchObject({ allowed: true, observed: true })
    expect(observed.counter.recordsDenials).toBe(false)
    expect(await decide(policy!)).toMatchObject({ lockedOut: true })
  })

  it('keep the end that was told when blockFor is changed, and forget it when blockFor is removed', async () => {
    const { fleet, take } = fleetOf(1)
    await take(0, 5)
    await take(0)
    fleet.now += 60_000
    const other = (more: object) => {
      const policies = parsePolicies([{ ...login, ...more }], [], []).map((policy) => compile(policy))
      return new RateLimiter({ store: fleet.store, clock: () => fleet.now }).decide([
        { key: subjectKey('a'), policies, cost: 1 },
      ])
    }
    for (const blockFor of ['1m', '1h'])
      expect(await other({ blockFor })).toMatchObject({ lockedOut: true, retryAfterMs: FOR_MS - 60_000 })
    expect(await other({ blockFor: undefined })).toMatchObject({ allowed: true, remaining: 4 })
    expect(await other({})).toMatchObject({ lockedOut: true })
  })
})

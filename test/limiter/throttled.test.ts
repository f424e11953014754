import { simulateOneCaller } from '../../bench/scale/one-caller'
import { type Limiter, type LimiterOptions, MemoryStore, type PolicyInput, StoreUnavailableError } from '../../limiter'
import type { Item, ItemWrite, WriteOutcome } from '../../limiter/stores/store'
import { limiterOn, MIDNIGHT, TestClock } from './limiters'

const own: PolicyInput = { name: 'own', limit: 3, window: '1s', algorithm: 'fixed-window' }

/** A store that throttles the caller's item when it is told to. */
class Throttling extends MemoryStore {
  throttles = { write: false, read: false }
  /** Writes by their number. */
  throttledCalls: readonly number[] = []
  readonly calls: string[] = []

  private get writes(): number {
    return this.calls.filter((call) => call === 'write').length
  }

  override async write(key: string, write: ItemWrite): Promise<WriteOutcome> {
    this.call('write')
    return super.write(key, write)
  }

  override async read(key: string): Promise<Item> {
    this.call('read')
    return super.read(key)
  }

  private call(kind: 'write' | 'read'): void {
    this.calls.push(kind)
    const isThrottled = this.throttles[kind] || (kind === 'write' && this.throttledCalls.includes(this.writes))
    if (isThrottled) throw new StoreUnavailableError('hot-key', 'too many calls')
  }
}

/** Two instances, of which one has used up the caller's limit. */
async function world(policies: readonly PolicyInput[] = [own], options: Partial<LimiterOptions> = {}) {
  const clock = new TestClock()
  const store = new Throttling()
  const limiter = () => limiterOn(store, clock, policies, { onStoreError: 'throw', ...options })
  const [one, other] = [limiter(), limiter()]
  await one.peek('warm') // its code is loaded
  const useUp = async () => {
    while ((await other.take('caller')).allowed);
  }
  await useUp()
  store.calls.length = 0
  return { clock, store, one, other, useUp }
}

/** Has an instance lose what becomes free at the next windows to another. */
async function loses({ clock, one, useUp }: Awaited<ReturnType<typeof world>>, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await one.take('caller')
    clock.at = Math.floor(clock.at / 1000) * 1000 + 1000
    await useUp()
  }
  await one.take('caller')
}

const hot = expect.objectContaining({ reason: 'hot-key' })

describe('a caller whose item gets more writes than it takes', () => {
  it('is denied by what is read, exactly, and held back from then on', async () => {
    const { clock, store, one } = await world()
    store.throttles.write = true
    expect(await one.take('caller')).toMatchObject({ allowed: false, degraded: false, remaining: 0 })
    expect(store.calls).toEqual(['write', 'read'])
    clock.at = MIDNIGHT + 1000
    const denial = await one.take('caller')
    expect(denial).toMatchObject({ allowed: false, degraded: false })
    expect(denial.retryAfterMs).toBeLessThan(1000)
    expect(store.calls).toHaveLength(2)
    clock.at += denial.retryAfterMs
    store.throttles.write = false
    expect(await one.take('caller')).toMatchObject({ allowed: true, degraded: false })
  })

  it('is written for where there is room, and left to the failure mode if that is throttled, too', async () => {
    const { clock, store, one } = await world()
    clock.at = MIDNIGHT + 1000
    store.throttles.write = true
    await expect(one.take('caller')).rejects.toEqual(hot)
    expect(store.calls).toEqual(['write', 'read', 'write'])
    const local = limiterOn(store, clock, [own], { onStoreError: 'local' })
    expect(await local.take('caller')).toMatchObject({ allowed: true, degraded: true })
  })

  it('is left to the failure mode where nothing can be read, and nobody was found to compete', async () => {
    const { store, one } = await world()
    store.throttles = { write: true, read: true }
    await expect(one.take('caller')).rejects.toEqual(hot)
    expect(store.calls).toEqual(['write', 'read'])
  })

  it('is held back again by an instance that lost to others and cannot ask, until its view is too old', async () => {
    const known = await world()
    const { clock, store, one } = known
    await loses(known, 4)
    const seenAt = clock.at
    store.throttles = { write: true, read: true }
    const waits: number[] = []
    for (;;) {
      const denial = await one.take('caller').catch((error: unknown) => error as StoreUnavailableError)
      if (denial instanceof StoreUnavailableError) break
      expect(denial).toMatchObject({ allowed: false, degraded: false })
      waits.push(denial.retryAfterMs)
      clock.at += denial.retryAfterMs
    }
    expect(clock.at).toBe(seenAt + 5000) // as long as a denial is trusted
    expect(waits.length).toBeLessThan(6)
    store.throttles = { write: false, read: false }
    expect(await one.take('caller')).toMatchObject({ allowed: true, degraded: false })
  })

  it.each<[string, (limiter: Limiter) => Promise<unknown>]>([
    ['waits for its turn', (limiter) => limiter.waitFor('caller', { maxWaitMs: 5000 })],
    ['reserves', (limiter) => limiter.take('caller', { reserve: '1m' })],
  ])('is never held back where it %s', async (_, ask) => {
    const known = await world()
    const { clock, store, one } = known
    await loses(known, 4)
    clock.at = Math.floor(clock.at / 1000) * 1000 + 1000
    store.throttles = { write: true, read: true }
    await expect(ask(one)).rejects.toEqual(hot)
  })

  it('is asked for where it takes less than what was refused', async () => {
    const known = await world([{ ...own, limit: 6 }])
    const { clock, store, one, other } = known
    for (let i = 0; i < 4; i++) {
      await one.take('caller', { cost: 3 })
      clock.at = Math.floor(clock.at / 1000) * 1000 + 1000
      await other.take('caller', { cost: 5 })
    }
    await one.take('caller', { cost: 3 })
    store.throttles = { write: true, read: true }
    expect(await one.take('caller', { cost: 3 })).toMatchObject({ allowed: false, degraded: false })
    await expect(one.take('caller', { cost: 1 })).rejects.toEqual(hot)
  })

  it('is held back for no longer where the item is read and has room: then the failure mode decides', async () => {
    const { clock, store, one } = await world()
    store.throttles.write = true // since another item of the partition is hot
    let denial = await one.take('caller')
    const deniedAt = clock.at
    for (;;) {
      clock.at += denial.retryAfterMs
      const next = await one.take('caller').catch((error: unknown) => error as StoreUnavailableError)
      if (next instanceof StoreUnavailableError) break
      denial = next
    }
    expect(clock.at - deniedAt).toBeLessThanOrEqual(5000)
    for (let i = 0; i < 30; i++) {
      clock.at += 2000
      await expect(one.take('caller')).rejects.toEqual(hot)
    }
  })

  it('is held back for five seconds at most, however long a denial is trusted', async () => {
    const known = await world([own], { denialTtlMs: 60_000 })
    const { clock, store, one } = known
    await loses(known, 4)
    const deniedAt = clock.at
    store.throttles = { write: true, read: true }
    for (let answer: unknown; !(answer instanceof StoreUnavailableError); ) {
      answer = await one.take('caller').catch((error: unknown) => error)
      if (!(answer instanceof StoreUnavailableError)) clock.at += (answer as { retryAfterMs: number }).retryAfterMs
    }
    expect(clock.at - deniedAt).toBeLessThanOrEqual(5000)
  })

  it('is charged once for each request that is allowed, whichever write of several together is throttled', async () => {
    const delay: PolicyInput = { name: 'turns', algorithm: 'gcra', limit: 10, window: '10s', burst: 2, action: 'delay' }
    for (const throttled of [1, 2, 3, 4]) {
      const { clock, store, other } = await world([delay])
      clock.at += 60_000
      store.calls.length = 0
      store.throttledCalls = [throttled]
      const answers = await Promise.all([1, 2, 3, 4].map(() => other.take('caller').catch(() => undefined)))
      const allowed = answers.filter((answer) => answer?.allowed).length
      store.throttledCalls = []
      const { remaining, resetAfterMs } = await limiterOn(store, clock, [delay]).peek('caller')
      expect({ throttled, remaining, units: Math.round(resetAfterMs / 1000) }).toEqual({
        ...{ throttled, remaining: 0, units: allowed },
      })
    }
  })

  it('is told an end that no smaller request moves', async () => {
    const known = await world([{ ...own, limit: 6 }])
    const { clock, store, one, other } = known
    for (let i = 0; i < 4; i++) {
      await one.take('caller', { cost: 3 })
      clock.at = Math.floor(clock.at / 1000) * 1000 + 1000
      await other.take('caller', { cost: 5 })
    }
    store.throttles.write = true
    const { retryAfterMs } = await one.take('caller', { cost: 3 })
    const end = clock.at + retryAfterMs
    store.throttles = { write: true, read: true }
    for (let i = 0; i < 3; i++) await expect(one.take('caller', { cost: 1 })).rejects.toEqual(hot)
    store.throttles = { write: false, read: false }
    clock.at = end
    expect(await one.take('caller', { cost: 3 })).toMatchObject({ allowed: true, degraded: false })
  })

  it('is not held back once others no longer compete, or after a reset', async () => {
    const known = await world()
    const { clock, store, one } = known
    await loses(known, 4)
    await one.reset('caller')
    expect(await one.take('caller')).toMatchObject({ allowed: true })
    store.throttles = { write: true, read: true }
    clock.at += 1000
    await expect(one.take('caller')).rejects.toEqual(hot)
  })
})

describe('a caller far over its limit whose item takes what one of DynamoDB’s takes', () => {
  it.each([
    ['sliding-window', 0.001],
    ['fixed-window', 0.001],
    ['gcra', 0.15], // a unit is free where most read the item, and cannot be charged
  ] as const)(
    '%s: is denied by the store nearly always, though 1,500 instances are new to it',
    async (algorithm, most) => {
      const policy = { algorithm, limit: 20, window: '1s' } as const
      const load = { instances: 1500, policy, perSecond: 6000, warmUp: 0, measured: 3, isLimited: true }
      const { degraded, requests, admitted } = await simulateOneCaller(load)
      expect(degraded / requests).toBeLessThanOrEqual(most)
      expect(admitted).toBeLessThanOrEqual(20 + 20 / 4)
      expect(admitted).toBeGreaterThan(5)
    },
  )
})

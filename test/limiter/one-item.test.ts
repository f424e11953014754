import type { Decision } from '../../limiter/decision'
import { StoreUnavailableError } from '../../limiter/errors'
import type { LimiterEvent } from '../../limiter/options'
import type { ItemWrite } from '../../limiter/stores/store'
import { CountingStore, limiterOn, TestClock } from './limiters'

const perMinute = { name: 'per-minute', limit: 10, window: '1m' } as const
const watched = { name: 'watched', limit: 5, window: '1m', action: 'observe' } as const

/** A store that rejects writes to some items, as DynamoDB does if an item would become too large. */
class Picky extends CountingStore {
  readonly refuses = new Set<string>()
  readonly sent: ItemWrite[] = []
  private readonly first = new Map<string, string>()

  /** @param key of the subject that was written at this position. */
  refuse(position: number): void {
    this.refuses.add([...this.first.values()][position]!)
  }

  override async write(key: string, write: ItemWrite) {
    this.first.set(key, key)
    if (!this.refuses.has(key)) return super.write(key, write)
    this.writes++
    this.sent.push(write)
    throw new StoreUnavailableError('item', 'Item size to update has exceeded the maximum allowed size')
  }
}

describe('a subject whose item DynamoDB rejects', () => {
  const modes = ['local', 'allow', 'deny'] as const
  for (const onStoreError of modes) {
    it(`is denied and marked as degraded in failure mode ${onStoreError}, and no other subject is`, async () => {
      const store = new Picky()
      const clock = new TestClock()
      const events: LimiterEvent[] = []
      const limiter = limiterOn(store, clock, [perMinute], {
        onStoreError,
        onEvent: (event) => void events.push(event),
      })
      await limiter.take('client:large')
      store.refuse(0)
      for (let i = 0; i < 30; i++) {
        clock.at += 1500
        expect(await limiter.take('client:large')).toMatchObject<Partial<Decision>>({
          allowed: false,
          degraded: true,
          failure: 'item',
          retryAfterMs: 1000,
        })
        expect(await limiter.take(`client:${i}`)).toMatchObject({ allowed: true, degraded: false })
      }
      expect(events.filter(({ kind }) => kind === 'circuit')).toEqual([])
    })
  }

  it('gets an error if the failure mode throws', async () => {
    const store = new Picky()
    const limiter = limiterOn(store, new TestClock(), [perMinute])
    await limiter.take('client:large')
    store.refuse(0)
    await expect(limiter.take('client:large')).rejects.toMatchObject({ reason: 'item' })
  })

  it('is not denied by non-blocking policies', async () => {
    const store = new Picky()
    const limiter = limiterOn(store, new TestClock(), [watched], { onStoreError: 'local' })
    await limiter.take('client:large')
    store.refuse(0)
    expect(await limiter.take('client:large')).toMatchObject({ allowed: true, degraded: true, failure: 'item' })
  })

  it('is written again no sooner than a second later, with a new write made from the stored state', async () => {
    const store = new Picky()
    const clock = new TestClock()
    const pace = { name: 'pace', algorithm: 'gcra', limit: 10, window: '1m' } as const
    const [mine, yours] = [limiterOn(store, clock, [pace], { onStoreError: 'local' }), limiterOn(store, clock, [pace])]
    await mine.take('client:large')
    clock.at += 10_000
    await yours.take('client:large', { cost: 3 })
    store.refuse(0)
    const before = store.calls
    for (let i = 0; i < 10; i++) {
      clock.at += 90
      expect(await mine.take('client:large')).toMatchObject({ allowed: false, failure: 'item' })
    }
    expect([store.sent.length, store.calls - before]).toEqual([1, 2]) // one write and one read
    clock.at += 1000
    await mine.take('client:large')
    const wanted = store.sent.map(({ parts }) => parts[0]!.write.guard[0])
    expect(wanted).toEqual([
      { field: 't', atMost: expect.any(Number), orAbsent: true }, // made from a view of an idle subject
      { field: 't', atLeast: expect.any(Number), atMost: expect.any(Number) }, // made from a view of a busy subject
    ])
    store.refuses.clear()
    clock.at += 1000
    expect(await mine.take('client:large')).toMatchObject({ allowed: true, degraded: false })
  })

  it('is charged together with no other subject of the request', async () => {
    const store = new Picky()
    const limiter = limiterOn(store, new TestClock(), [perMinute], { onStoreError: 'local' })
    await limiter.take('client:large')
    store.refuse(0)
    const subjects = [{ subject: 'ip:1' }, { subject: 'client:large' }]
    expect(await limiter.takeAll(subjects)).toMatchObject({ allowed: false, failure: 'item' })
    expect(await limiter.peek('ip:1', { cost: 0 })).toMatchObject({ remaining: 10 })
  })

  it('does not change the reason why the circuit breaker is open, so other subjects are not denied for it', async () => {
    const store = new Picky()
    const limiter = limiterOn(store, new TestClock(), [perMinute], { onStoreError: 'local' })
    await limiter.take('client:large')
    store.refuse(0)
    const write = store.write.bind(store)
    store.write = async (key, one) =>
      store.refuses.has(key) ? write(key, one) : Promise.reject(new StoreUnavailableError('unreachable', 'gone'))
    for (let i = 0; i < 20; i++)
      expect(await limiter.take(`client:${i}`)).toMatchObject({ allowed: true, failure: 'unreachable' })
    await limiter.take('client:large')
    expect(await limiter.take('client:new')).toMatchObject({ allowed: true, degraded: true, failure: 'unreachable' })
  })
})

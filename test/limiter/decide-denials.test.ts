import { MIDNIGHT } from './limiters'
import { day, fixed, minute, recording, world } from './two-processes'

afterEach(() => jest.restoreAllMocks())

describe('a cached denial', () => {
  const cachedDenial = (one: ReturnType<typeof world>, cost = 1) =>
    one.items.cachedDenial({ key: 'k', policies: one.policies, cost })

  it('does not exist for a subject without a view, even if the cost is above the limit', () => {
    expect(cachedDenial(world(), 11)).toBeUndefined()
  })

  it('does not apply to a request that fits', async () => {
    const one = world()
    await one.decide(8)
    expect(cachedDenial(one, 2)).toBeUndefined()
    expect(cachedDenial(one, 3)).toMatchObject([{ allowed: false, remaining: 2 }])
  })

  it.each([-5001, -5000, 5000, 5001])(
    'is used for denialTtlMs, and not if the clock was set back: %i ms later',
    async (ms) => {
      const one = world(day)
      await one.decide(10)
      one.now += ms
      const isKnown = Math.abs(ms) <= 5000
      expect(cachedDenial(one) !== undefined).toBe(isKnown)
      one.calls()
      expect(await one.decide(1)).toMatchObject([[{ allowed: false }]])
      expect(one.calls()).toEqual([0, isKnown ? 0 : 1])
    },
  )

  it('reports all policies, those that would allow the request without its charge', async () => {
    const one = world([...minute, ...fixed('more', 20)])
    await one.decide(10)
    expect(cachedDenial(one)).toMatchObject([
      { allowed: false, remaining: 0 },
      { allowed: true, remaining: 10 },
    ])
  })

  it('does not exist if the policy that denies has to record the denial', async () => {
    const one = world([...recording, ...fixed('minute', 100)])
    await one.decide(2)
    expect(cachedDenial(one)).toBeUndefined()
    const other = world([...fixed('minute', 1), ...recording]) // the log has room
    await other.decide(1)
    expect(cachedDenial(other)).toMatchObject([{ allowed: false }, { allowed: true }])
  })

  it('is read again if the clocks of other instances are ahead and a new window has begun for them', async () => {
    for (const ahead of [0, 60]) {
      const one = world()
      one.now = MIDNIGHT + 59_900
      one.theirClock = ahead
      await one.decide(10)
      one.now += 50
      await one.theirs.decideBatch({ key: 'b', policies: minute, requests: [{ cost: 1 }] })
      // Learns how far their clocks are ahead.
      for (let i = 0; i < 2; i++) await one.items.decideBatch({ key: 'b', policies: minute, requests: [{ cost: 1 }] })
      one.now += 10
      expect(cachedDenial(one)?.[0]?.allowed).toBe(ahead ? undefined : false)
      one.calls()
      one.plan.push({ before: () => (one.now += 30) }) // a read is recent enough, however long it took
      expect(await one.decide(1)).toMatchObject([[{ allowed: false }]])
      expect(one.calls()).toEqual([0, ahead ? 1 : 0])
    }
  })
})

describe('a denial that was read again', () => {
  it('is returned after one read, however long that took and however short denialTtlMs is', async () => {
    const one = world(minute, { denialTtlMs: 0 })
    await one.other.take(10)
    one.plan.push({ before: () => (one.now += 30) })
    expect(await one.decide(11)).toMatchObject([[{ allowed: false }]])
    expect(one.calls()).toEqual([0, 1])
  })

  it('is dated no earlier than the decision, also if the clock is set back meanwhile', async () => {
    const one = world(day, { denialTtlMs: 0 })
    await one.other.take(10)
    one.plan.push({ before: () => (one.now -= 5000) })
    expect(await one.decide(11)).toMatchObject([[{ allowed: false }]])
    expect(one.reads).toBeLessThanOrEqual(2)
  })
})

describe('a denial that counts', () => {
  it('is written by the policy that counts it, and by no other', async () => {
    const one = world([...recording, ...fixed('minute', 100)])
    await one.decide(2)
    one.now += 30_000
    one.calls()
    expect(await one.decide(1)).toMatchObject([[{ allowed: false }, { allowed: true, remaining: 98 }]])
    expect(one.writes.map(({ parts }) => parts.map(({ prefix }) => prefix))).toEqual([[recording[0]!.prefix]])
    expect(one.items.view('k')!.item).toEqual(await one.memory.read('k'))
    one.now += 30_000 // the first two entries have expired, the denied one has not
    expect(await one.decide(1)).toMatchObject([[{ allowed: true, remaining: 0 }, {}]])
  })

  it('counts once if its answer was lost', async () => {
    const one = world(recording)
    await one.decide(2)
    one.plan.push({ lost: true })
    await one.decide(1)
    expect(one.items.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('is decided anew if the subject has changed meanwhile', async () => {
    const one = world(recording)
    await one.decide(2)
    one.plan.push({ before: () => one.other.reset() })
    expect(await one.decide(1)).toMatchObject([[{ allowed: true, remaining: 1 }]])
    expect(await one.other.left()).toEqual([1])
  })
})

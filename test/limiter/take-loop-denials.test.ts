import { MIDNIGHT } from './limiters'
import { day, fixed, minute, recording, world } from './two-processes'

afterEach(() => jest.restoreAllMocks())

describe('a denial that is known', () => {
  const foreseen = (one: ReturnType<typeof world>, cost = 1) =>
    one.loop.cachedDenial({ key: 'k', policies: one.policies, cost })

  it('is none of a subject that was never seen, even of what costs more than the limit', () => {
    expect(foreseen(world(), 11)).toBeUndefined()
  })

  it('is none of what fits', async () => {
    const one = world()
    await one.settle(8)
    expect(foreseen(one, 2)).toBeUndefined()
    expect(foreseen(one, 3)).toMatchObject([{ allowed: false, remaining: 2 }])
  })

  it.each([-5001, -5000, 5000, 5001])(
    'is trusted for denialTtlMs, also where the clock was set back: %i ms later',
    async (ms) => {
      const one = world(day)
      await one.settle(10)
      one.now += ms
      const isKnown = Math.abs(ms) <= 5000
      expect(foreseen(one) !== undefined).toBe(isKnown)
      one.calls()
      expect(await one.settle(1)).toMatchObject([[{ allowed: false }]])
      expect(one.calls()).toEqual([0, isKnown ? 0 : 1])
    },
  )

  it('tells of all policies, those that would have allowed it without the request', async () => {
    const one = world([...minute, ...fixed('more', 20)])
    await one.settle(10)
    expect(foreseen(one)).toMatchObject([
      { allowed: false, remaining: 0 },
      { allowed: true, remaining: 10 },
    ])
  })

  it('is none where the denial itself has to be recorded, by the policy that denies', async () => {
    const one = world([...recording, ...fixed('minute', 100)])
    await one.settle(2)
    expect(foreseen(one)).toBeUndefined()
    const other = world([...fixed('minute', 1), ...recording]) // the log has room
    await other.settle(1)
    expect(foreseen(other)).toMatchObject([{ allowed: false }, { allowed: true }])
  })

  it('is looked up again where others’ clocks are ahead, by which a new window has begun', async () => {
    for (const ahead of [0, 60]) {
      const one = world()
      one.now = MIDNIGHT + 59_900
      one.theirClock = ahead
      await one.settle(10)
      one.now += 50
      await one.theirs.decideBatch({ key: 'b', policies: minute, costs: [1] })
      // Finds how far they are.
      for (let i = 0; i < 2; i++) await one.loop.decideBatch({ key: 'b', policies: minute, costs: [1] })
      one.now += 10
      expect(foreseen(one)?.[0]?.allowed).toBe(ahead ? undefined : false)
      one.calls()
      one.plan.push({ before: () => (one.now += 30) }) // a look is recent enough, however long it took
      expect(await one.settle(1)).toMatchObject([[{ allowed: false }]])
      expect(one.calls()).toEqual([0, ahead ? 1 : 0])
    }
  })
})

describe('a denial that was looked up', () => {
  it('is answered after one look, however long that took and little is trusted', async () => {
    const one = world(minute, { denialTtlMs: 0 })
    await one.other.take(10)
    one.plan.push({ before: () => (one.now += 30) })
    expect(await one.settle(11)).toMatchObject([[{ allowed: false }]])
    expect(one.calls()).toEqual([0, 1])
  })

  it('dates no earlier than the decision, also where the clock is set back meanwhile', async () => {
    const one = world(day, { denialTtlMs: 0 })
    await one.other.take(10)
    one.plan.push({ before: () => (one.now -= 5000) })
    expect(await one.settle(11)).toMatchObject([[{ allowed: false }]])
    expect(one.reads).toBeLessThanOrEqual(2)
  })
})

describe('a denial that is counted', () => {
  it('is written down by the policy that counts it, and by no other', async () => {
    const one = world([...recording, ...fixed('minute', 100)])
    await one.settle(2)
    one.now += 30_000
    one.calls()
    expect(await one.settle(1)).toMatchObject([[{ allowed: false }, { allowed: true, remaining: 98 }]])
    expect(one.writes.map(({ parts }) => parts.map(({ prefix }) => prefix))).toEqual([[recording[0]!.prefix]])
    expect(one.loop.view('k')!.item).toEqual(await one.memory.read('k'))
    one.now += 30_000 // the first two are over, the denied one is not
    expect(await one.settle(1)).toMatchObject([[{ allowed: true, remaining: 0 }, {}]])
  })

  it('whose answer was lost is counted once', async () => {
    const one = world(recording)
    await one.settle(2)
    one.plan.push({ lost: true })
    await one.settle(1)
    expect(one.loop.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('is none where the subject has changed meanwhile: the request is decided anew', async () => {
    const one = world(recording)
    await one.settle(2)
    one.plan.push({ before: () => one.other.reset() })
    expect(await one.settle(1)).toMatchObject([[{ allowed: true, remaining: 1 }]])
    expect(await one.other.left()).toEqual([1])
  })
})

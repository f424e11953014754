import type { LateCharges } from '../../limiter/consistency/late-charges'
import { StoreCalls } from '../../limiter/store-calls'
import { CONTENTION, day, failed, fixed, frozenDeadline, minute, pace, reasonOf, T, world } from './two-processes'

afterEach(() => jest.restoreAllMocks())

describe('a late charge', () => {
  const late = (one: ReturnType<typeof world>, units: number, chargedAt = one.now): LateCharges => ({
    charges: one.policies.map((policy) => ({ policy, units, chargedAt })),
    id: one.items.nextId(),
  })

  it('is one write to all policies, also past the limit', async () => {
    const one = world([...minute, ...fixed('more', 100)])
    await one.decide(4)
    one.calls()
    expect(await one.items.chargeLate('k', late(one, 8))).toBe(true)
    expect([one.calls(), await one.other.left()]).toEqual([
      [1, 0],
      [0, 88],
    ])
    expect(one.items.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('works without a view of the subject', async () => {
    const one = world()
    expect(await one.items.chargeLate('k', late(one, 3))).toBe(true)
    expect([one.calls(), await one.other.left()]).toEqual([[1, 0], [7]])
  })

  it('makes no write if its window is over', async () => {
    const one = world()
    expect(await one.items.chargeLate('k', late(one, 3, T - 60_000))).toBe(false)
    expect(one.calls()).toEqual([0, 0])
  })

  it('that conflicts is made again from the state that it found', async () => {
    const one = world(pace)
    await one.decide(1)
    one.now += 10_000
    await one.other.take(50)
    one.calls()
    const write = late(one, 10)
    const { value } = write.id!
    expect(await one.items.chargeLate('k', write)).toBe(true)
    expect([one.calls(), await one.other.left(), write.id!.value]).toEqual([[2, 0], [40], value])
    expect(one.items.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('whose answer was lost counts once, and the view is what the store has', async () => {
    const one = world()
    one.plan.push({ lost: true })
    expect(await one.items.chargeLate('k', late(one, 3))).toBe(true)
    expect(await one.other.left()).toEqual([7])
    expect(one.items.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('gets a new id if this process has written since, so it may count twice but never not at all', async () => {
    const one = world()
    const write = late(one, 3)
    await one.decide(1)
    expect(await one.items.chargeLate('k', write)).toBe(true)
    expect([one.calls(), await one.other.left()]).toEqual([[3, 0], [6]])
  })

  it('is given up if it keeps conflicting, or at its deadline', async () => {
    const one = world()
    await one.decide(1)
    jest.spyOn(one.memory, 'write').mockResolvedValue({ kind: 'refused', item: await one.memory.read('k') })
    for (const [leftMs, writes] of [
      [1, 100],
      [0, 1],
    ] as const) {
      jest.spyOn(StoreCalls.prototype, 'deadline').mockReturnValue(frozenDeadline(leftMs))
      one.calls()
      expect(await reasonOf(one.items.chargeLate('k', late(one, 1)))).toBe(CONTENTION)
      expect(one.calls()).toEqual([writes, 0])
    }
  })
})

describe('a refund', () => {
  it('uses a view while it is recent, and reads if it is not', async () => {
    const one = world(day)
    await one.decide(4)
    one.calls()
    await one.items.refund({ key: 'k', policies: day, cost: 1 }, { at: T })
    expect(one.calls()).toEqual([1, 0])
    one.now += 5001
    await one.items.refund({ key: 'k', policies: day, cost: 1 }, { at: T })
    expect([one.calls(), await one.other.left()]).toEqual([[1, 1], [8]])
  })

  it('reads again where its read took longer than a view is recent', async () => {
    const one = world()
    await one.other.take(4)
    const { read } = one.items.calls
    jest.spyOn(one.items.calls, 'read').mockImplementation(async (...call) => {
      one.now += 5001
      return read.apply(one.items.calls, call)
    })
    await one.items.refund({ key: 'k', policies: minute, cost: 3 }, { at: T })
    expect(await one.other.left()).toEqual([9])
  })

  it('reads if the view has nothing to refund', async () => {
    const one = world()
    await one.items.peek({ key: 'k', policies: minute, cost: 0 })
    await one.other.take(4)
    await one.items.refund({ key: 'k', policies: minute, cost: 3 }, { at: T })
    expect(await one.other.left()).toEqual([9])
  })

  it('reads first without a view', async () => {
    const one = world()
    await one.other.take(4)
    await one.items.refund({ key: 'k', policies: minute, cost: 3 }, { at: T })
    expect([one.calls(), await one.other.left()]).toEqual([[1, 1], [9]])
  })

  it('reads once, also if one of the policies has nothing to refund by that', async () => {
    const one = world([...minute, ...day])
    await one.other.take(4, minute)
    await one.items.refund({ key: 'k', policies: one.policies, cost: 3 }, { at: T })
    expect([one.calls(), await one.other.left()]).toEqual([
      [1, 1],
      [9, 10],
    ])
  })
})

describe('an item that DynamoDB rejects', () => {
  /** A subject whose item was rejected, and read after that. */
  async function broken() {
    const one = world(day)
    await one.decide(1)
    one.plan.push({ error: failed('item') })
    await one.decide(1).catch(() => {})
    expect(one.calls()).toEqual([2, 1])
    return one
  }

  it.each([
    [0, [0, 0]],
    [999, [0, 0]],
    [1000, [1, 0]],
    [-1, [1, 0]],
  ])('is not written for a second, unless the clock was set back: %i ms later', async (ms, calls) => {
    const one = await broken()
    one.now += ms
    expect(await reasonOf(one.decide(1))).toBe(calls[0] ? 'done' : 'item: item')
    expect(one.calls()).toEqual(calls)
  })

  it('is written at once after a reset', async () => {
    const one = await broken()
    await one.items.reset('k')
    expect(await one.decide(1)).toMatchObject([[{ allowed: true }]])
  })

  it('is dropped from the cache if it cannot be read, so that the next write is made from the stored state', async () => {
    const one = world(day)
    await one.decide(1)
    one.plan.push({ error: failed('item') }, { error: failed('refused') })
    await one.decide(1).catch(() => {})
    expect(one.items.view('k')).toBeUndefined()
  })

  it('is told apart from an unavailable table and from a bug, after which calls go on at once', async () => {
    for (const error of [failed('refused'), new TypeError('no function')]) {
      const one = world(day)
      await one.decide(1)
      one.plan.push({ error })
      await expect(one.decide(1)).rejects.toBe(error)
      expect(one.reads).toBe(0)
      expect(await one.decide(1)).toMatchObject([[{ allowed: true, remaining: 8 }]])
    }
  })

  it('is remembered among the subjects that are', async () => {
    const one = world(day, { maxSubjects: 1000 })
    const error = failed('item')
    const fail = (...keys: string[]) => {
      one.plan.push(...keys.map(() => ({ error })))
      return Promise.all(
        keys.map((key) =>
          one.items.decideBatch({ key, policies: day, requests: [{ cost: 1 }] }, frozenDeadline(1)).catch(() => {}),
        ),
      )
    }
    const isAsked = async (key: string) => {
      one.plan.length = 0
      one.calls()
      await one.items.decideBatch({ key, policies: day, requests: [{ cost: 1 }] }).catch(() => {})
      return one.calls()[0] === 1
    }
    await fail(...Array.from({ length: 1000 }, (_, i) => `k${i}`))
    expect([await isAsked('k0'), await isAsked('k999')]).toEqual([false, false])
    await fail('k1000')
    expect([await isAsked('k1'), await isAsked('k1000')]).toEqual([true, false])
  })
})

import { compiled } from './policies'
import {
  CONTENTION,
  day,
  failed,
  fixed,
  frozenDeadline,
  minute,
  pace,
  reasonOf,
  T,
  watched,
  world,
} from './two-processes'

afterEach(() => jest.restoreAllMocks())

describe('the take items', () => {
  it('reports whether its store has ever answered, and whether the circuit breaker is open', async () => {
    const one = world()
    expect([one.items.calls.reached, one.items.calls.isCircuitOpen]).toEqual([false, false])
    await one.decide(1)
    expect([one.items.calls.reached, one.items.calls.isCircuitOpen]).toEqual([true, false])
    one.plan.push(...Array(5).fill({ error: failed('refused') }))
    for (let i = 0; i < 5; i++) await one.decide(1).catch(() => {})
    expect(one.items.calls.isCircuitOpen).toBe(true)
  })

  it('caches the view of a subject until it is forgotten', async () => {
    const one = world()
    expect([one.items.view('k'), one.items.standing({ key: 'k', policies: minute })]).toEqual([undefined, undefined])
    await one.decide(3)
    expect(one.items.view('k')).toMatchObject({ item: await one.memory.read('k'), seenAt: T })
    expect(one.items.standing({ key: 'k', policies: minute })).toMatchObject([{ remaining: 7 }])
    void one.items.subjects.forget('k')
    expect([one.items.view('k'), one.items.standing({ key: 'k', policies: minute })]).toEqual([undefined, undefined])
  })

  it('peeks with one read, whatever its view', async () => {
    const one = world([...minute, ...day])
    await one.other.take(4)
    expect(
      (await one.items.peek({ key: 'k', policies: one.policies, cost: 1 })).map(({ remaining }) => remaining),
    ).toEqual([5, 5])
    expect((await one.items.peek({ key: 'k', policies: one.policies, cost: 7 })).map(({ allowed }) => allowed)).toEqual(
      [false, false],
    )
    expect([one.calls(), await one.other.left()]).toEqual([
      [0, 2],
      [6, 6],
    ])
  })
})

describe('a request', () => {
  it('is one write while no other instance writes', async () => {
    const one = world()
    expect(await one.decide(1)).toMatchObject([[{ allowed: true, remaining: 9, chargedAt: T }]])
    expect(await one.decide(2)).toMatchObject([[{ allowed: true, remaining: 7, chargedAt: T }]])
    expect([one.calls(), one.items.view('k')!.shared]).toEqual([[2, 0], false])
  })

  it('reports what its write found including charges of other instances, and marks the subject as shared', async () => {
    const one = world()
    await one.decide(1)
    await one.other.take(3)
    expect(await one.decide(1)).toMatchObject([[{ allowed: true, remaining: 5 }]])
    expect([one.calls(), one.items.view('k')!.shared]).toEqual([[2, 0], true])
    await one.decide(1)
    expect(one.items.view('k')!.shared).toBe(false)
  })

  it('that conflicts is decided anew from the state that it found, and reports a conflict event', async () => {
    const one = world()
    await one.decide(1)
    await one.other.take(9)
    one.events.length = 0
    expect(await one.decide(1)).toMatchObject([[{ allowed: false, remaining: 0 }]])
    expect([one.calls(), one.items.view('k')!.shared]).toEqual([[2, 0], true])
    expect(one.events.map(({ kind }) => kind).filter((kind) => kind !== 'store-call')).toEqual(['conflict'])
  })

  it('that conflicts once and is then charged marks the subject as shared, with no consecutive conflicts', async () => {
    const one = world(pace)
    await one.decide(1)
    one.now += 10_000
    one.plan.push({ before: () => one.other.take(50) })
    expect(await one.decide(1)).toMatchObject([[{ allowed: true, remaining: 49 }]])
    expect(one.calls()).toEqual([3, 0])
    expect(one.items.view('k')).toMatchObject({ shared: true, contention: undefined })
  })

  it('to a subject that other instances keep busy is made from an extrapolated state, and after a conflict from the state found', async () => {
    const one = world(pace)
    await one.other.take(60)
    await one.decide(1) // conflicts, and so marks the subject as shared
    one.now += 5000
    await one.other.take(50) // as busy as before
    one.calls()
    await one.decide(1)
    expect(one.calls()).toEqual([1, 0])
    one.now += 9000 // idle since then, unlike the extrapolated state
    await one.decide(1)
    expect(one.calls()).toEqual([2, 0])
  })

  it('that conflicts is made from the state found even if that is old by then, and is not extrapolated', async () => {
    const one = world(pace)
    await one.decide(1)
    one.now += 10_000
    one.calls()
    one.plan.push({
      async before() {
        await one.other.take(5)
        one.now += 1000 // by then the subject is idle again
      },
    })
    await one.decide(1)
    expect(one.calls()).toEqual([2, 0])
  })

  it('that finds many expired fields purges them after its decision', async () => {
    const one = world(compiled({ name: 'burst', limit: 5, window: '1s' }))
    for (let i = 0; i < 33; i++) {
      one.now += 30_000
      void one.theirs.subjects.forget('k') // as instances do that have not seen each other's writes
      await one.other.take(1)
    }
    const fields = async () => Object.keys((await one.memory.read('k')).policies[one.policies[0]!.prefix]!).length
    expect(await fields()).toBeGreaterThan(32)
    one.now += 30_000
    expect(await one.decide(1)).toMatchObject([[{ allowed: true }]])
    expect([one.calls(), await fields()]).toEqual([[2, 0], 2])
    expect(one.items.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('whose answer was lost reports its charge once in the remaining units', async () => {
    const one = world()
    one.plan.push({ lost: true })
    expect(await one.decide(4)).toMatchObject([[{ allowed: true, remaining: 6 }]])
    expect(await one.other.left()).toEqual([6])
  })

  it('whose answer was lost is charged once, and allowed even if other charges have since exceeded its limit', async () => {
    const one = world()
    one.plan.push({ lost: true }, { before: () => one.other.take(12, fixed('minute', 20)) })
    expect(await one.decide(1)).toMatchObject([[{ allowed: true, remaining: 0, retryAfterMs: 0, chargedAt: T }]])
    expect(await one.theirs.peek({ key: 'k', policies: fixed('minute', 20), cost: 0 })).toMatchObject([
      { remaining: 7 },
    ])
    expect(one.items.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('is given up after a hundred consecutive conflicts, or at its deadline', async () => {
    const one = world(pace)
    await one.decide(1)
    const refused = { kind: 'refused', item: await one.memory.read('k') } as const
    jest.spyOn(one.memory, 'write').mockResolvedValue(refused)
    one.calls()
    for (const [leftMs, writes] of [
      [1, 100],
      [0, 1],
    ] as const) {
      expect(
        await reasonOf(
          one.items.decideBatch({ key: 'k', policies: pace, requests: [{ cost: 1 }] }, frozenDeadline(leftMs)),
        ),
      ).toBe(CONTENTION)
      expect(one.calls()).toEqual([writes, 0])
    }
  })
})

describe('after consecutive conflicts, a request', () => {
  /** In a new minute, other instances take all units just before our write. */
  const lose = async (one: ReturnType<typeof world>) => {
    one.now += 60_000
    await one.other.take(10)
    one.calls()
    expect(await one.decide(1)).toMatchObject([[{ allowed: false }]])
    return one.calls()
  }

  it('reads before the third write, since a read costs a fifth', async () => {
    const one = world()
    await one.decide(1)
    expect([await lose(one), await lose(one)]).toEqual([
      [1, 0],
      [1, 0],
    ])
    expect(await lose(one)).toEqual([0, 1])
    one.now += 60_000
    expect(await one.decide(1)).toMatchObject([[{ allowed: true }]])
    expect(one.calls()).toEqual([1, 1]) // a read, and a write that succeeds
    expect(await lose(one)).toEqual([1, 0])
  })

  it('does not read a subject that was read just now', async () => {
    const one = world()
    await one.decide(1)
    for (let i = 0; i < 2; i++) await lose(one)
    one.now += 60_000
    await one.items.peek({ key: 'k', policies: minute, cost: 1 })
    one.calls()
    await one.decide(1)
    expect(one.calls()).toEqual([1, 0])
  })

  it('does not count as a conflict if it is denied from the view', async () => {
    const one = world()
    await one.decide(10)
    for (let i = 0; i < 3; i++) await one.decide(1)
    one.now += 60_000
    one.calls()
    await one.decide(1)
    expect(one.calls()).toEqual([1, 0])
  })

  it('that is written in the end leaves no contention', async () => {
    const one = world(pace)
    await one.decide(1)
    for (let i = 0; i < 3; i++) {
      one.now += 10_000
      one.plan.push({ before: () => one.other.take(50) })
      await one.decide(1)
      expect(one.items.view('k')!.contention).toBeUndefined()
    }
  })
})

describe('coalesced requests', () => {
  it('share a write, and each reports the remaining units after it', async () => {
    const one = world()
    const answers = await one.decide(2, 3, 1)
    expect(answers.map(([verdict]) => verdict!.remaining)).toEqual([8, 5, 4])
    expect([one.calls(), await one.other.left()]).toEqual([[1, 0], [4]])
  })

  it('are charged as far as they fit, and the others are denied by the state after the write', async () => {
    const one = world()
    const answers = await one.decide(11, 9, 2, 1)
    expect(answers.map(([verdict]) => [verdict!.allowed, verdict!.remaining])).toEqual([
      [false, 0],
      [true, 1],
      [false, 0],
      [true, 0],
    ])
    expect(one.calls()).toEqual([1, 0])
  })

  it('are all answered if some are charged and others allowed without a charge', async () => {
    const one = world(watched)
    const answers = await one.decide(5, 1, 5, 1)
    expect(answers.map(([verdict]) => [verdict!.allowed, verdict!.chargedAt])).toEqual([
      [true, undefined],
      [true, T],
      [true, undefined],
      [true, T],
    ])
    expect(await one.other.left()).toEqual([0])
  })

  it('that conflict report the units that other instances have left', async () => {
    const one = world()
    await one.decide(1)
    await one.other.take(4)
    const answers = await one.decide(1, 1, 1, 5)
    expect(answers.map(([verdict]) => [verdict!.allowed, verdict!.remaining])).toEqual([
      [true, 4],
      [true, 3],
      [true, 2],
      [false, 2],
    ])
  })
})

describe('a request that is allowed without a charge', () => {
  it('is decided from a recent view, or reads, since the subject may be whole again', async () => {
    const one = world([...watched, ...fixed('more', 100)])
    await one.decide(2)
    one.now += 5000
    expect(await one.decide(1)).toMatchObject([[{ exceeded: 'observe' }, { remaining: 97 }]])
    expect(one.calls()).toEqual([2, 0])
    await one.other.reset()
    one.now += 5001
    await one.decide(1)
    expect([one.calls(), await one.other.left()]).toEqual([
      [1, 1],
      [1, 99],
    ])
  })

  it('of one policy makes no call while its view is recent', async () => {
    const one = world(watched)
    await one.decide(2)
    one.calls()
    expect(await one.decide(1)).toMatchObject([[{ allowed: true, exceeded: 'observe' }]])
    expect(one.calls()).toEqual([0, 0])
  })
})

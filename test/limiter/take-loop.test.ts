import { StoreUnavailableError } from '../../lambda/errors'
import type { CompiledPolicy } from '../../lambda/limiter/compiled-policy'
import type { Deadline } from '../../lambda/limiter/deadline'
import type { LimiterEvent } from '../../lambda/limiter/events'
import { StoreCalls } from '../../lambda/limiter/store-calls'
import { TakeLoop, type TakeLoopOptions } from '../../lambda/limiter/take-loop'
import type { LateWrite } from '../../lambda/limiter/untold'
import { MemoryStore } from '../../lambda/state/memory-store'
import type { ItemWrite, StateStore } from '../../lambda/state/store'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

const T = MIDNIGHT + 3_600_000
const fixed = (name: string, limit: number, more: object = {}) =>
  compiled({ name, algorithm: 'fixed-window', limit, window: '1m', ...more } as never)
const minute = fixed('minute', 10)
const day = fixed('day', 10, { window: '1d' })
const watched = fixed('watched', 2, { action: 'observe' })
const recording = compiled({ name: 'log', algorithm: 'sliding-log', limit: 2, window: '1m', countDenied: true })
const pace = compiled({ name: 'pace', algorithm: 'gcra', limit: 100, window: '10s' })

/** What becomes of a call of ours: something happens before it, or its answer is lost, or it fails. */
interface Fate {
  readonly before?: () => unknown
  readonly lost?: boolean
  readonly error?: Error
}

/** A process, and another one on the same store in memory, whose calls are not counted. */
function world(policies: readonly CompiledPolicy[] = minute, more: Partial<TakeLoopOptions> = {}) {
  const world = { now: T, theirClock: 0, reads: 0 }
  const memory = new MemoryStore()
  const [writes, events, plan] = [[] as ItemWrite[], [] as LimiterEvent[], [] as Fate[]]
  async function meet<O>(call: () => Promise<O>): Promise<O> {
    const { before, lost, error } = plan.shift() ?? {}
    await before?.()
    if (error) throw error
    const answer = await call()
    if (lost) throw new StoreUnavailableError('timeout', 'lost')
    return answer
  }
  const store: StateStore = {
    write(key, write) {
      writes.push(write)
      return meet(() => memory.write(key, write))
    },
    read(key) {
      world.reads++
      return meet(() => memory.read(key))
    },
    delete: (key, marks) => meet(() => memory.delete(key, marks)),
  }
  const options = { deadlineMs: 20_000, firstDeadlineMs: 20_000, denialTtlMs: 5000, maxSubjects: 100, ...more }
  jest.spyOn(Math, 'random').mockReturnValueOnce(0).mockReturnValueOnce(0.5) // each has a mark of its own
  const loop = new TakeLoop({ ...options, store, clock: () => world.now, onEvent: (event) => events.push(event) })
  const theirs = new TakeLoop({ ...options, store: memory, clock: () => world.now + world.theirClock, onEvent: () => {} })
  const settle = async (...costs: number[]) => {
    const answers = await loop.settle('k', policies, costs)
    expect(Object.keys(answers)).toEqual(Object.keys(costs)) // each is answered, and nothing else
    return answers
  }
  const other = {
    take: (cost = 1, of = policies) => theirs.settle('k', of, [cost]),
    /** What is left of each policy, as the store has it. */
    left: async () => (await theirs.look('k', policies, 0)).map(({ remaining }) => remaining),
    reset: () => theirs.reset('k'),
  }
  /** What was called since the last time: writes and reads. */
  const calls = () => {
    const told = [writes.length, world.reads]
    writes.length = world.reads = 0
    return told
  }
  return Object.assign(world, { memory, loop, theirs, other, settle, writes, events, plan, calls, policies })
}
const failed = (reason: StoreUnavailableError['reason']) => new StoreUnavailableError(reason, reason)
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: StoreUnavailableError) => `${error.reason}: ${error.message}`,
  )
/** A deadline of which so much is left, however long anything takes. */
const unending = (leftMs: number) => ({ leftMs, bound: (_: number, call: () => unknown) => call() }) as unknown as Deadline
const CONTENTION = 'contention: others kept changing the subject until the deadline'

afterEach(() => jest.restoreAllMocks())

describe('a take loop', () => {
  it('says whether its store has ever answered, and whether it is asked', async () => {
    const one = world()
    expect([one.loop.reached, one.loop.isCircuitOpen]).toEqual([false, false])
    await one.settle(1)
    expect([one.loop.reached, one.loop.isCircuitOpen]).toEqual([true, false])
    one.plan.push(...Array(5).fill({ error: failed('refused') }))
    for (let i = 0; i < 5; i++) await one.settle(1).catch(() => {})
    expect(one.loop.isCircuitOpen).toBe(true)
  })

  it('remembers what it has seen of a subject until it forgets it', async () => {
    const one = world()
    expect([one.loop.view('k'), one.loop.standing('k', minute)]).toEqual([undefined, undefined])
    await one.settle(3)
    expect(one.loop.view('k')).toMatchObject({ item: await one.memory.read('k'), seenAt: T })
    expect(one.loop.standing('k', minute)).toMatchObject([{ remaining: 7 }])
    one.loop.forget('k')
    expect([one.loop.view('k'), one.loop.standing('k', minute)]).toEqual([undefined, undefined])
  })

  it('looks without taking: by one read, whatever it knows', async () => {
    const one = world([...minute, ...day])
    await one.other.take(4)
    expect((await one.loop.look('k', one.policies, 1)).map(({ remaining }) => remaining)).toEqual([5, 5])
    expect((await one.loop.look('k', one.policies, 7)).map(({ allowed }) => allowed)).toEqual([false, false])
    expect([one.calls(), await one.other.left()]).toEqual([
      [0, 2],
      [6, 6],
    ])
  })
})

describe('a denial that is known', () => {
  const foreseen = (one: ReturnType<typeof world>, cost = 1) => one.loop.foreseen('k', one.policies, cost)

  it('is none of a subject that was never seen, even of what costs more than the limit', () => {
    expect(foreseen(world(), 11)).toBeUndefined()
  })

  it('is none of what fits', async () => {
    const one = world()
    await one.settle(8)
    expect(foreseen(one, 2)).toBeUndefined()
    expect(foreseen(one, 3)).toMatchObject([{ allowed: false, remaining: 2 }])
  })

  it.each([-5001, -5000, 5000, 5001])('is trusted for denialTtlMs, also where the clock was set back: %i ms later', async (ms) => {
    const one = world(day)
    await one.settle(10)
    one.now += ms
    const isKnown = Math.abs(ms) <= 5000
    expect(foreseen(one) !== undefined).toBe(isKnown)
    one.calls()
    expect(await one.settle(1)).toMatchObject([[{ allowed: false }]])
    expect(one.calls()).toEqual([0, isKnown ? 0 : 1])
  })

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
      await one.theirs.settle('b', minute, [1])
      for (let i = 0; i < 2; i++) await one.loop.settle('b', minute, [1]) // finds how far they are
      one.now += 10
      expect(foreseen(one)?.[0]?.allowed).toBe(ahead ? undefined : false)
      one.calls()
      one.plan.push({ before: () => (one.now += 30) }) // a look is recent enough, however long it took
      expect(await one.settle(1)).toMatchObject([[{ allowed: false }]])
      expect(one.calls()).toEqual([0, ahead ? 1 : 0])
    }
  })
})

describe('a request', () => {
  it('is one write where nobody else has written', async () => {
    const one = world()
    expect(await one.settle(1)).toMatchObject([[{ allowed: true, remaining: 9, chargedAt: T }]])
    expect(await one.settle(2)).toMatchObject([[{ allowed: true, remaining: 7, chargedAt: T }]])
    expect([one.calls(), one.loop.view('k')!.shared]).toEqual([[2, 0], false])
  })

  it('is told what its write found, others’ charges included, and that the subject is shared until it is no more', async () => {
    const one = world()
    await one.settle(1)
    await one.other.take(3)
    expect(await one.settle(1)).toMatchObject([[{ allowed: true, remaining: 5 }]])
    expect([one.calls(), one.loop.view('k')!.shared]).toEqual([[2, 0], true])
    await one.settle(1)
    expect(one.loop.view('k')!.shared).toBe(false)
  })

  it('is decided anew by what refused its write, which is told as a conflict', async () => {
    const one = world()
    await one.settle(1)
    await one.other.take(9)
    one.events.length = 0
    expect(await one.settle(1)).toMatchObject([[{ allowed: false, remaining: 0 }]])
    expect([one.calls(), one.loop.view('k')!.shared]).toEqual([[2, 0], true])
    expect(one.events.map(({ kind }) => kind).filter((kind) => kind !== 'store-call')).toEqual(['conflict'])
  })

  it('that is refused once and then charged leaves the subject known as shared, and nothing as lost', async () => {
    const one = world(pace)
    await one.settle(1)
    one.now += 10_000
    one.plan.push({ before: () => one.other.take(50) })
    expect(await one.settle(1)).toMatchObject([[{ allowed: true, remaining: 49 }]])
    expect(one.calls()).toEqual([3, 0])
    expect(one.loop.view('k')).toMatchObject({ shared: true, lost: 0 })
  })

  it('to a subject that others keep busy is made from a guess, and after a refusal from what it found', async () => {
    const one = world(pace)
    await one.other.take(60)
    await one.settle(1) // refused, and so known as shared
    one.now += 5000
    await one.other.take(50) // as busy as it was
    one.calls()
    await one.settle(1)
    expect(one.calls()).toEqual([1, 0])
    one.now += 9000 // idle since, which the guess is not
    await one.settle(1)
    expect(one.calls()).toEqual([2, 0])
  })

  it('that was refused is made from what it found, though that was a while ago, and from no guess at what others did since', async () => {
    const one = world(pace)
    await one.settle(1)
    one.now += 10_000
    one.calls()
    one.plan.push({
      async before() {
        await one.other.take(5)
        one.now += 1000 // by then the subject is idle again
      },
    })
    await one.settle(1)
    expect(one.calls()).toEqual([2, 0])
  })

  it('that finds litter of others clears it away, once it is decided', async () => {
    const one = world(compiled({ name: 'burst', limit: 5, window: '1s' }))
    for (let i = 0; i < 33; i++) {
      one.now += 30_000
      one.theirs.forget('k') // as instances do that know nothing of each other
      await one.other.take(1)
    }
    const fields = async () => Object.keys((await one.memory.read('k')).policies[one.policies[0]!.code]!).length
    expect(await fields()).toBeGreaterThan(32)
    one.now += 30_000
    expect(await one.settle(1)).toMatchObject([[{ allowed: true }]])
    expect([one.calls(), await fields()]).toEqual([[2, 0], 2])
    expect(one.loop.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('whose answer was lost is told how its limit stands with it, and not with it twice', async () => {
    const one = world()
    one.plan.push({ lost: true })
    expect(await one.settle(4)).toMatchObject([[{ allowed: true, remaining: 6 }]])
    expect(await one.other.left()).toEqual([6])
  })

  it('whose answer was lost is charged once, and allowed though others have come further since than its limit', async () => {
    const one = world()
    one.plan.push({ lost: true }, { before: () => one.other.take(12, fixed('minute', 20)) })
    expect(await one.settle(1)).toMatchObject([[{ allowed: true, remaining: 0, retryAfterMs: 0, chargedAt: T }]])
    expect(await one.theirs.look('k', fixed('minute', 20), 0)).toMatchObject([{ remaining: 7 }])
    expect(one.loop.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('is given up when others have changed the subject a hundred times in a row, or its time is over', async () => {
    const one = world(pace)
    await one.settle(1)
    const refused = { kind: 'refused', item: await one.memory.read('k') } as const
    jest.spyOn(one.memory, 'write').mockResolvedValue(refused)
    one.calls()
    for (const [leftMs, writes] of [
      [1, 100],
      [0, 0],
    ] as const) {
      expect(await reasonOf(one.loop.settle('k', pace, [1], unending(leftMs)))).toBe(CONTENTION)
      expect(one.calls()).toEqual([writes, 0])
    }
  })
})

describe('who loses to others again and again', () => {
  /** In a new minute, others take what there is just before our write. */
  const lose = async (one: ReturnType<typeof world>) => {
    one.now += 60_000
    await one.other.take(10)
    one.calls()
    expect(await one.settle(1)).toMatchObject([[{ allowed: false }]])
    return one.calls()
  }

  it('looks before the third write, which a look costs a fifth of', async () => {
    const one = world()
    await one.settle(1)
    expect([await lose(one), await lose(one)]).toEqual([
      [1, 0],
      [1, 0],
    ])
    expect(await lose(one)).toEqual([0, 1])
    one.now += 60_000
    expect(await one.settle(1)).toMatchObject([[{ allowed: true }]])
    expect(one.calls()).toEqual([1, 1]) // a look, and a write that succeeds
    expect(await lose(one)).toEqual([1, 0])
  })

  it('does not look for what was looked up just now', async () => {
    const one = world()
    await one.settle(1)
    for (let i = 0; i < 2; i++) await lose(one)
    one.now += 60_000
    await one.loop.look('k', minute, 1)
    one.calls()
    await one.settle(1)
    expect(one.calls()).toEqual([1, 0])
  })

  it('is not who is denied by what was known', async () => {
    const one = world()
    await one.settle(10)
    for (let i = 0; i < 3; i++) await one.settle(1)
    one.now += 60_000
    one.calls()
    await one.settle(1)
    expect(one.calls()).toEqual([1, 0])
  })

  it('is not whose write was refused and then succeeded', async () => {
    const one = world(pace)
    await one.settle(1)
    for (let i = 0; i < 3; i++) {
      one.now += 10_000
      one.plan.push({ before: () => one.other.take(50) })
      await one.settle(1)
      expect(one.loop.view('k')!.lost).toBe(0)
    }
  })
})

describe('several requests at once', () => {
  it('share a write, and are told how the limit stands one after another', async () => {
    const one = world()
    const answers = await one.settle(2, 3, 1)
    expect(answers.map(([verdict]) => verdict!.remaining)).toEqual([8, 5, 4])
    expect([one.calls(), await one.other.left()]).toEqual([[1, 0], [4]])
  })

  it('are charged as far as they fit, and the others are denied by what the write left', async () => {
    const one = world()
    const answers = await one.settle(11, 9, 2, 1)
    expect(answers.map(([verdict]) => [verdict!.allowed, verdict!.remaining])).toEqual([
      [false, 0],
      [true, 1],
      [false, 0],
      [true, 0],
    ])
    expect(one.calls()).toEqual([1, 0])
  })

  it('are answered though some pass uncharged and others are charged', async () => {
    const one = world(watched)
    const answers = await one.settle(5, 1, 5, 1)
    expect(answers.map(([verdict]) => [verdict!.allowed, verdict!.chargedAt])).toEqual([
      [true, undefined],
      [true, T],
      [true, undefined],
      [true, T],
    ])
    expect(await one.other.left()).toEqual([0])
  })

  it('that find others in their place are told what is left after those', async () => {
    const one = world()
    await one.settle(1)
    await one.other.take(4)
    const answers = await one.settle(1, 1, 1, 5)
    expect(answers.map(([verdict]) => [verdict!.allowed, verdict!.remaining])).toEqual([
      [true, 4],
      [true, 3],
      [true, 2],
      [false, 2],
    ])
  })
})

describe('a request that a limit lets pass uncharged', () => {
  it('is decided by a view that is recent, or looks: the subject may be whole again', async () => {
    const one = world([...watched, ...fixed('more', 100)])
    await one.settle(2)
    one.now += 5000
    expect(await one.settle(1)).toMatchObject([[{ exceeded: 'observe' }, { remaining: 97 }]])
    expect(one.calls()).toEqual([2, 0])
    await one.other.reset()
    one.now += 5001
    await one.settle(1)
    expect([one.calls(), await one.other.left()]).toEqual([
      [1, 1],
      [1, 99],
    ])
  })

  it('of one policy costs nothing at all while its view is recent', async () => {
    const one = world(watched)
    await one.settle(2)
    one.calls()
    expect(await one.settle(1)).toMatchObject([[{ allowed: true, exceeded: 'observe' }]])
    expect(one.calls()).toEqual([0, 0])
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
    expect(one.writes.map(({ parts }) => parts.map(({ code }) => code))).toEqual([[recording[0]!.code]])
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

describe('what was admitted before the store is told', () => {
  const late = (one: ReturnType<typeof world>, units: number, chargedAt = one.now): LateWrite => ({
    charges: one.policies.map((policy) => ({ policy, units, chargedAt })),
    id: one.loop.nextId(),
  })

  it('is charged in one write to all policies, past the limit too', async () => {
    const one = world([...minute, ...fixed('more', 100)])
    await one.settle(4)
    one.calls()
    expect(await one.loop.chargeLate('k', late(one, 8))).toBe(true)
    expect([one.calls(), await one.other.left()]).toEqual([
      [1, 0],
      [0, 88],
    ])
    expect(one.loop.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('is charged to a subject that was never seen', async () => {
    const one = world()
    expect(await one.loop.chargeLate('k', late(one, 3))).toBe(true)
    expect([one.calls(), await one.other.left()]).toEqual([[1, 0], [7]])
  })

  it('is nothing any more where its window is over', async () => {
    const one = world()
    expect(await one.loop.chargeLate('k', late(one, 3, T - 60_000))).toBe(false)
    expect(one.calls()).toEqual([0, 0])
  })

  it('that is refused is made again from what was found', async () => {
    const one = world(pace)
    await one.settle(1)
    one.now += 10_000
    await one.other.take(50)
    one.calls()
    const write = late(one, 10)
    const { value } = write.id
    expect(await one.loop.chargeLate('k', write)).toBe(true)
    expect([one.calls(), await one.other.left(), write.id.value]).toEqual([[2, 0], [40], value])
    expect(one.loop.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('whose answer was lost counts once, and what is known is what the store has', async () => {
    const one = world()
    one.plan.push({ lost: true })
    expect(await one.loop.chargeLate('k', late(one, 3))).toBe(true)
    expect(await one.other.left()).toEqual([7])
    expect(one.loop.view('k')!.item).toEqual(await one.memory.read('k'))
  })

  it('gets a new name where this process has written since: it may count twice, and never not at all', async () => {
    const one = world()
    const write = late(one, 3)
    await one.settle(1)
    expect(await one.loop.chargeLate('k', write)).toBe(true)
    expect([one.calls(), await one.other.left()]).toEqual([[3, 0], [6]])
  })

  it('is given up when others keep changing the subject, or its time is over', async () => {
    const one = world()
    await one.settle(1)
    jest.spyOn(one.memory, 'write').mockResolvedValue({ kind: 'refused', item: await one.memory.read('k') })
    for (const [leftMs, writes] of [
      [1, 100],
      [0, 0],
    ] as const) {
      jest.spyOn(StoreCalls.prototype, 'deadline').mockReturnValue(unending(leftMs))
      one.calls()
      expect(await reasonOf(one.loop.chargeLate('k', late(one, 1)))).toBe(CONTENTION)
      expect(one.calls()).toEqual([writes, 0])
    }
  })
})

describe('a refund', () => {
  it('relies on what is known while that is recent, and looks where it is not', async () => {
    const one = world(day)
    await one.settle(4)
    one.calls()
    await one.loop.refund('k', day, 1, { at: T })
    expect(one.calls()).toEqual([1, 0])
    one.now += 5001
    await one.loop.refund('k', day, 1, { at: T })
    expect([one.calls(), await one.other.left()]).toEqual([[1, 1], [8]])
  })

  it('looks where what is known has nothing to give back', async () => {
    const one = world()
    await one.loop.look('k', minute, 0)
    await one.other.take(4)
    await one.loop.refund('k', minute, 3, { at: T })
    expect(await one.other.left()).toEqual([9])
  })

  it('of what nobody has seen looks first', async () => {
    const one = world()
    await one.other.take(4)
    await one.loop.refund('k', minute, 3, { at: T })
    expect([one.calls(), await one.other.left()]).toEqual([[1, 1], [9]])
  })
})

describe('an item that is refused for what it is', () => {
  /** Looked at after it failed, and known from then on. */
  async function broken() {
    const one = world(day)
    await one.settle(1)
    one.plan.push({ error: failed('item') })
    await one.settle(1).catch(() => {})
    expect(one.calls()).toEqual([2, 1])
    return one
  }

  it.each([
    [0, [0, 0]],
    [999, [0, 0]],
    [1000, [1, 0]],
    [-1, [1, 0]],
  ])('gets no other write for a second, unless the clock was set back: %i ms later', async (ms, calls) => {
    const one = await broken()
    one.now += ms
    expect(await reasonOf(one.settle(1))).toBe(calls[0] ? 'done' : 'item: item')
    expect(one.calls()).toEqual(calls)
  })

  it('is asked at once after a reset', async () => {
    const one = await broken()
    await one.loop.reset('k')
    expect(await one.settle(1)).toMatchObject([[{ allowed: true }]])
  })

  it('is forgotten where it cannot be looked at, so that the next write is made from what is there', async () => {
    const one = world(day)
    await one.settle(1)
    one.plan.push({ error: failed('item') }, { error: failed('refused') })
    await one.settle(1).catch(() => {})
    expect(one.loop.view('k')).toBeUndefined()
  })

  it('is no table that is away, nor a program with a bug: those are asked again at once', async () => {
    for (const error of [failed('refused'), new TypeError('no function')]) {
      const one = world(day)
      await one.settle(1)
      one.plan.push({ error })
      await expect(one.settle(1)).rejects.toBe(error)
      expect(one.reads).toBe(0)
      expect(await one.settle(1)).toMatchObject([[{ allowed: true, remaining: 8 }]])
    }
  })

  it('is one of a thousand at most', async () => {
    const one = world(day)
    const error = failed('item')
    const fail = (...keys: string[]) => {
      one.plan.push(...keys.map(() => ({ error })))
      return Promise.all(keys.map((key) => one.loop.settle(key, day, [1], unending(1)).catch(() => {})))
    }
    const isAsked = async (key: string) => {
      one.plan.length = 0
      one.calls()
      await one.loop.settle(key, day, [1]).catch(() => {})
      return one.calls()[0] === 1
    }
    await fail(...Array.from({ length: 1000 }, (_, i) => `k${i}`))
    expect([await isAsked('k0'), await isAsked('k999')]).toEqual([false, false])
    await fail('k1000')
    expect([await isAsked('k0'), await isAsked('k1000')]).toEqual([true, false])
  })
})

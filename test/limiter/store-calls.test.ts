import { systemClock } from '../../limiter/clock'
import { type StoreFailure, StoreUnavailableError } from '../../limiter/errors'
import type { LimiterEvent } from '../../limiter/options'
import { StoreCalls } from '../../limiter/store-calls'
import { type CallOptions, type Item, type ItemWrite, MARKS, NO_ITEM } from '../../limiter/stores/store'
import { MIDNIGHT } from './limiters'

const WRITE: ItemWrite = { parts: [], id: { mark: 'r0', value: 1 }, at: MIDNIGHT }

beforeEach(() => void jest.useFakeTimers({ now: MIDNIGHT }))
afterEach(() => {
  jest.useRealTimers()
  jest.restoreAllMocks()
})

type Fate = StoreFailure | 'hangs' | Error | Promise<never> | undefined

/** A store whose calls have the planned outcomes in order, and then succeed. */
function world(options: { clock?: () => number } = {}) {
  const events: LimiterEvent[] = []
  const fates: Fate[] = []
  const world = {
    now: MIDNIGHT,
    calls: 0,
    item: NO_ITEM as Item,
    resent: false,
    signals: [] as CallOptions[],
    events,
    fates,
  }
  const call = async (given: CallOptions | undefined): Promise<void> => {
    world.calls++
    world.signals.push(given!)
    const fate = fates.shift()
    if (fate === 'hangs') return new Promise(() => {})
    if (fate instanceof Error) throw fate
    if (fate instanceof Promise) return fate
    if (fate) throw new StoreUnavailableError(fate, fate)
  }
  const resent = () => (world.resent ? ({ resent: true } as const) : {})
  const calls = new StoreCalls({
    store: {
      write: (_key, _write, given) => call(given).then(() => ({ kind: 'applied', item: world.item, ...resent() })),
      read: (_key, given) => call(given).then(() => world.item),
      delete: (_key, _marks, given) => call(given).then(() => ({ kind: 'deleted', item: world.item, ...resent() })),
    },
    clock: options.clock ?? (() => world.now),
    deadlineMs: 300,
    firstDeadlineMs: 2000,
    onEvent: (event) => events.push(event),
  })
  /** Runs asynchronous work on fake timers. */
  const run = async <T>(work: Promise<T>): Promise<T> => {
    const settled = work.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    await jest.advanceTimersByTimeAsync(5000)
    const outcome = await settled
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }
  return Object.assign(world, {
    store: calls,
    read: () => run(calls.read('k', calls.deadline())),
    write: (tries?: number, key = 'k') => run(calls.write(key, WRITE, calls.deadline(), tries)),
    remove: () => run(calls.delete('k', {}, calls.deadline())),
  })
}

describe('a failed call', () => {
  it.each(['timeout', 'unreachable', 'malformed', 'throttled'] as const)(
    'is tried up to three times if it is %s',
    async (failure) => {
      const one = world()
      one.fates.push(failure, failure)
      expect(await one.read()).toBe(NO_ITEM)
      expect(one.calls).toBe(3)
      one.fates.push(failure, failure, failure)
      await expect(one.read()).rejects.toMatchObject({ reason: failure })
      expect(one.calls).toBe(6)
    },
  )

  it.each(['contention', 'hot-key', 'item', 'missing-table', 'refused', 'in-doubt'] as const)(
    'is not tried again if it is %s',
    async (failure) => {
      const one = world()
      one.fates.push(failure)
      await expect(one.write()).rejects.toMatchObject({ reason: failure })
      expect(one.calls).toBe(1)
    },
  )

  it('is tried as often as the caller says', async () => {
    const one = world()
    one.fates.push('unreachable')
    await expect(one.write(1)).rejects.toMatchObject({ reason: 'unreachable' })
    expect(one.calls).toBe(1)
  })

  it('that fails by a bug throws that once', async () => {
    const one = world()
    one.fates.push(new TypeError('no function'))
    await expect(one.read()).rejects.toThrow(TypeError)
    expect([one.calls, one.events]).toEqual([1, [{ kind: 'store-call', ms: expect.any(Number), failure: 'malformed' }]])
  })

  it('is reported as an event for each try', async () => {
    const one = world()
    one.fates.push('unreachable')
    await one.read()
    const told = { kind: 'store-call', ms: expect.any(Number) }
    expect(one.events).toEqual([
      { ...told, failure: 'unreachable' },
      { ...told, failure: undefined },
    ])
  })

  it('is tried again at once, except for throttling, where each try waits longer', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5)
    for (const [failure, ms] of [
      ['unreachable', 0],
      ['throttled', 15 * 1.5 + 30 * 1.5],
    ] as const) {
      const one = world()
      one.fates.push(failure, failure)
      const startedAt = performance.now()
      let endedAt = 0
      const read = one.store.read('k', one.store.deadline()).then(() => {
        endedAt = performance.now()
      })
      await jest.advanceTimersByTimeAsync(1000)
      await read
      expect(Math.abs(endedAt - startedAt - ms)).toBeLessThanOrEqual(2)
    }
  })

  it('is not tried again if too little of the deadline is left', async () => {
    const one = world()
    await one.read()
    const deadline = one.store.deadline()
    await jest.advanceTimersByTimeAsync(294)
    one.fates.push('unreachable')
    await one.store.read('k', deadline)
    expect(one.calls).toBe(3)
    await jest.advanceTimersByTimeAsync(2)
    one.fates.push('unreachable')
    await expect(one.store.read('k', deadline)).rejects.toMatchObject({ reason: 'unreachable' })
    expect(one.calls).toBe(4)
  })
})

describe('the deadline of a decision', () => {
  it('is longer until the store has answered once', async () => {
    const one = world()
    expect([one.store.reached, one.store.deadline().leftMs]).toEqual([false, 2000])
    one.fates.push('refused')
    await expect(one.read()).rejects.toThrow()
    expect([one.store.reached, one.store.deadline().leftMs]).toEqual([false, 2000])
    await one.read()
    expect([one.store.reached, one.store.deadline().leftMs]).toEqual([true, 300])
  })

  it('is divided among tries: a call gets six tenths of the rest, and the last one all', async () => {
    const one = world()
    await one.read()
    one.fates.push('hangs', 'hangs', 'hangs')
    const read = one.store.read('k', one.store.deadline()).catch((error: Error) => error)
    await jest.advanceTimersByTimeAsync(179)
    expect(one.calls).toBe(2)
    await jest.advanceTimersByTimeAsync(2)
    expect(one.calls).toBe(3)
    await jest.advanceTimersByTimeAsync(72)
    expect(one.calls).toBe(4)
    await jest.advanceTimersByTimeAsync(40)
    expect(one.signals.at(-1)!.signal!.aborted).toBe(false)
    await jest.advanceTimersByTimeAsync(20)
    expect(await read).toMatchObject({ reason: 'timeout' })
    expect(one.signals.map(({ signal }) => signal!.aborted)).toEqual([false, true, true, true])
  })
})

describe('a write or deletion whose earlier try had no answer', () => {
  const BOTH = ['write', 'remove'] as const
  const ambiguous = ['timeout', 'unreachable', 'malformed'] as const
  it.each(BOTH.flatMap((call) => ambiguous.map((failure) => [call, failure] as const)))(
    'is in doubt: %s, %s',
    async (call, failure) => {
      const one = world()
      one.fates.push(failure)
      expect(await one[call]()).toMatchObject({ afterDoubt: true, item: NO_ITEM })
    },
  )

  it.each(BOTH)('is not in doubt if that try was rejected, or if there was none: %s', async (call) => {
    const one = world()
    expect(await one[call]()).toEqual({
      kind: call === 'write' ? 'applied' : 'deleted',
      item: NO_ITEM,
      afterDoubt: false,
    })
    one.fates.push('throttled')
    expect(await one[call]()).toMatchObject({ afterDoubt: false })
  })

  it.each(BOTH)('is in doubt as well if the SDK has sent it again: %s', async (call) => {
    const one = world()
    one.resent = true
    expect(await one[call]()).toMatchObject({ afterDoubt: true })
  })
})

describe('the circuit breaker of the table', () => {
  async function failing(failure: StoreFailure = 'unreachable') {
    const one = world()
    for (let i = 0; i < 5; i++) {
      one.fates.push(failure, failure, failure)
      await one.read().catch(() => {})
    }
    one.fates.length = 0
    return one
  }

  it('stops calls for a while, which fail with the reason of the last failure', async () => {
    const one = await failing()
    const { calls } = one
    await expect(one.read()).rejects.toMatchObject({
      reason: 'unreachable',
      message: expect.stringContaining('(unreachable)'),
    })
    expect(one.calls).toBe(calls)
    expect(one.events.filter(({ kind }) => kind === 'circuit')).toEqual([{ kind: 'circuit', state: 'open' }])
  })

  it('lets a call probe with all its tries after a while, and then closes', async () => {
    const one = await failing()
    one.now += 2000
    one.fates.push('unreachable', 'unreachable')
    const { calls } = one
    expect(await one.read()).toBe(NO_ITEM)
    expect(one.calls - calls).toBe(3)
    expect(one.events.at(-1)).toEqual({ kind: 'circuit', state: 'closed' })
    await one.read()
    expect(one.calls - calls).toBe(4)
  })

  it.each(['hot-key', 'contention', 'item'] as const)(
    'does not open for failures of single items: %s',
    async (failure) => {
      const one = await failing(failure)
      expect(await one.read()).toBe(NO_ITEM)
      expect(one.events.filter(({ kind }) => kind === 'circuit')).toEqual([])
    },
  )

  it('stops calls that were under way when it opened from trying again', async () => {
    const one = world()
    await one.read()
    let fail = (_: Error) => {}
    one.fates.push(
      new Promise<never>((_, reject) => {
        fail = reject
      }),
    )
    const read = one.store.read('k', one.store.deadline()).catch((error: Error) => error)
    for (let i = 0; i < 5; i++) {
      one.fates.push('refused')
      await one.store.read('k', one.store.deadline()).catch(() => {})
    }
    const { calls } = one
    fail(new StoreUnavailableError('unreachable', 'mine'))
    expect(await read).toMatchObject({ message: 'mine' })
    expect(one.calls).toBe(calls)
  })
})

describe('the ids of writes', () => {
  it('count up inside a range, and another range begins after it', () => {
    const random = jest.spyOn(Math, 'random').mockReturnValue(0)
    const { store } = world()
    const first = store.nextId()
    expect(first).toEqual({ mark: MARKS[0], value: 2 ** 32 + 1, rangeEnd: 2 ** 32 + 2 ** 20 })
    let last = first
    for (let i = 1; i < 2 ** 20; i++) last = store.nextId()
    expect(last.value).toBe(first.rangeEnd)
    random.mockReturnValue(0.5)
    expect(store.nextId().value).toBeGreaterThan(first.rangeEnd!)
    random.mockReturnValue(1 - 2 ** -30)
    const latest = world().store.nextId()
    expect(latest.mark).toBe(MARKS.at(-1))
    expect(latest.rangeEnd).toBeLessThanOrEqual(10 ** 12)
    expect(latest.rangeEnd).toBeGreaterThan(10 ** 12 - 2000)
  })

  it('are drawn anew only if another process writes in the same range', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5)
    const one = world()
    const { mark, value, rangeEnd } = one.store.nextId()
    jest.spyOn(Math, 'random').mockReturnValue(0.25)
    for (const found of [value - 1, rangeEnd! + 1, value]) {
      one.item = { ...NO_ITEM, marks: { [mark]: found } }
      await one.write(1, `subject of ${found}`)
    }
    one.item = { ...NO_ITEM, marks: { r8: value + 5 } }
    await one.write()
    expect(one.store.nextId()).toMatchObject({ mark, value: value + 1 })
    one.item = { ...NO_ITEM, marks: { [mark]: rangeEnd! } }
    await one.write(1, 'another')
    expect(one.store.nextId().value).toBeLessThan(value)
    one.item = { ...NO_ITEM, marks: { [mark]: one.store.nextId().value + 1 } }
    jest.spyOn(Math, 'random').mockReturnValue(0.75)
    await one.write()
    expect(one.store.nextId().value).toBeGreaterThan(value)
  })

  it('stand under a mark that nobody has there, once another process writes to the subject under theirs', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(0)
    const one = world()
    const { mark, value } = one.store.nextId()
    const markAfter = async (found: number, key: string): Promise<string> => {
      const marks = Object.fromEntries(MARKS.map((each) => [each, each === mark ? found : 1]))
      const { r3: _, ...withoutOne } = marks
      one.item = { ...NO_ITEM, marks: withoutOne }
      await one.write(1, key)
      return one.store.nextId().mark
    }
    expect(await markAfter(7, 'a')).toBe(mark) // which may have been written long ago
    expect(await markAfter(7, 'b')).toBe(mark)
    expect(await markAfter(value, 'b')).toBe(mark)
    expect(await markAfter(7, 'b')).toBe('r3')
  })
})

describe('the clock', () => {
  it('that was given is used whatever the store says, without fractions', async () => {
    const one = world()
    one.now += 0.7
    await one.read()
    expect([one.store.now(), one.signals[0]!.onServerTime]).toEqual([MIDNIGHT, undefined])
  })

  it('of the system is compared with the store’s', async () => {
    const one = world({ clock: systemClock })
    await one.read()
    expect(one.store.now()).toBe(Date.now())
    one.signals[0]!.onServerTime!(Date.now() + 3_600_000)
    expect(one.events.at(-1)).toMatchObject({ kind: 'clock', state: 'wrong' })
    expect(one.store.now()).toBe(Date.now() + 3_600_000)
  })
})

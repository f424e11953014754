import { ModuleKind, ScriptTarget, transpileModule } from 'typescript'
import {
  type AnyPolicyInput,
  ConfigError,
  createLimiter,
  type LimiterOptions,
  MemoryStore,
  ReservationError,
  type Slot,
  StoreUnavailableError,
} from '../../limiter'

const T = Date.UTC(2026, 0, 1)
const RUNNING: AnyPolicyInput = { name: 'running', algorithm: 'concurrency', limit: 3, timeout: '60s' }
const REQUESTS: AnyPolicyInput = { name: 'requests', algorithm: 'fixed-window', limit: 50, window: '1m' }
const TOKENS: AnyPolicyInput = { name: 'tokens', algorithm: 'fixed-window', limit: 1000, window: '1h', cost: 'tokens' }

/** Limiters over one store, of one clock. */
function scene(policies: readonly AnyPolicyInput[] = [RUNNING], more: Partial<LimiterOptions> = {}) {
  const store = new MemoryStore()
  const write = jest.spyOn(store, 'write')
  const read = jest.spyOn(store, 'read')
  const time = { now: T }
  const limiter = (own = policies) =>
    createLimiter({ store, policies: own, clock: () => time.now, onStoreError: 'throw', ...more })
  const calls = () => [write.mock.calls.length, read.mock.calls.length]
  const running = async () => {
    const { limit, remaining } = (await limiter().peek('a', { cost: 0 })).policies.running!
    return limit - remaining
  }
  return { store, write, read, time, limiter, one: limiter(), calls, running }
}

describe('acquire', () => {
  it('admits as many as the limit at one time, one write each, and one to release', async () => {
    const { one, calls, running } = scene()
    const slots: Slot[] = []
    for (let i = 0; i < 3; i++) slots.push(await one.acquire('a'))
    expect(slots.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 2],
      [true, 1],
      [true, 0],
    ])
    const denied = await one.acquire('a')
    expect(denied).toMatchObject({
      allowed: false,
      policy: 'running',
      remaining: 0,
      retryAfterMs: 1000,
      chargedAt: null,
    })
    expect(calls()).toEqual([3, 0])
    expect(await slots[1]!.release()).toBe(true)
    expect(calls()).toEqual([4, 0])
    expect(await running()).toBe(2)
    expect((await one.acquire('a')).allowed).toBe(true)
    expect(await denied.release()).toBe(false)
    expect(await running()).toBe(3)
  })

  it('takes one slot whatever the request costs, in the write that charges the other policies', async () => {
    const { one, calls, running, limiter } = scene([REQUESTS, TOKENS, RUNNING])
    const slot = await one.acquire('a', { cost: 7, costs: { tokens: 500 } })
    expect(calls()).toEqual([1, 0])
    expect(slot.policies).toMatchObject({
      requests: { remaining: 43 },
      tokens: { remaining: 500 },
      running: { remaining: 2 },
    })
    await slot.release()
    const after = await limiter().peek('a', { cost: 0 })
    expect(after.policies).toMatchObject({ requests: { remaining: 43 }, tokens: { remaining: 500 } })
    expect(await running()).toBe(0)
    expect(await one.acquire('a', { cost: 0, costs: { tokens: 5 } })).toMatchObject({
      policies: { running: { remaining: 2 } },
    })
  })

  it('that another policy denies holds nothing, and one that it denies charges nothing', async () => {
    const { one, running, limiter } = scene([REQUESTS, { ...RUNNING, limit: 1 }])
    expect(await one.acquire('a', { cost: 51 })).toMatchObject({ allowed: false, policy: 'requests' })
    expect(await running()).toBe(0)
    await one.acquire('a')
    expect(await one.acquire('a', { cost: 2 })).toMatchObject({ allowed: false, policy: 'running' })
    expect((await limiter().peek('a', { cost: 0 })).policies.requests!.remaining).toBe(49)
  })

  it('shares a write with others that come meanwhile, each with a slot of its own', async () => {
    const { one, calls, running } = scene()
    const slots = await Promise.all([one.acquire('a'), one.acquire('a'), one.acquire('a')])
    expect([slots.map(({ allowed }) => allowed), calls(), await running()]).toEqual([[true, true, true], [2, 0], 3])
    for (const left of [2, 1, 0]) expect([await slots[left]!.release(), await running()]).toEqual([true, left])
  })

  it('with no units of any cost only looks', async () => {
    const { one, running } = scene([TOKENS, RUNNING])
    expect(await one.acquire('a', { cost: 0, costs: { tokens: 0 } })).toMatchObject({ chargedAt: null })
    expect(await running()).toBe(0)
  })

  it('with a cost of 0 only looks', async () => {
    const { one, write, running } = scene()
    const slot = await one.acquire('a', { cost: 0 })
    expect([slot.allowed, slot.reservation, await slot.release()]).toEqual([true, undefined, false])
    expect(write).not.toHaveBeenCalled()
    expect(await running()).toBe(0)
  })

  it('settles what is reserved by the write that releases', async () => {
    const { one, calls, limiter, running } = scene([TOKENS, RUNNING])
    const slot = await one.acquire('a', { costs: { tokens: 500 }, reserve: '2m' })
    expect(await slot.release({ costs: { tokens: 100 } })).toBe(true)
    expect(calls()).toEqual([2, 0])
    expect((await limiter().peek('a', { cost: 0 })).policies.tokens!.remaining).toBe(900)
    expect(await running()).toBe(0)
    const other = await one.acquire('a', { costs: { tokens: 500 }, reserve: '2m' })
    expect(await limiter().settle(other.reservation!, 800)).toBe(true)
    expect([await running(), await other.release()]).toEqual([0, false])
    expect((await limiter().peek('a', { cost: 0 })).policies.tokens!.remaining).toBe(100)
  })

  it('may reserve units of another policy than one that is over', async () => {
    const { one, time, running, limiter } = scene([TOKENS, RUNNING])
    const slot = await one.acquire('a', { costs: { tokens: 500 }, reserve: '1h' })
    time.now += 120_000
    for (let i = 0; i < 3; i++) await limiter().acquire('a', { costs: { tokens: 1 } })
    expect(await slot.release(20)).toBe(true)
    expect(await running()).toBe(3)
    expect((await limiter().peek('a', { cost: 0 })).policies.tokens!.remaining).toBe(977)
  })

  it('is refused where no policy counts running requests, and with what reserves nothing', async () => {
    await expect(scene([REQUESTS]).one.acquire('a')).rejects.toThrow(
      'acquire needs a policy with algorithm "concurrency"',
    )
    const { one } = scene([TOKENS, RUNNING])
    for (const options of [{ reserve: '1ms' }, { reserve: 5 }, { reserve: '1m', costs: {} }, { costs: { '*': 1 } }])
      await expect(one.acquire('a', options as never)).rejects.toThrow(ConfigError)
  })
})

describe('a slot', () => {
  it('counts its release once, and frees no other', async () => {
    const { one, running, calls } = scene()
    const [first] = [await one.acquire('a'), await one.acquire('a')]
    expect(await Promise.all([first.release(), first.release(), first.release()])).toContain(true)
    const before = calls()
    expect(await first.release()).toBe(false)
    expect(calls()).toEqual(before)
    expect(await running()).toBe(1)
  })

  it('has a reservation where it is held, and a time of its charge where nothing else is reserved', async () => {
    const { one } = scene([{ ...RUNNING, limit: 2 }, TOKENS])
    const held = await one.acquire('a', { costs: { tokens: 5 } })
    const reserving = await one.acquire('a', { costs: { tokens: 5 }, reserve: '2m' })
    const denied = await one.acquire('a')
    expect([held, reserving, denied].map(({ chargedAt, ...slot }) => [chargedAt, 'reservation' in slot])).toEqual([
      [T, true],
      [null, true],
      [null, false],
    ])
  })

  it('is released by another process in one call, by its reservation', async () => {
    const { one, limiter, running, calls } = scene()
    const slot = await one.acquire('a')
    expect(await limiter().settle(slot.reservation!, {})).toBe(true)
    expect(calls()).toEqual([2, 0])
    expect(await running()).toBe(0)
    expect([await limiter().settle(slot.reservation!, {}), await slot.release()]).toEqual([false, false])
  })

  it('is released by a limiter with other policies, or none of them', async () => {
    const { one, limiter, running } = scene()
    const [slot, other] = [await one.acquire('a'), await one.acquire('a')]
    expect(await limiter([REQUESTS]).settle(slot.reservation!, {})).toBe(true)
    expect(await limiter([{ ...RUNNING, limit: 1, timeout: '1h' }]).settle(other.reservation!, {})).toBe(true)
    expect(await running()).toBe(0)
    await expect(one.settle('nothing', {})).rejects.toThrow(ReservationError)
  })

  it('lasts until its timeout, and a second for clocks that differ', async () => {
    const { one, time } = scene()
    const slots = [await one.acquire('a'), await one.acquire('a'), await one.acquire('a')]
    time.now += 60_999
    expect((await one.acquire('a')).allowed).toBe(false)
    time.now += 1
    expect((await one.acquire('a')).allowed).toBe(true)
    expect(await slots[2]!.release()).toBe(false) // its room was needed
  })

  it.each([true, false])(
    'whose timeout is over is not released any more, whether or not it is still stored (%s)',
    async (isStored) => {
      const { one, time, running } = scene()
      const slot = await one.acquire('a')
      time.now += 90_000
      expect(await running()).toBe(0)
      for (let i = 0; i < (isStored ? 1 : 3); i++) await one.acquire('a')
      expect(await slot.release()).toBe(false)
      expect(await running()).toBe(isStored ? 1 : 3)
    },
  )

  it.each([
    [59_999, true],
    [60_000, false],
  ])('that was admitted without the store is released until its timeout: after %d ms %s', async (ms, isReleased) => {
    const { one, time, write } = scene([RUNNING], { onStoreError: 'local' })
    write.mockRejectedValue(new StoreUnavailableError('unreachable', 'away'))
    const slot = await one.acquire('a')
    expect(slot).toMatchObject({ allowed: true, degraded: true })
    time.now += ms
    expect([await slot.release(), await slot.release()]).toEqual([isReleased, false])
  })

  it('is gone after a reset, which frees all', async () => {
    const { one, limiter, running } = scene()
    const slot = await one.acquire('a')
    await limiter().reset('a')
    expect(await running()).toBe(0)
    for (let i = 0; i < 3; i++) await limiter().acquire('a')
    expect([await slot.release(), await running()]).toEqual([false, 3])
  })

  it('is left alone by a refund', async () => {
    const { one, running } = scene([REQUESTS, RUNNING])
    const { chargedAt } = await one.acquire('a', { cost: 5 })
    await one.refund('a', 5, { chargedAt })
    expect(await running()).toBe(1)
    expect((await one.peek('a', { cost: 0 })).policies.requests!.remaining).toBe(50)
  })

  it('is released at the end of a block, also of one that throws', async () => {
    const { one, running } = scene()
    const { outputText } = transpileModule(
      `exports.run = async (limiter, work) => { await using slot = await limiter.acquire('a'); return await work(slot) }`,
      { compilerOptions: { target: ScriptTarget.ES2022, module: ModuleKind.CommonJS } },
    )
    const compiled: { run?: (limiter: unknown, work: (slot: Slot) => Promise<unknown>) => Promise<unknown> } = {}
    new Function('exports', outputText)(compiled)
    const run = compiled.run!
    expect(await run(one, async ({ allowed }) => [allowed, await running()])).toEqual([true, 1])
    expect(await running()).toBe(0)
    await expect(run(one, async () => Promise.reject(new Error('work')))).rejects.toThrow('work')
    expect(await running()).toBe(0)
    expect(await run(one, async (slot) => slot.release())).toBe(true)
  })

  it('whose release cannot reach the store says so, and is no error at the end of a block', async () => {
    const { one, write, running } = scene([RUNNING], { deadlineMs: 20, firstDeadlineMs: 50 })
    const slot = await one.acquire('a')
    const failing = async () => Promise.reject(new StoreUnavailableError('unreachable', 'no connection'))
    write.mockImplementation(failing)
    await expect(slot.release()).rejects.toThrow(StoreUnavailableError)
    await (slot as unknown as AsyncDisposable)[Symbol.asyncDispose]()
    write.mockRestore()
    expect(await running()).toBe(1)
    expect([await slot.release(), await running()]).toEqual([true, 0])
  })
})

describe('a limiter with a policy on running requests', () => {
  it.each(['take', 'takeAll', 'waitFor'] as const)('refuses %s, and names acquire', async (method) => {
    const { one, write } = scene([REQUESTS, RUNNING])
    const subject = method === 'takeAll' ? [{ subject: 'a' }] : 'a'
    await expect((one[method] as (subject: never) => Promise<unknown>)(subject as never)).rejects.toThrow(
      `${method} does not go with policy "running", which counts running requests: call acquire`,
    )
    expect(write).not.toHaveBeenCalled()
  })

  it('shows it to peek', async () => {
    const { one, time } = scene()
    await one.acquire('a')
    time.now += 20_000
    expect((await one.peek('a')).policies.running).toMatchObject({ allowed: true, limit: 3, remaining: 2 })
    expect(await one.peek('a', { cost: 0 })).toMatchObject({ remaining: 2, resetAfterMs: 40_000 })
  })

  it('remembers a denial for 200 ms, in which another process may release', async () => {
    const { one, limiter, time, calls } = scene([{ ...RUNNING, limit: 1 }])
    const slot = await limiter().acquire('a')
    expect((await one.acquire('a')).allowed).toBe(false)
    const before = calls()
    await limiter().settle(slot.reservation!, {})
    time.now += 200
    expect((await one.acquire('a')).allowed).toBe(false)
    expect(calls()).toEqual([before[0]! + 1, before[1]])
    time.now += 1
    expect((await one.acquire('a')).allowed).toBe(true)
  })

  it('that only observes admits past the limit, and has slots below it', async () => {
    const { one, running } = scene([{ ...RUNNING, limit: 1, action: 'observe' }])
    const [first, second] = [await one.acquire('a'), await one.acquire('a')]
    expect([first.observed, second.observed, second.allowed, second.chargedAt]).toEqual([false, true, true, null])
    expect([second.reservation, await second.release(), await running()]).toEqual([undefined, false, 1])
    expect([await first.release(), await running()]).toEqual([true, 0])
  })

  it('whose limit is lowered removes what is over by denials, and admits when there is room', async () => {
    const { limiter, time, store } = scene()
    const wide = limiter([{ ...RUNNING, limit: 1000 }])
    for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 20 }, () => wide.acquire('a')))
    time.now += 120_000
    const narrow = limiter()
    let denials = 0
    while (!(await narrow.acquire('a')).allowed && denials < 20) {
      denials++
      time.now += 1000
    }
    expect(denials).toBe(3)
    const [key] = [...(store as unknown as { items: Map<string, unknown> }).items.keys()]
    const [fields] = Object.values((await store.read(key!)).policies)
    expect(Object.keys(fields!).length - 1).toBe(fields!.n)
  })
})

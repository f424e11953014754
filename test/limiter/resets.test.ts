import { createLimiter, MemoryStore, type PolicyInput, type StateStore } from '../../limiter'
import { reset } from '../../limiter/give-back'
import { RESERVATIONS } from '../../limiter/reservations/reserved'
import type { StoreCalls } from '../../limiter/store-calls'
import { toUpdate } from '../../limiter/stores/expressions'
import { type ItemWrite, REFUND_MARK } from '../../limiter/stores/store'
import { openEngine, UNDER_MUTATION } from '../stores'
import { itemsOf, MIDNIGHT } from './limiters'
import { COUNTINGS } from './lost-answers'

const T = MIDNIGHT + 60_000
const { 'leaky-bucket as a queue': _, ...SETTLED } = COUNTINGS

describe.each(Object.entries(SETTLED))('%s of everybody, after a reset', (_name, counting) => {
  const everybody: PolicyInput = { name: 'everybody', limit: 200, window: '1h', cost: 'tokens', ...counting }
  const policies: PolicyInput[] = [{ ...everybody, name: 'own' }, everybody]

  function scene() {
    const store = new MemoryStore()
    let now = T
    let isLate = false
    let arrive = () => {}
    const late = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const write = store.write.bind(store)
    jest.spyOn(store, 'write').mockImplementation(async (key, ...call) => {
      if (isLate) await late
      return write(key, ...call)
    })
    const limiter = (skewMs = 0) =>
      createLimiter({ store, policies, clock: () => now + skewMs, onStoreError: 'throw', deadlineMs: 5000 })
    const reserve = (caller: string, tokens: number, by = limiter()) =>
      by.takeAll(
        [
          { subject: caller, policies: ['own'] },
          { subject: 'all', policies: ['everybody'] },
        ],
        { costs: { tokens }, reserve: '10m' },
      )
    const used = async () => 200 - (await limiter().peek('all', { cost: 0 })).policies.everybody!.remaining
    return {
      limiter,
      reserve,
      used,
      after: (ms: number) => {
        now += ms
      },
      reserveLate: async (caller: string, tokens: number) => {
        isLate = true
        const reserving = reserve(caller, tokens)
        await new Promise(setImmediate)
        isLate = false
        return async () => {
          arrive()
          return reserving
        }
      },
    }
  }

  it('gets nothing back that was reserved before, if a request arrives late that was decided before', async () => {
    const { limiter, reserve, reserveLate, used } = scene()
    const { reservation } = await reserve('a', 20)
    const arrive = await reserveLate('b', 7)
    await limiter().reset('all')
    await arrive()
    expect(await limiter().settle(reservation!, 0)).toBe(true)
    expect(await used()).toBe(7)
  })

  it.each([
    ['is a second behind', 0, -1000],
    ['was a second ahead', 1000, 0],
  ])('gets nothing back that was reserved before, if a clock %s', async (_, beforeMs, afterMs) => {
    const { limiter, reserve, used } = scene()
    await reserve('first', 1)
    const { reservation } = await reserve('a', 20, limiter(beforeMs))
    await limiter().reset('all')
    await reserve('b', 7, limiter(afterMs))
    expect(await limiter().settle(reservation!, 0)).toBe(true)
    expect(await used()).toBe(7)
  })

  it('gets back what is reserved more than a second later, and is charged debts as ever', async () => {
    const { limiter, reserve, used, after } = scene()
    await reserve('a', 20)
    await limiter().reset('all')
    after(1001)
    const [less, more] = [await reserve('b', 10), await reserve('c', 10)]
    await limiter().settle(less.reservation!, 4)
    await limiter().settle(more.reservation!, 15)
    expect(await used()).toBe(19)
  })
})

/** An item of which units are reserved, and calls of which the first answer may be lost. */
async function world(fields: Readonly<Record<string, number>>, store: StateStore = new MemoryStore()) {
  const prefix = 'a1Zz'
  const all = { writes: [] as ItemWrite[], deletes: 0 }
  let ids = 1000
  const charge = (field: string, mark = 'r2') =>
    store.write('k', {
      parts: [{ prefix, write: { guard: [], assignments: [{ field, add: 1 }] } }],
      id: { mark, value: ++ids },
      at: T,
    })
  const assignments = Object.entries(fields).map(([field, set]) => ({ field, set }))
  for (let i = 0; i < assignments.length; i += 50) {
    await store.write('k', {
      parts: [
        { prefix, write: { guard: [], assignments: assignments.slice(i, i + 50) } },
        { prefix: RESERVATIONS.prefix, write: { guard: [], assignments: [{ field: 'b', set: T - 5000 }] } },
      ],
      id: { mark: 'r1', value: ++ids },
      expiresAtSeconds: 4_102_444_800,
      at: T,
    })
  }
  const plan: { lost?: boolean; after?: () => Promise<unknown>; before?: () => Promise<unknown> }[] = []
  const calls = {
    now: () => T,
    nextId: () => ({ mark: 'r1', value: ++ids }),
    read: (key: string) => store.read(key),
    async write(key: string, write: ItemWrite) {
      toUpdate(write) // throws where DynamoDB does not take it
      all.writes.push(write)
      const { lost = false, before, after } = plan.shift() ?? {}
      await before?.()
      const answer = await store.write(key, write)
      await after?.()
      return { ...(lost ? await store.write(key, write) : answer), afterDoubt: lost }
    },
    delete: () => {
      throw new Error('is not deleted')
    },
  }
  return Object.assign(all, {
    plan,
    charge,
    store,
    item: () => store.read('k'),
    reset: async () => {
      const items = itemsOf(calls as unknown as StoreCalls, T)
      return items.run('k', reset(items))
    },
  })
}

/** Fields named like holds. */
const holds = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [String(i).padStart(25, '0'), T + 60_000]))

describe('a reset of a subject of which units are reserved', () => {
  it.each([1, 99, 100, 1000])('leaves none of %d fields, by writes that DynamoDB takes', async (count) => {
    const { reset, item, writes } = await world(holds(count))
    await reset()
    const { policies, marks, expiresAtSeconds } = await item()
    expect(policies).toEqual({ a1Zz: {}, [RESERVATIONS.prefix]: { b: T + 1001 } })
    expect([marks, expiresAtSeconds]).toEqual([
      { r1: expect.any(Number), [REFUND_MARK]: expect.any(Number) },
      4_102_444_800,
    ])
    expect(writes).toHaveLength(Math.ceil((count + 1) / 100))
  })

  const itOnEngines = UNDER_MUTATION ? it.skip : it
  itOnEngines('does so on an engine, too', async () => {
    const engine = await openEngine('dynalite')
    try {
      const { reset, item, charge } = await world(holds(150), engine.store)
      await reset()
      expect((await item()).policies).toEqual({ [RESERVATIONS.prefix]: { b: T + 1001 } })
      await charge('c')
      await reset()
      expect((await item()).policies).toEqual({ [RESERVATIONS.prefix]: { b: T + 1002 } })
    } finally {
      await engine.close()
    }
  })

  it('wipes its lock-out, and what it has reserved itself', async () => {
    const { reset, item, store } = await world({ c: 5, b: T + 900_000 })
    const own = { prefix: RESERVATIONS.prefix, write: { guard: [], assignments: [{ field: 'n', add: 1 }] } }
    await store.write('k', { parts: [own], id: { mark: 'r2', value: 1 }, at: T })
    await reset()
    expect((await item()).policies).toEqual({ a1Zz: {}, [RESERVATIONS.prefix]: { b: T + 1001 } })
  })

  it('makes no write where nothing was charged since the last one', async () => {
    const { reset, item, writes } = await world(holds(1))
    await reset()
    const after = await item()
    await reset()
    expect([writes.length, await item()]).toEqual([1, after])
  })

  it('wipes what is charged until it has ended, by one write more, and nothing after', async () => {
    for (const at of [0, 1, 2]) {
      const { reset, item, plan, charge, writes } = await world(holds(250))
      plan.push(...Array.from({ length: at }, () => ({})), { before: () => charge('c') })
      await reset()
      expect([at, writes.length, (await item()).policies.a1Zz]).toEqual([at, 4, {}])
    }
  })

  it('whose answer is lost has ended, whoever wrote since', async () => {
    const { reset, item, plan, charge, store, writes } = await world(holds(1))
    plan.push({
      lost: true,
      after: async () => {
        await charge('c')
        const { marks } = await store.read('k')
        const { [REFUND_MARK]: seen } = marks
        await store.write('k', { parts: [], id: { mark: REFUND_MARK, value: 7 }, whileMarks: { r8: seen }, at: T })
      },
    })
    await reset()
    expect([(await item()).policies.a1Zz, writes.length]).toEqual([{ c: 1 }, 1])
  })

  it('goes on where its answer was lost and it was not applied', async () => {
    const { reset, item, plan, charge } = await world(holds(1))
    plan.push({ lost: true, before: () => charge('c') })
    await reset()
    expect((await item()).policies.a1Zz).toEqual({})
  })
})

import type { CompiledPolicy } from '../../limiter/compiled-policy'
import type { Deadline } from '../../limiter/deadline'
import { Decider } from '../../limiter/decider'
import type { StoreUnavailableError } from '../../limiter/errors'
import { refund, reset } from '../../limiter/give-back'
import { RESERVATIONS } from '../../limiter/reservations/reserved'
import { MemoryStore } from '../../limiter/stores/memory-store'
import { type Item, type ItemWrite, NO_ITEM, REFUND_MARK, type WriteOutcome } from '../../limiter/stores/store'
import { Subjects } from '../../limiter/subject'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

const T = MIDNIGHT + 1000
const [OURS, THEIRS] = ['r1', 'r2']
const minute = compiled({ name: 'minute', algorithm: 'fixed-window', limit: 100, window: '1m' })

type Before = (store: Store) => Promise<unknown>
type Store = ReturnType<typeof world>

/** A subject in a store in memory, with events just before and after our calls reach it. */
function world(policies: readonly CompiledPolicy[] = minute) {
  const memory = new MemoryStore()
  const deadline = { leftMs: 1000 }
  const world = { ids: 100, now: T, writes: [] as ItemWrite[], deletes: 0, reads: 0 }
  const known = new Subjects(10, () => world.now)
  /** For each call: what happens before it, and whether its first answer is lost, so that it is sent twice. */
  const plan: { before?: Before; lost?: boolean; between?: Before }[] = []
  async function call<O>(send: () => Promise<O>): Promise<O & { afterDoubt: boolean }> {
    const { before, lost = false, between } = plan.shift() ?? {}
    await before?.(store)
    if (lost) await send()
    await between?.(store)
    return { ...(await send()), afterDoubt: lost }
  }
  const calls = {
    now: () => world.now,
    nextId: () => ({ mark: OURS, value: ++world.ids }),
    write(key: string, write: ItemWrite): Promise<WriteOutcome & { afterDoubt: boolean }> {
      world.writes.push(write)
      return call(() => memory.write(key, write))
    },
    read(key: string): Promise<Item> {
      world.reads++
      return memory.read(key)
    },
    delete(key: string, marks: Parameters<MemoryStore['delete']>[1]) {
      world.deletes++
      return call(() => memory.delete(key, marks))
    },
  }
  const stored = (memory as unknown as { items: Map<string, Item> }).items
  const recentView = (key: string) => {
    known.learn(key, stored.get(key) ?? NO_ITEM, world.now)
    return known.view(key)
  }
  const times = { deadlineMs: 1000, firstDeadlineMs: 1000, denialTtlMs: 5000 }
  const items = new Decider({
    store: memory,
    clock: () => world.now,
    ...times,
    maxSubjects: 10,
    onEvent: () => {},
  })
  Object.assign(items, { calls, subjects: known, recentView })
  const item = () => memory.read('k')
  const charge = async (units: number, mark = OURS, at = T) => {
    const { policies: stored } = await item()
    const parts = policies.map(({ counter, prefix }) => ({
      prefix,
      write: counter.step(stored[prefix] ?? {}, units, at).write!,
    }))
    await memory.write('k', { parts, id: { mark: mark!, value: ++world.ids }, at })
  }
  const used = async () => {
    const { policies: stored } = await item()
    return policies.map(
      ({ counter, prefix, limit }) => limit - counter.step(stored[prefix] ?? {}, 0, world.now).verdict.remaining,
    )
  }
  const store = Object.assign(world, {
    memory,
    known,
    plan,
    deadline,
    item,
    charge,
    used,
    refund: (units: number, at = T, delayMs?: number) =>
      items.run('k', refund(items, { key: 'k', policies, cost: units }, { at, delayMs }), deadline as Deadline),
    reset: () => items.run('k', reset(items), deadline as Deadline),
    /** Another process refunds a unit. */
    theirRefund: async () => {
      const marks = { [REFUND_MARK]: (await item()).marks[REFUND_MARK] }
      await memory.write('k', { parts: [], id: { mark: REFUND_MARK, value: ++world.ids }, whileMarks: marks, at: T })
    },
    theirReset: async () => memory.delete('k', {}),
  })
  return store
}
async function charged(units = 10, policies = minute) {
  const store = world(policies)
  await store.charge(units)
  return store
}
const reasonOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: StoreUnavailableError) => `${error.reason}: ${error.message}`,
  )

describe('a refund', () => {
  it('is one write under an idempotency mark that all refunds share, and updates the view', async () => {
    const store = await charged()
    await store.refund(4)
    expect(await store.used()).toEqual([6])
    expect(store.writes).toHaveLength(1)
    expect(store.writes[0]).toMatchObject({ id: { mark: REFUND_MARK }, at: T })
    expect(store.known.view('k')!.item).toEqual(await store.item())
    expect(store.writes[0]!.id).not.toHaveProperty('rangeEnd')
  })

  it('for a past window makes no write', async () => {
    const store = await charged()
    store.now = MIDNIGHT + 61_000
    await store.refund(4, MIDNIGHT + 61_000)
    expect(store.writes).toEqual([])
  })

  it('applies only while our own mark is as seen, and after the first refund while the mark of refunds is', async () => {
    const store = await charged()
    const mark = (await store.item()).marks[OURS!]
    await store.refund(1)
    expect(store.writes[0]!.whileMarks).toEqual({ [OURS!]: mark, [REFUND_MARK]: undefined })
    await store.refund(1)
    expect(store.writes[1]!.whileMarks).toEqual({ [REFUND_MARK]: store.writes[0]!.id.value })
    expect(await store.used()).toEqual([8])
  })

  it('relies on the mark of another instance if we have not written', async () => {
    const store = world()
    await store.charge(10, THEIRS)
    await store.refund(1)
    expect(Object.keys(store.writes[0]!.whileMarks!).sort()).toEqual([THEIRS, REFUND_MARK])
  })

  it('relies on no mark but that of refunds where the item has none', async () => {
    const store = await charged()
    const { items } = store.memory as unknown as { items: Map<string, Item> }
    items.set('k', { ...(await store.item()), marks: {} })
    await store.refund(4)
    expect([Object.keys(store.writes[0]!.whileMarks!), await store.used()]).toEqual([[REFUND_MARK], [6]])
  })

  it('that conflicts first writes its own mark, and is then tried again', async () => {
    const store = await charged()
    store.plan.push({ before: ({ charge }) => charge(5) })
    await store.refund(4)
    expect(await store.used()).toEqual([11])
    expect(store.writes).toHaveLength(3)
    const [, marking, refund] = store.writes as [ItemWrite, ItemWrite, ItemWrite]
    expect(marking.parts.flatMap(({ write }) => write.assignments)).toEqual([])
    expect(marking.parts[0]!.write.guard).toEqual(refund.parts[0]!.write.guard)
    expect([marking.id.mark, marking.whileMarks]).toEqual([REFUND_MARK, { [REFUND_MARK]: undefined }])
    expect(refund.whileMarks).toEqual({ [REFUND_MARK]: marking.id.value })
  })

  it('that finds the mark of another refund writes none', async () => {
    const store = await charged()
    store.plan.push({ before: ({ theirRefund }) => theirRefund() })
    await store.refund(4)
    expect([store.writes.length, await store.used()]).toEqual([2, [6]])
  })

  it('whose answer is lost counts once', async () => {
    const store = await charged()
    store.plan.push({ lost: true })
    await store.refund(4)
    expect([store.writes.length, await store.used()]).toEqual([1, [6]])
    expect(store.known.view('k')!.item).toEqual(await store.item())
  })

  it('that conflicts in doubt counts once, even if the earlier try arrives before the next', async () => {
    const store = await charged()
    const before = await store.item()
    const write = store.memory.write.bind(store.memory)
    const lost = jest.spyOn(store.memory, 'write').mockResolvedValueOnce({ kind: 'refused', item: before })
    lost.mockImplementationOnce(async (...copy) => {
      await write(...copy)
      return { kind: 'refused', item: before }
    })
    store.plan.push({ lost: true })
    await store.refund(4)
    expect([store.writes.length, await store.used()]).toEqual([1, [6]])
  })

  it('writes no mark if another refund has written one meanwhile', async () => {
    const store = await charged()
    store.plan.push({ before: ({ charge }) => charge(5) }, { before: ({ theirRefund }) => theirRefund() })
    await store.refund(4)
    expect(await store.used()).toEqual([11])
    const [, marking, refund] = store.writes as [ItemWrite, ItemWrite, ItemWrite]
    expect(refund.whileMarks).toEqual({ [REFUND_MARK]: expect.any(Number) })
    expect(refund.whileMarks).not.toEqual({ [REFUND_MARK]: marking.id.value })
  })

  it('whose answer is lost counts once even if other units were charged after it', async () => {
    const store = await charged()
    store.plan.push({ lost: true, between: ({ charge }) => charge(3, THEIRS) })
    await store.refund(4)
    expect(await store.used()).toEqual([9])
  })

  it('whose answer is lost is in doubt after another refund', async () => {
    const store = await charged()
    store.plan.push({ lost: true, between: ({ theirRefund }) => theirRefund() })
    expect(await reasonOf(store.refund(4))).toBe(
      'in-doubt: the answer to a refund was lost, and others have given units back since: these may still be charged',
    )
    expect(await store.used()).toEqual([6])
  })

  it('whose answer is lost is in doubt after the subject was reset and charged again', async () => {
    const store = await charged()
    store.plan.push({
      lost: true,
      between: async ({ theirReset, charge }) => {
        await theirReset()
        await charge(7, THEIRS)
      },
    })
    expect(await reasonOf(store.refund(4))).toBe(
      'in-doubt: the answer to a refund was lost, and others have written since: the units may still be charged',
    )
    expect(await store.used()).toEqual([7])
  })

  it('that conflicts after a doubt is tried again while the marks that it relies on are as seen', async () => {
    const store = await charged()
    const refused = { kind: 'refused', item: await store.item() } as const
    jest.spyOn(store.memory, 'write').mockResolvedValueOnce(refused).mockResolvedValueOnce(refused)
    store.plan.push({ lost: true })
    await store.refund(4)
    expect(await store.used()).toEqual([6])
    expect(store.writes.map(({ whileMarks }) => whileMarks)).toEqual(
      Array(2).fill({ [OURS!]: expect.any(Number), [REFUND_MARK]: undefined }),
    )
  })

  it('is given up at the deadline, after at least one try', async () => {
    const store = await charged()
    store.deadline.leftMs = 0
    await store.refund(4)
    expect(await store.used()).toEqual([6])
    const other = await charged()
    other.deadline.leftMs = 0
    other.plan.push({ before: ({ charge }) => charge(1) })
    expect(await reasonOf(other.refund(4))).toBe('contention: others kept changing the subject until the deadline')
    expect([other.writes.length, await other.used()]).toEqual([1, [11]])
  })

  it('of many policies is several writes if one write has no room, and each policy gets its units once', async () => {
    const logs = Array.from(
      { length: 30 },
      (_, i) => ({ name: `p${i}`, algorithm: 'sliding-buckets', limit: 100, window: '1m', buckets: 60 }) as const,
    )
    const policies = compiled(...logs)
    const store = world(policies)
    for (let i = 0; i < 12; i++) await store.charge(3, OURS, MIDNIGHT + i * 1000)
    store.now = MIDNIGHT + 11_000
    await store.refund(30, MIDNIGHT + 11_000)
    expect(store.writes.length).toBeGreaterThan(1)
    expect(store.writes.flatMap(({ parts }) => parts.map(({ prefix }) => prefix)).sort()).toEqual(
      policies.map(({ prefix }) => prefix).sort(),
    )
    expect(await store.used()).toEqual(Array(30).fill(6))
  })
})

describe('a refund of a delayed request', () => {
  const waiting = (name: string) =>
    ({ name, algorithm: 'fixed-window', limit: 2, window: '10s', action: 'delay', maxDelay: '5s' }) as const
  const at = MIDNIGHT + 6000
  async function queued(policies: CompiledPolicy[]) {
    const store = world(policies)
    store.now = at
    await store.charge(2, OURS, at)
    await store.charge(1, OURS, at) // its queue slot is in four seconds
    return store
  }
  const usedAtTurn = async (store: Store) => {
    store.now = MIDNIGHT + 10_000
    return store.used()
  }

  it('finds its units at its queue slot', async () => {
    const store = await queued(compiled(waiting('a')))
    await store.refund(1, at, 4000)
    expect(await usedAtTurn(store)).toEqual([0])
  })

  it('finds its units also under a policy without a queue', async () => {
    const plain = { name: 'plain', algorithm: 'fixed-window', limit: 10, window: '1m' } as const
    const store = await queued(compiled(waiting('a'), plain))
    await store.refund(1, at, 4000)
    expect(await usedAtTurn(store)).toEqual([0, 2])
  })

  it('needs no delayMs if the request was not delayed', async () => {
    const store = world(compiled(waiting('a')))
    store.now = at
    await store.charge(2, OURS, at)
    await store.refund(1, at)
    expect(await store.used()).toEqual([1])
  })

  it('takes no units of other requests if the delay is unknown', async () => {
    const store = await queued(compiled(waiting('a')))
    await store.refund(1, at)
    expect([store.writes, await usedAtTurn(store)]).toEqual([[], [1]])
  })

  it('takes no units of other requests if two policies have queues, since either may have delayed it', async () => {
    const store = await queued(compiled(waiting('a'), waiting('b')))
    await store.refund(1, at, 4000)
    expect([store.writes, await usedAtTurn(store)]).toEqual([[], [1, 1]])
  })
})

describe('a reset', () => {
  it('deletes the item that was seen', async () => {
    const store = await charged()
    await store.reset()
    expect([await store.used(), store.deletes, store.reads]).toEqual([[0], 1, 1])
  })

  it('of a subject without an item only reads', async () => {
    const store = world()
    await store.reset()
    expect([store.deletes, store.reads]).toEqual([0, 1])
  })

  it('deletes an item that has counts and no mark, as somebody may have written by hand', async () => {
    const store = await charged()
    const { items } = store.memory as unknown as { items: Map<string, Item> }
    items.set('k', { ...(await store.item()), marks: {} })
    await store.reset()
    expect([await store.used(), store.deletes]).toEqual([[0], 1])
  })

  it('leaves an item of which only marks are left', async () => {
    const store = world()
    await store.theirRefund()
    await store.reset()
    expect([(await store.item()).marks, store.deletes]).toEqual([{ [REFUND_MARK]: expect.any(Number) }, 0])
  })

  it('that conflicts deletes the item that it found', async () => {
    const store = await charged()
    store.plan.push({ before: ({ charge }) => charge(5) })
    await store.reset()
    expect([await store.used(), store.deletes, store.reads]).toEqual([[0], 2, 1])
  })

  it('empties an item of which others have reserved units just before it was deleted', async () => {
    const store = await charged()
    const write = { guard: [], assignments: [{ field: 'b', set: T }] }
    const reserve = () =>
      store.memory.write('k', { parts: [{ prefix: RESERVATIONS.prefix, write }], id: { mark: 'r3', value: 1 }, at: T })
    store.plan.push({ before: reserve })
    await store.reset()
    expect([await store.used(), store.deletes, store.writes.length]).toEqual([[0], 1, 1])
  })

  it('whose answer is lost is done where nothing is left', async () => {
    const store = await charged()
    store.plan.push({ lost: true })
    expect(await reasonOf(store.reset())).toBe('done')
    expect(store.deletes).toBe(1)
  })

  it('that finds no item is done', async () => {
    const store = await charged()
    store.plan.push({ before: ({ theirReset }) => theirReset() })
    await store.reset()
    expect(store.deletes).toBe(1)
  })

  it('whose answer is lost is in doubt if the subject was charged anew, and deletes no later charges', async () => {
    const store = await charged()
    store.plan.push({ lost: true, between: ({ charge }) => charge(7, THEIRS) })
    expect(await reasonOf(store.reset())).toBe(
      'in-doubt: the answer to a reset was lost, and others have written since: the quotas may not have been full',
    )
    expect(await store.used()).toEqual([7])
  })

  it('that conflicts in doubt goes on while a mark shows that the item was not deleted', async () => {
    const store = await charged()
    await store.charge(1, THEIRS)
    store.plan.push({ before: ({ charge }) => charge(2), lost: true })
    await store.reset()
    expect([await store.used(), store.deletes]).toEqual([[0], 2])
  })

  it('is given up at the deadline', async () => {
    const store = await charged()
    store.plan.push({
      before: async ({ charge, deadline }) => {
        await charge(1)
        deadline.leftMs = 0
      },
    })
    expect(await reasonOf(store.reset())).toBe('contention: others kept changing the subject until the deadline')
    expect(store.deletes).toBe(1)
  })
})

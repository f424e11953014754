import { createLimiter, type ItemWrite, MemoryStore, type StateStore, StoreUnavailableError } from '../../limiter'
import { runs } from '../runs'
import { MIDNIGHT } from './limiters'

const POLICIES = [{ name: 'p', algorithm: 'fixed-window', limit: 1000, window: '1h' }] as const

/** A limiter, its writes in order, and whether the next answer is lost. */
function world(store = new MemoryStore()) {
  const writes: ItemWrite[] = []
  const hooks: { afterWrite?: () => Promise<void> } = {}
  const spy: StateStore = {
    async write(key, write) {
      writes.push(write)
      const outcome = await store.write(key, write)
      const { afterWrite } = hooks
      hooks.afterWrite = undefined
      await afterWrite?.()
      return outcome
    },
    read: (key) => store.read(key),
    delete: (key, whileMarks) => store.delete(key, whileMarks),
  }
  const limiter = createLimiter({
    store: spy,
    clock: () => MIDNIGHT,
    policies: POLICIES,
    onStoreError: 'throw',
    deadlineMs: 5000,
  })
  return { store, limiter, writes, hooks }
}

const usedIn = async (
  store: StateStore,
  limiter = createLimiter({ store, clock: () => MIDNIGHT, policies: POLICIES }),
) => 1000 - (await limiter.peek('s', { cost: 0 })).remaining

/** Runs something with `Math.random` fixed to one number. */
async function drawing<T>(number: number, run: () => T | Promise<T>): Promise<T> {
  const random = jest.spyOn(Math, 'random').mockReturnValue(number)
  try {
    const made = await run()
    await new Promise(setImmediate) // its code is loaded, and has drawn
    return made
  } finally {
    random.mockRestore()
  }
}

it('write ids count up, have at most twelve digits, and are above those of old releases', async () => {
  const { limiter, writes } = world()
  for (let i = 0; i < 3; i++) await limiter.take('s')
  const ids = writes.map(({ id }) => id.value)
  expect(ids).toEqual([ids[0], ids[0]! + 1, ids[0]! + 2])
  for (const { id } of writes)
    expect([id.value > 2 ** 32, id.rangeEnd! < 10 ** 12, id.rangeEnd! - id.value >= 0]).toEqual([true, true, true])
})

it('a late copy of an answered write is refused after a newer write of its process', async () => {
  const { limiter, store, writes } = world()
  await limiter.take('s')
  await limiter.take('s')
  expect((await store.write('subject#', writes[0]!)).kind).toBe('applied') // another subject's item has no mark of it
  const key = [...(store as unknown as { items: Map<string, unknown> }).items.keys()][0]!
  expect((await store.write(key, writes[0]!)).kind).toBe('refused')
  expect(await usedIn(store)).toBe(2)
})

it('two processes that drew the same range draw new ones, and both go on', async () => {
  const { one, other, store } = await drawing(0.5, async () => {
    const one = world()
    await one.limiter.take('s') // draws its range
    return { one, other: world(one.store), store: one.store }
  })
  for (let i = 0; i < 3; i++) await one.limiter.take('s')
  await drawing(0.499_999_9, () => other.limiter.take('other')) // a little before, so that the other's marks look newer
  for (let i = 0; i < 5; i++)
    for (const { limiter } of [one, other]) expect((await limiter.take('s')).allowed).toBe(true)
  expect(await usedIn(store)).toBe(14)
  expect(new Set([...one.writes, ...other.writes].map(({ id }) => id.value)).size).toBe(
    one.writes.length + other.writes.length,
  )
})

it('instances of an old release, with small ids and a guard without ranges, work on the same item', async () => {
  const { limiter, store, writes } = world()
  await limiter.take('s')
  const key = [...(store as unknown as { items: Map<string, unknown> }).items.keys()][0]!
  const old = (value: number, mark: string): ItemWrite => ({ ...writes[0]!, id: { mark, value } })
  const { mark } = writes[0]!.id
  for (let i = 0; i < 4; i++) {
    expect((await store.write(key, old(100 + i, i % 2 === 0 ? mark : 'r9'))).kind).toBe('applied')
    expect((await store.write(key, old(100 + i, i % 2 === 0 ? mark : 'r9'))).kind).toBe('already-applied')
    expect((await limiter.take('s')).allowed).toBe(true)
  }
  await limiter.refund('s', 2)
  expect((await store.write(key, old(200, mark))).kind).toBe('applied')
  await limiter.refund('s', 2)
  expect(await usedIn(store)).toBe(1 + 8 + 1 - 4)
})

/** The percentage of lost answers that count twice, by the number of writes of 50 random instances in between. */
async function countedTwice(between: number, trials: number): Promise<number> {
  let seed = 1
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return seed / 2 ** 32
  }
  let twice = 0
  for (let trial = 0; trial < trials; trial++) {
    const spy = jest.spyOn(Math, 'random').mockImplementation(random) // the same marks in each run
    const mine = world()
    const fleet = Array.from({ length: 49 }, () => world(mine.store))
    const others = Array.from({ length: between }, () => fleet[Math.floor(random() * fleet.length)]!)
    await mine.limiter.take('s')
    mine.hooks.afterWrite = async () => {
      for (const { limiter } of others) await limiter.take('s')
      throw new StoreUnavailableError('unreachable', 'the answer is lost')
    }
    await mine.limiter.take('s')
    if ((await usedIn(mine.store)) > 2 + between) twice++
    spy.mockRestore()
  }
  return (100 * twice) / trials
}

/** The number of tries, and the largest error of the percentage found: two standard deviations at odds of a half. */
const TRIES = runs(80, 250)
const MARGIN = runs(9, 5)

it.each([
  [1, 12],
  [10, 70],
])(
  'a lost answer counts twice if another process with the same mark wrote in between: after %d writes in about %d of 100',
  async (between, odds) => {
    expect(Math.abs((await countedTwice(between, TRIES)) - odds)).toBeLessThan(MARGIN)
  },
)

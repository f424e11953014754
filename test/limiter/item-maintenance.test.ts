import { apply, type Fields } from '../../limiter/algorithms/conditional-write'
import type { Deadline } from '../../limiter/deadline'
import { StoreUnavailableError } from '../../limiter/errors'
import { purge } from '../../limiter/item-maintenance'
import { type Plan, READ } from '../../limiter/plan'
import type { StoreCalls } from '../../limiter/store-calls'
import { type Item, type ItemWrite, NO_ITEM } from '../../limiter/stores/store'
import { itemsOf, MIDNIGHT } from './limiters'
import { compiled } from './policies'
import { frozenDeadline } from './two-processes'

const policies = compiled(
  { name: 'second', algorithm: 'fixed-window', limit: 10, window: '1s' },
  { name: 'pace', algorithm: 'gcra', limit: 10, window: '1s' }, // has no expired fields
)
const [second] = policies as [(typeof policies)[0]]

/** An item with so many windows from a writer that purges nothing. */
function withWindows(count: number): Item {
  let fields: Fields = {}
  for (let i = 0; i < count; i++) {
    const { write } = second.counter.step({}, 1, MIDNIGHT + i * 3000)
    fields = { ...fields, ...apply(write!, {}) }
  }
  return { ...NO_ITEM, policies: { [second.prefix]: fields } }
}

function world(item: Item, answer: 'applied' | 'refused' | Error = 'applied') {
  const sent: { write: ItemWrite; tries: number | undefined }[] = []
  const calls = {
    nextId: () => ({ mark: 'r0', value: 7 }),
    read: async () => item,
    async write(_key: string, write: ItemWrite, _deadline: Deadline, tries?: number) {
      sent.push({ write, tries })
      if (answer instanceof Error) throw answer
      return { kind: answer, item, afterDoubt: false }
    },
  } as unknown as StoreCalls
  const items = itemsOf(calls, MIDNIGHT)
  const plan = () => purge(items, policies, item, MIDNIGHT)
  return { items, known: items.subjects, sent, purge: async () => plan() && items.run('k', plan()!) }
}
const slotsOf = (item: Item | undefined) =>
  Object.keys(item?.policies[second.prefix] ?? {}).filter((name) => name.length > 1)

it('a purge removes expired windows once there are many, in one try of one write, and updates the view', async () => {
  const { known, sent, purge } = world(withWindows(60))
  await purge()
  expect(sent).toHaveLength(1)
  expect(sent[0]).toMatchObject({ tries: 1, write: { id: { mark: 'r0', value: 7 }, at: MIDNIGHT } })
  expect(sent[0]!.write.parts.map(({ prefix }) => prefix)).toEqual([second.prefix])
  expect(known.view('k')).toMatchObject({ seenAt: MIDNIGHT, item: { marks: { r0: 7 } } })
  expect(slotsOf(known.view('k')!.item)).toHaveLength(1)
})

it('a purge is not made for a few expired windows', async () => {
  const { sent, purge } = world(withWindows(20))
  await purge()
  expect(sent).toEqual([])
})

it('a purge that conflicts is not made again, and the view is what it found', async () => {
  const item = withWindows(60)
  const { known, sent, purge } = world(item, 'refused')
  await purge()
  expect([known.view('k')!.item, sent.length]).toEqual([item, 1])
})

it('a purge that finds the store unavailable is left for later; a bug is thrown', async () => {
  const away = world(withWindows(60), new StoreUnavailableError('timeout', 'away'))
  await away.purge()
  expect(away.known.size).toBe(0)
  await expect(world(withWindows(60), new TypeError('no function')).purge()).rejects.toThrow(TypeError)
})

it('a purge that fails because of the item keeps no request from it, and the item is not read for that', async () => {
  const { known, sent, purge } = world(withWindows(60), new StoreUnavailableError('item', 'too large'))
  known.learn('k', NO_ITEM, MIDNIGHT)
  await purge()
  await purge()
  expect(sent).toHaveLength(2)
  expect(known.get('k')).toEqual({ view: expect.objectContaining({ item: NO_ITEM }) })
})

it('a purge for which no time is left is not made, and what was decided before it stands', async () => {
  const { items, sent } = world(withWindows(60))
  function* decided(): Plan<string> {
    const { item } = yield READ
    yield* purge(items, policies, item, MIDNIGHT)!
    return 'decided'
  }
  expect(await items.run('k', decided(), frozenDeadline(0))).toBe('decided')
  expect(sent).toEqual([])
})

it('a purge never removes the present window', async () => {
  const item = withWindows(60)
  const { known, purge } = world(item)
  await purge()
  const now = MIDNIGHT + 59 * 3000
  const left = (of: Item) => second.counter.step(of.policies[second.prefix], 0, now).verdict.remaining
  expect([left(item), left(known.view('k')!.item)]).toEqual([9, 9])
})

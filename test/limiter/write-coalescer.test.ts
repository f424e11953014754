import type { Verdicts } from '../../limiter/algorithms/algorithm'
import { WriteCoalescer } from '../../limiter/consistency/write-coalescer'
import type { Deadline } from '../../limiter/deadline'
import type { Decider } from '../../limiter/decider'
import type { Batch, Charge } from '../../limiter/request'
import { Subjects } from '../../limiter/subject'
import { compiled } from './policies'

const policies = compiled({ name: 'p', algorithm: 'fixed-window', limit: 1000, window: '1m' })
const recording = compiled({ name: 'log', algorithm: 'sliding-log', limit: 5, window: '1m', countDenied: true })
const told = (remaining: number): Verdicts => [{ allowed: true, remaining, resetAfterMs: 0, retryAfterMs: 0 }]

interface Settling {
  readonly key: string
  readonly policies: unknown
  readonly costs: readonly number[]
  readonly deadline?: Deadline
  readonly answer: (answers: Verdicts[]) => void
  readonly fail: (error: unknown) => void
}

/** A take items whose writes the test answers by hand. */
function world() {
  const settlings: Settling[] = []
  const denials = new Map<number, Verdicts>()
  const items = {
    decideBatch: (batch: Batch, deadline?: Deadline) =>
      new Promise<Verdicts[]>((answer, fail) =>
        settlings.push({ ...batch, costs: batch.requests.map(({ cost }) => cost), deadline, answer, fail }),
      ),
    cachedDenial: ({ cost }: Charge) => denials.get(cost),
    subjects: new Subjects(100, () => 0),
  }
  return { settlings, denials, writes: new WriteCoalescer(items as unknown as Decider) }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('requests that arrive while a write of their subject is under way', () => {
  it('share the next write in their order, and each gets its own verdicts', async () => {
    const { writes, settlings } = world()
    const answers = [1, 2, 3].map((cost) => writes.take({ key: 'k', policies, cost }))
    expect(settlings.map(({ key, policies: of, costs }) => ({ key, of, costs }))).toEqual([
      { key: 'k', of: policies, costs: [1] },
    ])
    settlings[0]!.answer([told(9)])
    expect(await answers[0]).toEqual(told(9))
    expect(settlings[1]).toMatchObject({ key: 'k', policies, costs: [2, 3] })
    settlings[1]!.answer([told(7), told(4)])
    expect([await answers[1], await answers[2]]).toEqual([told(7), told(4)])
    expect(settlings).toHaveLength(2)
  })

  it('do not delay those of another subject', () => {
    const { writes, settlings } = world()
    for (const key of ['a', 'b']) void writes.take({ key, policies, cost: 1 })
    expect(settlings.map(({ key }) => key)).toEqual(['a', 'b'])
  })

  it('are answered by a cached denial at once', async () => {
    const { writes, denials, settlings } = world()
    const denial: Verdicts = [{ allowed: false, remaining: 0, resetAfterMs: 5, retryAfterMs: 5 }]
    denials.set(9, denial)
    void writes.take({ key: 'k', policies, cost: 1 })
    expect(await writes.take({ key: 'k', policies, cost: 9 })).toBe(denial)
    settlings[0]!.answer([told(9)])
    await turn()
    expect(settlings).toHaveLength(1)
  })

  it('fail with their own write, and not with an earlier one', async () => {
    const { writes, settlings } = world()
    const answers = [1, 2, 3].map((cost) =>
      writes.take({ key: 'k', policies, cost }).catch((error: Error) => error.message),
    )
    settlings[0]!.fail(new Error('first'))
    await turn()
    expect(settlings[1]!.costs).toEqual([2, 3])
    const later = writes.take({ key: 'k', policies, cost: 4 })
    settlings[1]!.fail(new Error('second'))
    await turn()
    settlings[2]!.answer([told(1)])
    expect(await Promise.all(answers)).toEqual(['first', 'second', 'second'])
    expect(await later).toEqual(told(1))
  })

  it('are coalesced as far as they have the same policies', async () => {
    const { writes, settlings } = world()
    const same = compiled({ name: 'q', algorithm: 'fixed-window', limit: 1, window: '1m' })
    for (const [cost, of] of [
      [1, policies],
      [2, policies],
      [3, policies],
      [4, same],
      [5, policies],
    ] as const)
      void writes.take({ key: 'k', policies: of, cost })
    for (let i = 0; i < 4; i++) {
      settlings[i]!.answer(settlings[i]!.costs.map(told))
      await turn()
    }
    expect(settlings.map(({ costs }) => costs)).toEqual([[1], [2, 3], [4], [5]])
    expect(settlings.map(({ policies: of }) => of)).toEqual([policies, policies, same, policies])
  })

  it('are coalesced up to two hundred', async () => {
    const { writes, settlings } = world()
    for (let i = 0; i < 402; i++) void writes.take({ key: 'k', policies, cost: 1 })
    for (let i = 0; i < 4; i++) {
      settlings[i]!.answer(settlings[i]!.costs.map(told))
      await turn()
    }
    expect(settlings.map(({ costs }) => costs.length)).toEqual([1, 200, 200, 1])
  })

  it('are decided one by one if a denial is recorded, which changes the next decision', async () => {
    const { writes, settlings } = world()
    for (let i = 1; i <= 3; i++) void writes.take({ key: 'k', policies: recording, cost: i })
    for (let i = 0; i < 3; i++) {
      settlings[i]!.answer([told(1)])
      await turn()
    }
    expect(settlings.map(({ costs }) => costs)).toEqual([[1], [2], [3]])
  })

  it('are decided one by one, too, if only one of several policies records denials', async () => {
    const { writes, settlings } = world()
    const mixed = [...policies, ...recording]
    for (let i = 1; i <= 3; i++) void writes.take({ key: 'k', policies: mixed, cost: i })
    settlings[0]!.answer([told(1)])
    await turn()
    expect(settlings[1]!.costs).toEqual([2])
  })
})

it('the deadline of a decision is that of the write that starts at once', () => {
  const { writes, settlings } = world()
  const deadline = { leftMs: 7 } as Deadline
  void writes.take({ key: 'k', policies, cost: 1 }, deadline)
  expect(settlings[0]!.deadline).toBe(deadline)
})

it('a subject without writes under way starts anew', async () => {
  const { writes, settlings } = world()
  for (let i = 0; i < 3; i++) {
    const answer = writes.take({ key: 'k', policies, cost: 1 })
    settlings[i]!.answer([told(i)])
    expect(await answer).toEqual(told(i))
  }
  expect(settlings.map(({ costs }) => costs)).toEqual([[1], [1], [1]])
})

import { PendingCharges } from '../../limiter/consistency/counts'
import type { LateCharges } from '../../limiter/consistency/late-charges'
import { StoreUnavailableError } from '../../limiter/errors'
import { MIDNIGHT } from './limiters'
import { compiled } from './policies'

const [minute, hour] = compiled(
  { name: 'minute', algorithm: 'fixed-window', limit: 100, window: '1m' },
  { name: 'hour', algorithm: 'fixed-window', limit: 100, window: '1h' },
) as [ReturnType<typeof compiled>[0], ReturnType<typeof compiled>[0]]
const T = MIDNIGHT + 1000

/** A take items whose late charges the test answers by hand. */
function world() {
  const sent: { name: number; units: number[]; answer: (written: boolean) => void; fail: (error: Error) => void }[] = []
  let ids = 0
  const pending = new PendingCharges((late: LateCharges) => {
    late.id ??= { mark: 'r0', value: ++ids }
    const { id, charges } = late
    return new Promise((answer, fail) => {
      sent.push({ name: id.value, units: charges.map(({ units }) => units), answer, fail })
    })
  })
  const unitsOf = (policy = minute) => pending.pendingOf(policy)?.units
  return { pending, sent, unitsOf, flush: () => pending.flush() }
}
const lost = new StoreUnavailableError('timeout', 'lost')

describe('pending charges', () => {
  it('add up for each policy while their window counts', () => {
    const { pending, unitsOf } = world()
    expect([pending.isEmpty, unitsOf()]).toEqual([true, undefined])
    pending.add(minute, 3, T)
    pending.add(minute, 4, T + 10)
    pending.add(hour, 7, T)
    expect([pending.isEmpty, unitsOf(), unitsOf(hour)]).toEqual([false, 7, 7])
    pending.add(minute, 2, T + 60_000)
    pending.add(hour, 2, T + 60_000)
    expect([unitsOf(), unitsOf(hour)]).toEqual([2, 9])
  })

  it('are dated by the latest of them', () => {
    const { pending } = world()
    pending.add(minute, 1, T)
    pending.add(minute, 1, T + 20)
    pending.add(minute, 1, T + 10)
    expect(pending.pendingOf(minute)).toEqual({ policy: minute, units: 3, since: T, chargedAt: T + 20 })
  })

  it('count on where the clock was set back to before their window', () => {
    const { pending, unitsOf } = world()
    pending.add(minute, 3, T)
    pending.add(minute, 2, T - 2000)
    expect(unitsOf()).toBe(5)
  })

  it('are reduced by a refund if all policies have the units', () => {
    const { pending, unitsOf } = world()
    pending.add(minute, 5, T)
    pending.add(hour, 8, T)
    expect(pending.takeBack([minute, hour], 2, T)).toBe(2)
    expect([unitsOf(), unitsOf(hour)]).toEqual([3, 6])
    expect(pending.takeBack([minute, hour], 9, T)).toBe(3)
    expect([unitsOf(), unitsOf(hour)]).toEqual([undefined, 3])
    expect(pending.takeBack([minute, hour], 1, T)).toBe(0)
    expect(pending.takeBack([hour], 3, T)).toBe(3)
    expect(pending.isEmpty).toBe(true)
  })
})

it('pending charges are not reduced by a refund of earlier charges or in a past window', () => {
  const { pending } = world()
  pending.add(minute, 5, T)
  expect(pending.takeBack([minute], 1, T - 1)).toBe(0)
  pending.add(minute, 5, T + 60_000)
  expect(pending.takeBack([minute], 1, T)).toBe(0)
  expect(pending.takeBack([minute], 9, T + 60_000)).toBe(5)
})

describe('a flush of pending charges', () => {
  it('is one write of all, and charges that are added meanwhile wait for the next', async () => {
    const { pending, sent, flush, unitsOf } = world()
    pending.add(minute, 5, T)
    pending.add(hour, 6, T)
    const first = flush()
    pending.add(minute, 1, T)
    expect([pending.isEmpty, unitsOf(), sent.map(({ units }) => units)]).toEqual([false, 1, [[5, 6]]])
    sent[0]!.answer(true)
    expect(await first).toBe(true)
    expect(pending.isEmpty).toBe(false)
    const second = flush()
    sent[1]!.answer(false)
    expect(await second).toBe(false)
    expect([pending.isEmpty, sent.map(({ name, units }) => [name, units])]).toEqual([
      true,
      [
        [1, [5, 6]],
        [2, [1]],
      ],
    ])
  })

  it('makes no call if nothing is pending', async () => {
    const { sent, flush } = world()
    expect([await flush(), sent]).toEqual([false, []])
  })

  it('repeats the same write under the same id until it is answered', async () => {
    const { pending, sent, flush } = world()
    pending.add(minute, 5, T)
    const first = flush()
    sent[0]!.fail(lost)
    await expect(first).rejects.toBe(lost)
    pending.add(minute, 1, T)
    expect(pending.isEmpty).toBe(false)
    const second = flush()
    sent[1]!.answer(true)
    await second
    expect(sent.map(({ name, units }) => [name, units])).toEqual([
      [1, [5]],
      [1, [5]],
    ])
  })

  it('is shared by simultaneous callers', async () => {
    const { pending, sent, flush } = world()
    pending.add(minute, 5, T)
    const both = [flush(), flush()]
    sent[0]!.answer(true)
    expect([await Promise.all(both), sent.length]).toEqual([[true, true], 1])
  })

  it('is repeated for a caller that needs to know whether it arrived, if its answer was lost', async () => {
    const { pending, sent, flush } = world()
    pending.add(minute, 5, T)
    const first = flush()
    let isSettled = false
    const settled = pending.confirmed().then(() => {
      isSettled = true
    })
    first.catch(() => {})
    sent[0]!.fail(lost)
    await new Promise((resolve) => setImmediate(resolve))
    expect([isSettled, sent.length]).toEqual([false, 2])
    sent[1]!.answer(true)
    await settled
    await pending.confirmed()
    expect(sent).toHaveLength(2)
  })

  it('does not wait for charges that are pending in another', async () => {
    const { pending, sent } = world()
    pending.add(minute, 5, T)
    await pending.confirmed()
    expect(sent).toEqual([])
  })
})

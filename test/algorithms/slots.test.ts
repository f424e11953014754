import fc from 'fast-check'
import { type Fields, holds } from '../../limiter/algorithms/conditional-write'
import {
  isOverSlot,
  isSlot,
  overSlot,
  purgeSlots,
  refundSlots,
  removeExpired,
  slot,
  slotIndex,
} from '../../limiter/algorithms/slots'
import { applyWrite } from './timeline'

/** The names of the slots that a write removes, in order. */
const removed = (known: Fields | undefined, oldestLive: number): string[] =>
  removeExpired(known, oldestLive)
    .map((assignment) => {
      expect(assignment).toEqual({ field: expect.any(String), purge: true })
      return (assignment as { field: string }).field
    })
    .sort()
const slots = (...indices: number[]): Fields => Object.fromEntries(indices.map((index) => [slot(index), 1]))
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

describe('the name of a slot', () => {
  it('encodes its number, and differs from the names of all other fields', () =>
    fc.assert(
      fc.property(fc.integer({ min: -(2 ** 20), max: 2 ** 45 }), (index) => {
        expect(slotIndex(slot(index))).toBe(index)
        expect(isSlot(slot(index))).toBe(true)
        expect([slotIndex(overSlot(index)), isSlot(overSlot(index))]).toEqual([index, true])
        expect([isOverSlot(overSlot(index)), isOverSlot(slot(index))]).toEqual([true, false])
      }),
    ))

  it('has no minus where its window began before 1970', () => {
    expect([-1, -36].map(slot)).toEqual(['_1', '_10'])
  })

  it('has at least two characters', () => {
    expect([0, 35, 36, 1295, 1296].map(slot)).toEqual(['00', '0z', '10', 'zz', '100'])
    expect(['w', 'n', 'o', 'v', 't'].some(isSlot)).toBe(false)
  })
})

describe('a write removes', () => {
  it('the expired slots that it knows of, and nothing else', () => {
    expect(removed({ w: 50, n: 9, ...slots(7, 40, 49, 50, 51) }, 50)).toEqual([slot(7), slot(40), slot(49)].sort())
    expect(removed({ w: 50, ...slots(50) }, 50)).toEqual([])
  })

  it('the two newest expired slots if it has not seen the newest windows', () => {
    expect(removed({ w: 49, ...slots(7, 49) }, 50)).toEqual([slot(7), slot(48), slot(49)])
    expect(removed({ w: 49, ...slots(48) }, 50)).toEqual([slot(48), slot(49)])
    expect(removed({}, 50)).toEqual([slot(48), slot(49)])
    expect(removed(undefined, 50)).toEqual([slot(48), slot(49)])
  })

  it('the newest first, since others may have removed the older ones already', () => {
    const names = removeExpired({ w: 50, ...slots(7, 40, 50) }, 50)
    expect(names).toEqual([slot(40), slot(7)].map((field) => ({ field, purge: true })))
  })

  it('no slot before the first', () => {
    expect(removed(undefined, 2)).toEqual([slot(0), slot(1)])
    expect(removed(undefined, 1)).toEqual([slot(0)])
    expect(removed(undefined, 0)).toEqual([])
  })

  it('a bounded number of slots', () => {
    const known = { w: 500, ...slots(...range(100, 150)) }
    expect(removed(known, 500).length).toBe(24)
    expect(Object.keys(known)).toEqual(expect.arrayContaining(removed(known, 500)))
  })
})

describe('a purge of slots', () => {
  it('waits until there are many expired slots, and applies only while no newer window has begun', () => {
    const tolerated = { w: 500, n: 4, ...slots(...range(100, 132), 499, 500) }
    expect(purgeSlots(tolerated, 499)).toBeUndefined()
    const state = { ...tolerated, ...slots(132) }
    const write = purgeSlots(state, 499)!
    expect(applyWrite(write, state)).toEqual({ w: 500, n: 4, ...slots(499, 500) })
    expect(holds(write.guard, { ...state, w: 501 })).toBe(false)
    expect(holds(write.guard, { ...state, w: 499 })).toBe(false)
  })

  it('removes no more slots than an expression can name', () => {
    const state = { w: 500, ...slots(...range(100, 300)) }
    expect(purgeSlots(state, 499)!.assignments.length).toBe(96)
  })
})

describe('a refund from slots', () => {
  const state: Fields = { w: 9, [slot(7)]: 4, [slot(9)]: 2 }

  it('takes units from the newest slot first, and from no more slots than it needs', () => {
    expect(applyWrite(refundSlots(state, 1, 9, 3)!, state)).toEqual({ w: 9, [slot(7)]: 4, [slot(9)]: 1 })
    expect(refundSlots(state, 2, 9, 3)).toEqual({
      guard: [{ field: slot(9), atLeast: 2, atMost: 2 }],
      assignments: [{ field: slot(9), remove: true }],
    })
    expect(applyWrite(refundSlots(state, 3, 9, 3)!, state)).toEqual({ w: 9, [slot(7)]: 3 })
    expect(applyWrite(refundSlots(state, 9, 9, 3)!, state)).toEqual({ w: 9 })
  })

  it('reads no slot that does not count', () => {
    expect(applyWrite(refundSlots(state, 9, 9, 2)!, state)).toEqual({ w: 9, [slot(7)]: 4 })
    expect(applyWrite(refundSlots(state, 9, 8, 2)!, state)).toEqual({ w: 9, [slot(9)]: 2 })
    expect(refundSlots(state, 9, 8, 1)).toBeUndefined()
    expect(refundSlots(state, 9, 6, 5)).toBeUndefined()
    expect(refundSlots(state, 0, 9, 3)).toBeUndefined()
  })

  it('needs the exact count of a slot that it empties, and enough units in one that keeps some', () => {
    const { guard } = refundSlots(state, 3, 9, 3)!
    expect(holds(guard, state)).toBe(true)
    expect([1, 3].map((used) => holds(guard, { ...state, [slot(9)]: used }))).toEqual([false, false])
    expect([1, 2, 99].map((used) => holds(guard, { ...state, [slot(7)]: used }))).toEqual([false, true, true])
  })
})

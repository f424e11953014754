import fc from 'fast-check'
import { firstMoment } from '../../limiter/algorithms/first-moment'

describe('the search for the first moment', () => {
  it('finds it to the millisecond in few steps, wherever it lies', () =>
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 41 }), fc.nat({ max: 2 ** 36 }), fc.nat({ max: 2 ** 36 }), (from, a, b) => {
        const [moment, to] = [from + Math.min(a, b), from + Math.max(a, b)]
        let asked = 0
        const found = firstMoment(from, to, (at) => {
          asked++
          expect(at >= from && at <= to).toBe(true)
          return at >= moment
        })
        expect(found).toBe(moment)
        expect(asked).toBeLessThanOrEqual(37)
      }),
    ))

  it('finds it at once if the guess is right, and also finds it if the guess is wrong', () =>
    fc.assert(
      fc.property(fc.nat({ max: 50 }), fc.nat({ max: 50 }), fc.integer({ min: -5, max: 60 }), (a, b, guess) => {
        const [moment, to] = [Math.min(a, b), Math.max(a, b)]
        const asked: number[] = []
        const holds = (at: number) => {
          asked.push(at)
          return at >= moment
        }
        expect(firstMoment(0, to, holds, guess)).toBe(moment)
        expect(asked.filter((at) => at < 0 || at > to)).toEqual([])
        if (guess === moment && moment > 0) expect(asked).toEqual([moment - 1, moment])
      }),
    ))

  it('finds the first instant if the condition always holds, and the last if it holds only there', () => {
    expect(firstMoment(5, 9, () => true)).toBe(5)
    expect(firstMoment(5, 9, () => false)).toBe(9)
    expect(firstMoment(5, 9, (at) => at === 9)).toBe(9)
    expect(firstMoment(5, 5, () => false)).toBe(5)
  })
})

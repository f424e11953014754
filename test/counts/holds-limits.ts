import { type Counts, RECORDED } from '../../tools/counts/count'
import { LIMITS } from '../../tools/counts/limits'

/** Tests that figures of this tree are within their limits, and comparable with those of b620fa4. */
export function holdsLimits(now: Counts): void {
  const limited = Object.entries(LIMITS).filter(([name]) => name in now)

  it.each(limited)('%s: no more than tools/counts/limits.ts allows', (name, { most }) => {
    expect(now[name]).toBeLessThanOrEqual(most)
  })

  it('each figure is one of something, and was recorded of b620fa4', () => {
    expect(limited.length).toBeGreaterThan(0)
    for (const [name, figure] of Object.entries(now)) {
      expect([name, figure]).toEqual([name, LIMITS[name]?.goal === 0 ? figure : Math.max(1, figure)])
      expect([name, RECORDED[name]]).toEqual([name, expect.any(Number)])
    }
  })
}

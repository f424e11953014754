import type { Algorithm } from './algorithm'
import { arrivalMethods, arrivalStep, emissionUs } from './arrival'

export interface GcraQuota {
  /** Units per window, at a steady pace. */
  readonly limit: number
  readonly windowMs: number
  /** Units that may come at once after a pause. */
  readonly burst: number
}

/**
 * Generic cell rate algorithm: any interval of length `d` admits at most `burst + d / emission` units.
 *
 * Fields: `t` and `e`, see arrival.ts.
 *
 * **For:** the least state there is, no edge to game. **Against:** clients see no window to line up with.
 */
export const gcra: Algorithm<GcraQuota> = {
  name: 'gcra',
  step: (known, quota, cost, now, asOf) => arrivalStep(known, pace(quota), cost, now, asOf),
  ...arrivalMethods(pace),
}

function pace({ limit, windowMs, burst }: GcraQuota) {
  const emission = emissionUs(limit, windowMs)
  return { emissionUs: emission, toleranceUs: emission * burst }
}

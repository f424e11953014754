import type { EpochMs } from '../clock'
import type { Algorithm, Step } from './algorithm'
import { absentOrAtMost, add, between, exactly, type Fields, numberOf, set, when } from './conditional-write'
import { heldMs } from './window-grid'

/** A pace in whole microseconds. */
export interface Pace {
  /** Time that one unit takes. */
  readonly emissionUs: number
  /** How far the theoretical arrival time may run ahead of the clock, the request's own units included. */
  readonly toleranceUs: number
}

/**
 * The emission interval of a steady pace. It rounds up, so rounding only makes the limit stricter; the clock counts milliseconds, so nothing
 * drifts.
 */
export const emissionUs = (limit: number, windowMs: number): number => Math.ceil((windowMs * 1000) / limit)

/**
 * One number per subject, `t`: the time at which its bucket would be whole again, in microseconds. Each unit moves it one emission interval on; a
 * request is denied when that would carry it further ahead of now than the tolerance. GCRA, the token bucket with continuous refill and the
 * leaky bucket are this one rule, seen from three sides.
 *
 * @see ITU-T I.371 annex A, virtual scheduling
 */
export function arrivalStep(known: Fields | undefined, { emissionUs, toleranceUs }: Pace, cost: number, now: EpochMs): Step {
  const nowUs = now * 1000
  const latest = nowUs + toleranceUs
  const charge = emissionUs * cost
  const whole = Math.max(numberOf(known, 't', nowUs), nowUs)
  const next = whole + charge
  const allowed = next <= latest
  const settled = allowed ? next : whole

  const verdict = {
    allowed,
    remaining: Math.max(0, Math.floor((latest - settled) / emissionUs)), // a clock that stepped back finds the bucket emptier than empty
    resetAfterMs: toMs(settled - nowUs),
    retryAfterMs: allowed ? 0 : charge > toleranceUs ? Infinity : toMs(next - latest),
  }
  if (!allowed || cost === 0) return { verdict }

  return {
    verdict,
    write:
      whole > nowUs
        ? when([between('t', nowUs + 1, latest - charge)], add('t', charge))
        : when([absentOrAtMost('t', nowUs)], set('t', next)),
  }
}

/** How long a request admitted by this step waits for its turn: until the units before it have left. */
export function turnAfterMs(known: Fields | undefined, now: EpochMs): number {
  return toMs(Math.max(0, numberOf(known, 't') - now * 1000))
}

/** The parts of an algorithm that follow from the pace alone. */
export const arrivalUpkeep = <Quota>(
  pace: (quota: Quota) => Pace,
): Pick<Algorithm<Quota>, 'refund' | 'lifeMs' | 'heldUntil' | 'expect'> => ({
  /** Time that went by since the charge has already given part of it back; only the rest can be refunded. */
  refund(known, quota, units, chargedAt, now) {
    const whole = numberOf(known, 't')
    const back = pace(quota).emissionUs * units - Math.max(0, now - chargedAt) * 1000
    if (back <= 0 || whole <= now * 1000) return undefined
    return when([exactly('t', whole)], set('t', Math.max(now * 1000, whole - back)))
  },

  lifeMs: (quota) => toMs(pace(quota).toleranceUs),

  heldUntil: (_after, quota, chargedAt) => chargedAt + heldMs(toMs(pace(quota).toleranceUs)),

  /** A subject that was busy when last seen is likely as busy now, at the hands of other instances: its lead over the clock stays. */
  expect(seen, seenAt, quota, now) {
    const lead = numberOf(seen, 't') - seenAt * 1000
    return lead > 1.5 * pace(quota).emissionUs ? { ...seen, t: Math.max(numberOf(seen, 't'), now * 1000 + lead) } : seen
  },
})

const toMs = (microseconds: number): number => Math.ceil(microseconds / 1000)

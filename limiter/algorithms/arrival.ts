import type { EpochMs } from '../clock'
import type { Algorithm, Step } from './algorithm'
import {
  absentOrAtMost,
  add,
  atLeast,
  atMost,
  between,
  type Comparison,
  exactly,
  type Fields,
  numberOf,
  numbersBytes,
  set,
  when,
} from './conditional-write'

import { heldMs } from './window-grid'

/** A pace in whole microseconds. */
export interface Pace {
  /** Time that one unit takes. */
  readonly emissionUs: number
  /** How far the theoretical arrival time may run ahead of the clock, the request's own units included. */
  readonly toleranceUs: number
  /** Whether each unit has been assigned a queue slot, so that no later unit may come before it. */
  readonly inTurn?: boolean
}

/**
 * The emission interval of a steady pace. It rounds up, so rounding only makes the limit stricter; the clock counts
 * milliseconds, so nothing drifts.
 */
export const emissionUs = (limit: number, windowMs: number): number => Math.ceil((windowMs * 1000) / limit)

/**
 * Two numbers per subject: `t`, the time at which its bucket would be whole again, and `e`, the emission interval by
 * which it gets there, both in microseconds. Each unit moves `t` one emission interval on; a request is denied when
 * that would carry it further ahead of now than the tolerance. GCRA, the token bucket with continuous refill and the
 * leaky bucket are this one rule, seen from three sides.
 *
 * A writer with another limit, and so with another emission interval, keeps what is owed in units: `(t − now) / e` of
 * them, whatever a unit takes by its own limit. The units drain at the stored pace until it charges; from then on at
 * its own. A state without `e` was written by a release that kept none, and counts as the writer's own.
 *
 * @param asOf the real time where `now` is a turn to come: units are converted as they stand then, since nobody else
 * waits for that turn.
 * @see ITU-T I.371 annex A, virtual scheduling; docs/adr/0012
 */
export function arrivalStep(known: Fields | undefined, pace: Pace, cost: number, now: EpochMs, asOf = now): Step {
  const { emissionUs, toleranceUs } = pace
  const [nowUs, asOfUs] = [now * 1000, asOf * 1000]
  const latest = nowUs + toleranceUs
  const charge = emissionUs * cost
  const stored = storedIn(known, pace)
  const converts = stored.e !== emissionUs && stored.t > asOfUs
  const owedUntil = wholeAt(stored, pace, asOfUs)
  const whole = Math.max(owedUntil, nowUs)
  const next = whole + charge
  const allowed = next <= latest
  const room = toleranceUs - charge
  const passesAt = converts && asOf === now ? roomFrom(stored, pace, room) : owedUntil - room

  const verdict = {
    allowed,
    // a clock that stepped back finds the bucket emptier than empty
    remaining: Math.max(0, Math.floor((latest - (allowed ? next : whole)) / emissionUs)),
    resetAfterMs: toMs((allowed && cost > 0 ? next : Math.max(stored.t, nowUs)) - nowUs),
    retryAfterMs: allowed ? 0 : room < 0 ? Infinity : toMs(passesAt - nowUs),
  }
  if (!allowed || cost === 0) return { verdict }

  const own = set('e', emissionUs)
  if (converts) return { verdict, write: when([exactly('t', stored.t), exactly('e', stored.e)], set('t', next), own) }
  if (stored.t <= asOfUs) return { verdict, write: when([absentOrAtMost('t', asOfUs)], set('t', next), own) }
  if (whole === nowUs) return { verdict, write: when([atMost('t', nowUs), paceAsSeen(known)], set('t', next), own) }
  const kept = known?.e === undefined ? [own] : []
  return {
    verdict,
    write: when([between('t', nowUs + 1, latest - charge), paceAsSeen(known)], add('t', charge), ...kept),
  }
}

/** How long a request admitted by this step waits for its turn: until the units before it have left. */
export function turnAfterMs(known: Fields | undefined, pace: Pace, now: EpochMs): number {
  return toMs(Math.max(0, wholeAt(storedIn(known, pace), pace, now * 1000) - now * 1000))
}

/** How far debts move a time of arrival at most, in microseconds: it stays an exact number. */
const MAX_AHEAD_US = 2 ** 52

/** The parts of an algorithm that follow from the pace alone. */
export const arrivalMethods = <Quota>(
  pace: (quota: Quota) => Pace,
): Pick<
  Algorithm<Quota>,
  'refund' | 'chargeLate' | 'retentionMs' | 'storedBytes' | 'leaseExpiresAt' | 'extrapolate'
> => ({
  /**
   * Time that went by since the charge has already given part of it back, at the quicker of both paces where there are
   * two; only the rest can be refunded.
   */
  refund(known, quota, units, chargedAt, now) {
    const { emissionUs } = pace(quota)
    const { t, e } = storedIn(known, pace(quota))
    const elapsedUs = Math.max(0, now - chargedAt) * 1000
    const back = e * units - scaledUp(elapsedUs, e, Math.min(e, emissionUs))
    if (back <= 0 || t <= now * 1000) return undefined
    const busyStill = now * 1000 + back
    return t >= busyStill
      ? when([atLeast('t', busyStill), paceAsSeen(known)], add('t', -back))
      : when([exactly('t', t), paceAsSeen(known)], set('t', now * 1000))
  },

  /** As many as the clock has room for, which are 142 years. */
  chargeLate(known, quota, units, chargedAt) {
    const endless = { ...pace(quota), toleranceUs: MAX_AHEAD_US }
    const { remaining } = arrivalStep(known, endless, 0, chargedAt).verdict
    return arrivalStep(known, endless, Math.min(units, remaining), chargedAt).write
  },

  retentionMs: (quota) => toMs(pace(quota).toleranceUs),

  storedBytes: () => numbersBytes(2),

  leaseExpiresAt: (_after, quota, chargedAt) => chargedAt + heldMs(toMs(pace(quota).toleranceUs)),

  /**
   * A subject that was busy when last seen is likely as busy now, at the hands of other instances: its lead over the
   * clock stays.
   */
  extrapolate(seen, seenAt, quota, now) {
    const { t, e } = storedIn(seen, pace(quota))
    const lead = t - seenAt * 1000
    return lead > 1.5 * e ? { ...seen, t: Math.max(t, now * 1000 + lead) } : seen
  },
})

interface Stored {
  readonly t: number
  readonly e: number
}

const storedIn = (known: Fields | undefined, { emissionUs }: Pace): Stored => ({
  t: numberOf(known, 't', -Infinity),
  e: numberOf(known, 'e', emissionUs),
})

/** That the stored pace is the one that was seen, or still none. */
const paceAsSeen = (known: Fields | undefined): Comparison =>
  known?.e === undefined ? absentOrAtMost('e', 0) : exactly('e', numberOf(known, 'e'))

/** What an owed unit takes by this pace. Where it was told its turn, no less than by that. */
const unitIn = ({ e }: Stored, { emissionUs, inTurn }: Pace): number => (inTurn ? Math.max(e, emissionUs) : emissionUs)

/**
 * How far clocks may differ without forgiving anything, in microseconds: a quicker pace drains the next units from here
 * on only, in case that those who charged them had a clock that is ahead.
 */
const CLOCKS_DIFFER = 1_000_000

/** When the bucket would be whole, by this pace from then on. */
function wholeAt(stored: Stored, pace: Pace, asOfUs: number): number {
  const { t, e } = stored
  if (e === pace.emissionUs || t <= asOfUs) return t
  const unit = unitIn(stored, pace)
  const from = unit < e ? Math.min(t, asOfUs + CLOCKS_DIFFER) : asOfUs
  return from + scaledUp(t - from, unit, e)
}

/** From when on what is owed leaves that much room, if nobody charges: it drains by its own pace until then. */
function roomFrom(stored: Stored, pace: Pace, room: number): number {
  const { t, e } = stored
  const unit = unitIn(stored, pace)
  const unscaled = unit < e ? Math.min(room, CLOCKS_DIFFER) : 0
  return t - unscaled - scaledDown(room - unscaled, e, unit)
}

/** `value · by / from`, rounded down; exact where the product is past what a number holds, too. */
function scaledDown(value: number, by: number, from: number): number {
  const product = value * by
  if (product > Number.MAX_SAFE_INTEGER) return Number((BigInt(value) * BigInt(by)) / BigInt(from))
  return (product - (product % from)) / from
}

/** The same, rounded up: a converted debt is never smaller than it was. */
function scaledUp(value: number, by: number, from: number): number {
  const product = value * by
  if (product > Number.MAX_SAFE_INTEGER) return Number((BigInt(value) * BigInt(by) + BigInt(from) - 1n) / BigInt(from))
  return product % from === 0 ? product / from : (product - (product % from)) / from + 1
}

const toMs = (microseconds: number): number => Math.ceil(microseconds / 1000)

import type { Charge } from './algorithm-spec'

/** The units of those charges that count, given the latest time that any clock has shown. */
export function unitsSince(
  past: readonly Charge[],
  now: number,
  counts: (charge: Charge, latest: number) => boolean,
): number {
  const latest = Math.max(now, past.at(-1)?.at ?? 0)
  return past.filter((charge) => counts(charge, latest)).reduce((sum, { units }) => sum + units, 0)
}

interface Pace {
  readonly limit: number
  readonly windowMs: number
  readonly burst: number
}

export const emissionUs = ({ limit, windowMs }: Omit<Pace, 'burst'>): number => Math.ceil((windowMs * 1000) / limit)

/**
 * Whether a bucket has room that each unit fills by an emission interval and that leaks with time. The algorithms store
 * an instant; this counts with a level, so that the two are independent.
 */
export function fitsPace(past: readonly Charge[], pace: Pace, capacity: number, cost: number, now: number): boolean {
  let level = 0
  let last = -Infinity
  for (const { at, units } of past) {
    level = Math.max(0, Math.max(0, level - 1000 * (at - last)) + units * emissionUs(pace))
    last = at
  }
  const behind = Math.max(0, last - now)
  // the capacity is in whole microseconds, also where it includes a part of a unit
  const holds = Math.round(capacity * emissionUs(pace))
  return 1000 * behind + Math.max(0, level - 1000 * Math.max(0, now - last)) + cost * emissionUs(pace) <= holds
}

/** The most units that a pace admits in an interval of time: the burst, and what comes back meanwhile. */
export const mostAtPace = (pace: Pace, from: number, to: number): number =>
  pace.burst + (1000 * (to - from)) / emissionUs(pace)

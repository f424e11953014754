import type { EpochMs } from '../clock'

/**
 * The first millisecond in `[from, to]` at which `holds` is true, by bisection.
 *
 * `holds` must be monotone (once true, true from then on) and true at `to`. Searching with the very function that
 * decides keeps retry-after true to the millisecond where a closed form would have to repeat its rounding.
 *
 * @param guess a closed form's answer, which saves the search where it is right.
 */
export function firstMoment(from: EpochMs, to: EpochMs, holds: (at: EpochMs) => boolean, guess = to): EpochMs {
  if (guess > from && guess <= to && !holds(guess - 1) && holds(guess)) return guess
  let early = from
  let late = to
  while (early < late) {
    const middle = Math.floor((early + late) / 2)
    if (holds(middle)) late = middle
    else early = middle + 1
  }
  return late
}

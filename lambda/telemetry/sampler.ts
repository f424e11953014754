import { BoundedMap } from '../../limiter/bounded-map'
import type { EpochMs } from '../../limiter/clock'

/** How many like it were left out before the event that is told. */
interface LeftOut {
  /** Of the same key, since it was told last. */
  readonly same: number
  /** Of any key, since the last one that was told, because there was too much to tell in that second. */
  readonly others: number
}

/**
 * @param forMs how long the key's next events are left out, in milliseconds.
 * @returns `undefined` for an event that is to be left out.
 */
export type Sample = (key: string, now: EpochMs, forMs: number) => LeftOut | undefined

/**
 * Lets the first events of each key through, and again the first ones after a time; and of all keys together so many in
 * a second. Knows at most `most` keys: the one told longest ago is forgotten first, and its next event is told again. A
 * time from before the last one, by a clock that was set back, begins anew.
 *
 * @param first how many of a key.
 */
export function makeSampler(most = 10_000, perSecond = 10, first = 1): Sample {
  const told = new BoundedMap<
    string,
    { readonly since: EpochMs; readonly until: EpochMs; times: number; same: number }
  >(most)
  let others = 0
  let second = 0
  let lines = 0

  return (key, now, forMs) => {
    const last = told.get(key)
    const isSame = last !== undefined && now >= last.since && now < last.until
    if (isSame && last.times >= first) {
      last.same++
      return undefined
    }
    const thisSecond = Math.floor(now / 1000)
    if (thisSecond !== second) lines = 0
    second = thisSecond
    if (lines >= perSecond) {
      others++
      return undefined
    }
    lines++
    told.set(
      key,
      isSame ? { ...last, times: last.times + 1, same: 0 } : { since: now, until: now + forMs, times: 1, same: 0 },
    )
    const leftOut = { same: last?.same ?? 0, others }
    others = 0
    return leftOut
  }
}

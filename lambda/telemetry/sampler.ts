import { BoundedMap } from '../../limiter/bounded-map'
import type { EpochMs } from '../../limiter/clock'

/** How many similar events were left out before the event that is logged. */
interface LeftOut {
  /** Of the same key, since it was last logged. */
  readonly same: number
  /** When that was, if any were left out. */
  readonly since?: EpochMs
  /** Of any key, since the last one that was logged, because there were too many in that second. */
  readonly others: number
}

/**
 * @param forMs how long the key's next events are left out, in milliseconds.
 * @returns `undefined` for an event to leave out.
 */
export type Sample = (key: string, now: EpochMs, forMs: number) => LeftOut | undefined

/**
 * Lets the first events of each key through, and the first ones again after a time; of all keys together at most
 * `perSecond` in a second. It remembers at most `most` keys: the one logged longest ago is forgotten first, and its
 * next event is logged again. A time before the last one, from a clock that was set back, starts over.
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
    const leftOut = { same: last?.same ?? 0, since: last?.same ? last.since : undefined, others }
    others = 0
    return leftOut
  }
}

import { BoundedMap } from '../../limiter/bounded-map'
import type { EpochMs } from '../../limiter/clock'
import type { Standing } from '../../limiter/decision'

/** A limit of which a request has used up so much that somebody should know. */
interface Near {
  readonly policy: string
  /** Whose limit it is: the hash that is counted. */
  readonly subject: string
  readonly limit: number
  /** Units, this request's included. */
  readonly used: number
}

/** Units that a request took of one policy, if it was allowed. */
export interface Taken {
  /** Whose count it is: the hash under which it is stored. */
  readonly subject: string
  readonly units: number
  /** Whether the backend says later how many they were. */
  readonly isSettled: boolean
  /** How the policy stands after the request; absent where it was not asked. */
  readonly standing: Standing | undefined
  readonly policy: {
    readonly name: string
    readonly limit: number
    /** Its place in the subject's item. */
    readonly prefix: string
    readonly consistency: string
    /** Whether the authorizer waits until it is a request's turn. */
    readonly waits?: boolean
    readonly written: { readonly burst?: number; readonly algorithm?: string }
  }
}

/** What was taken, and from which percentage on a limit is near. */
export interface Charged {
  readonly taken: readonly Taken[]
  readonly nearing: number | 'off'
}

/** Below this part of it a limit that does not begin anew by the clock can be near again. */
const ARMED_BELOW = 0.5

/**
 * Finds out which limits a request brings near: for one request of each window.
 *
 * A strict count says so by itself, with no memory: all writes to an item are in one order, and one of them finds less
 * than the share and leaves as much or more. A count of leased units, an eventual one, and one that is settled later
 * pass the share unseen, so there each instance tells the first that it sees of. What was told is remembered until the
 * window ends, or, where no window does, until half of the limit is free or as long as that would take.
 *
 * @param most subjects and policies that are remembered.
 */
export function makeNearing(most = 10_000) {
  const told = new BoundedMap<string, { readonly at: EpochMs; readonly until: EpochMs }>(most)

  /** @param charged what a request took that was allowed by what the state table says. */
  return ({ taken, nearing }: Charged, now: EpochMs): Near[] => {
    if (nearing === 'off') return []
    const near: Near[] = []
    for (const { subject, units, policy, isSettled, standing } of taken) {
      const { name, written, consistency, prefix } = policy
      if (!standing || standing.exceeded) continue
      const limit = written.burst ?? policy.limit
      const used = limit - standing.remaining + (standing.overage ?? 0)
      const from = (limit * nearing) / 100
      if (from <= 1) continue // the first unit of a window is no news
      const key = `${subject} ${prefix} ${limit}` // a limit that was raised may be near again
      const last = told.get(key)
      const isTold = last !== undefined && now >= last.at && now < last.until
      const hasWindows = /^(fixed|anchored)-window$/.test(written.algorithm ?? '')
      const until = now + standing.resetAfterMs
      if (isTold && !hasWindows) {
        if (used < limit * ARMED_BELOW) told.delete(key)
        else told.set(key, { at: last.at, until })
      }
      if (used < from || isTold) continue
      if (consistency === 'strict' && !isSettled && used - units >= from) continue
      told.set(key, { at: now, until })
      near.push({ policy: name, subject, limit, used })
    }
    return near
  }
}

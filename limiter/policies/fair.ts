import type { Counter } from '../algorithms/counter'
import type { Mistake } from '../errors'
import { drains, type Policy, type PolicyInput } from './policy'
import { toCounting } from './quota'
import { type Place, report } from './report'

/** Shares are of a window that is no longer, in milliseconds: so that they follow what callers ask for. */
const LONGEST_MS = 60_000
/** Where units come back one by one in a longer window, shares are of this time, in milliseconds. */
const PACE_MS = 10_000

/** A caller's largest part of what is shared out. */
export const MAX_WEIGHT = 1000

/** What `fair` needs of a policy that is right by itself. */
export function checkFair(policy: Policy, isShared: boolean, place: Place, issues: Mistake[]): void {
  const { fair, action = 'deny', algorithm, window } = policy.written as PolicyInput
  if (!fair) return
  const wrong = (sentence: string) => report(issues, 'fields_conflict', sentence, place)
  if (!isShared) wrong('fair applies to policies that callers share')
  if (policy.consistency !== 'leased') wrong(`fair needs consistency "leased", got "${policy.consistency}"`)
  if (action !== 'deny') wrong(`fair needs action "deny", got "${action}"`)
  if (!sharedFor(policy)) {
    const got = `"${algorithm ?? 'sliding-window'}" with window "${window}"`
    wrong(`fair needs a window of 1m at most, or units that come back one by one, in 10 s at least one, got ${got}`)
  }
}

/** The window of shares and what all callers together may take in it; `undefined` where there can be none. */
export function sharedFor({ limit, windowMs, written }: Policy): { windowMs: number; limit: number } | undefined {
  if (windowMs <= LONGEST_MS) return { windowMs, limit }
  const inPace = Math.floor((limit * PACE_MS) / windowMs)
  return drains(written as PolicyInput) && inPace > 0 ? { windowMs: PACE_MS, limit: inPace } : undefined
}

/** What counts, with each caller, how much of a fair policy it took: `NAME.share`, so many units in a window. */
export function shareOf(policy: Policy, windowMs: number, limit: number): Policy {
  const { name, cost } = policy.written as PolicyInput
  const written: PolicyInput = {
    name: `${name}.share`,
    algorithm: 'fixed-window',
    limit,
    window: `${windowMs}ms`,
    cost,
  }
  const counting = toCounting(written, [], [])!
  const counter = sharing(counting.counter, windowMs)
  return {
    ...counting,
    counter,
    name: written.name,
    limit,
    nonBlocking: false,
    waits: false,
    consistency: 'strict',
    written,
  }
}

/** A request that costs more than the share is told the next window, in which the share is another. */
const sharing = (counter: Counter, windowMs: number): Counter => ({
  ...counter,

  step(known, cost, now, ...more) {
    const step = counter.step(known, cost, now, ...more)
    const { verdict } = step
    return verdict.retryAfterMs < Infinity
      ? step
      : { ...step, verdict: { ...verdict, retryAfterMs: windowMs - (now % windowMs) } }
  },
})

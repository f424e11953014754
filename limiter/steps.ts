import { isCharged, type Step, type Verdict, type Verdicts } from './algorithms/algorithm'
import { apply, type Fields } from './algorithms/conditional-write'
import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import { type Charge, type ChargeTime, NO_UNITS, type Units, unitsOf } from './request'
import type { PolicyWrite, WriteOutcome } from './stores/store'
import type { View } from './view'

export const allAllow = (verdicts: Verdicts): boolean => verdicts.every(({ allowed }) => allowed)

/** An allowed request's verdict with the moment at which it was charged, if it was. */
export function charged(verdict: Verdict, chargedAt: EpochMs): Verdict {
  if (!isCharged(verdict)) return verdict
  const { allowed, remaining, resetAfterMs, retryAfterMs, delayMs, overage, exceeded, lockedOut } = verdict
  return { allowed, remaining, resetAfterMs, retryAfterMs, delayMs, overage, exceeded, lockedOut, chargedAt }
}

/**
 * What a request was charged, and when; `undefined` where it was not: it failed, was denied, only looked, or passed
 * uncharged.
 */
export function chargedIn<C extends Charge>(
  charge: C,
  verdicts: Verdicts,
): { readonly charge: C; readonly charged: ChargeTime } | undefined {
  const times = verdicts.flatMap(({ chargedAt }) => (chargedAt === undefined ? [] : [chargedAt]))
  if (times.length === 0) return undefined
  const policies = charge.policies.filter((_, i) => isCharged(verdicts[i]!))
  const delayMs = Math.max(...verdicts.map(({ delayMs = 0 }) => delayMs))
  return { charge: { ...charge, policies }, charged: { at: Math.min(...times), delayMs } }
}

/** Each policy's fields at one moment; `undefined` where nothing is known. */
export type States = readonly (Fields | undefined)[]

export const statesOf = (view: Pick<View, 'item'> | undefined, policies: readonly CompiledPolicy[]): States =>
  policies.map((policy) => fieldsOf(view?.item, policy))

export const stepAll = (states: States, policies: readonly CompiledPolicy[], units: Units, now: EpochMs): Step[] =>
  policies.map((policy, i) => policy.counter.step(states[i], unitsOf(units, policy), now, now, units.holds))

/** How policies stand, charging nothing. */
export const standAll = (states: States, policies: readonly CompiledPolicy[], now: EpochMs): Verdicts =>
  stepAll(states, policies, NO_UNITS, now).map(({ verdict }) => verdict)

export const allStepsAllow = (steps: readonly Step[]): boolean => steps.every(({ verdict }) => verdict.allowed)

/** Whether room may come free at any moment: all policies that deny count running requests. */
export const deniedByRunning = (verdicts: Verdicts, policies: readonly CompiledPolicy[]): boolean =>
  verdicts.every(({ allowed }, i) => allowed || policies[i]!.counter.isEndedByOthers)

/**
 * What is reported of one request. A denied request is charged nothing, so the policies that would have allowed it
 * report how they stand.
 */
export function verdictsOf(
  steps: readonly Step[],
  states: States,
  policies: readonly CompiledPolicy[],
  now: EpochMs,
): Verdicts {
  const denied = !allStepsAllow(steps)
  return steps.map(({ verdict }, i) =>
    denied && verdict.allowed ? policies[i]!.counter.step(states[i], 0, now).verdict : verdict,
  )
}

/** Each policy's fields after a request that all of them allowed. */
export const statesAfter = (states: States, steps: readonly Step[]): States =>
  steps.map(({ write }, i) => (write ? apply(write, states[i] ?? {}) : states[i]))

/** Those of several requests that fit one after another, in their order, and can share a write. */
export function thatFit<R extends Units>(
  states: States,
  policies: readonly CompiledPolicy[],
  requests: readonly R[],
  now: EpochMs,
): R[] {
  let current = states
  let before: Step[] | undefined
  return requests.filter((request) => {
    const steps = stepAll(current, policies, request, now)
    const canMerge = policies.every(({ counter }, i) => !before || counter.canMerge(before[i]!, steps[i]!))
    const fits = allStepsAllow(steps) && canMerge
    if (fits) [current, before] = [statesAfter(current, steps), steps]
    return fits
  })
}

/**
 * The writes that charge these units to every policy but those that let it pass uncharged. Where others write the
 * subject too, their guards may follow a guess at its present state: that only changes how often the write succeeds,
 * never what it may do.
 *
 * @param steps from what is known, for these very units.
 * @param guessFrom for the first try only: what a refusal brought back needs no guess, and a write made from it
 * succeeds.
 */
export function chargeWrites(
  steps: readonly Step[],
  policies: readonly CompiledPolicy[],
  units: Units,
  now: EpochMs,
  guessFrom?: View,
): PolicyWrite[] {
  const view = guessFrom?.shared ? guessFrom : undefined
  const writes = steps.map((step, i): Partial<PolicyWrite> => {
    const policy = policies[i]!
    const { counter, prefix } = policy
    const seen = view && fieldsOf(view.item, policy)
    const guess = seen && counter.extrapolate(seen, view!.seenAt, now)
    const guessed = guess && guess !== seen ? counter.step(guess, unitsOf(units, policy), now, now, units.holds) : step
    return { prefix, write: (counter.canMerge(step, guessed) && guessed.write) || step.write }
  })
  return (writes.every(({ write }) => write) ? writes : writes.filter(({ write }) => write)) as PolicyWrite[]
}

/** A clock that is further ahead than this says nothing of the others. */
const MAX_AHEAD_MS = 5000
/** How long the largest lead that was found counts; clocks drift, and instances come and go. */
const REMEMBERED_MS = 60_000
/** A view as young as this is not read again because of clocks. */
const YOUNG_MS = 20

/**
 * How far the clocks of other instances are ahead of ours, as far as the windows that they began show it.
 *
 * It admits nothing. It says when a cached denial is worth another read, since those whose clocks are ahead may be past
 * its window before we are.
 */
export class FleetClock {
  private aheadMs = 0
  private foundAt: EpochMs = 0

  /**
   * Learns from what was seen, whatever became of the request: how far ahead its newest window lay is most exact just
   * after that began.
   */
  observe({ item, seenAt }: View, policies: readonly CompiledPolicy[]): number {
    let reachedAt = seenAt
    for (const policy of policies)
      reachedAt = Math.max(reachedAt, policy.counter.reachedAt(fieldsOf(item, policy), seenAt) ?? 0)
    const aheadMs = reachedAt - seenAt
    if (aheadMs >= this.aheadAt(seenAt) && aheadMs <= MAX_AHEAD_MS) [this.aheadMs, this.foundAt] = [aheadMs, seenAt]
    return aheadMs
  }

  /** Whether one of several requests that a view denies by our clock may pass by theirs. */
  mayAdmit(view: View, policies: readonly CompiledPolicy[], requests: readonly Units[], now: EpochMs): boolean {
    const aheadMs = this.leadOver(view, policies, now)
    if (aheadMs === 0) return false
    const states = statesOf(view, policies)
    return requests.some((request) => allStepsAllow(stepAll(states, policies, request, now + aheadMs)))
  }

  /** How far ahead of ours a clock may be by which another instance would decide; 0 where the view is too young. */
  leadOver(view: View, policies: readonly CompiledPolicy[], now: EpochMs): number {
    const aheadMs = Math.max(this.aheadAt(now), this.observe(view, policies))
    return Math.abs(now - view.seenAt) < YOUNG_MS ? 0 : aheadMs
  }

  private aheadAt(now: EpochMs): number {
    return Math.abs(now - this.foundAt) < REMEMBERED_MS ? this.aheadMs : 0
  }
}

/**
 * The answers to requests that share a write, one after another, from the item that it found.
 *
 * A policy that let them pass uncharged did so by what was known before the write, whatever the item says of it.
 *
 * @param found the item as it was before the write; one that has the write in it, `already-applied`, tells how the
 * policies stand, and each request's units are in it already.
 * @param planned what the policies said before the write; the same for all the requests that share it.
 */
export function answersFrom(
  { kind, item }: Pick<WriteOutcome, 'kind' | 'item'>,
  admitted: readonly Units[],
  policies: readonly CompiledPolicy[],
  now: EpochMs,
  planned?: Verdicts,
): Verdicts[] {
  let truth: States = statesOf({ item }, policies)
  return admitted.map((request) => {
    const steps = stepAll(truth, policies, kind === 'applied' ? request : NO_UNITS, now).map((step, i): Step => {
      const plannedVerdict = planned?.[i]
      if (!plannedVerdict || isCharged(plannedVerdict)) return step
      const { verdict } = policies[i]!.counter.step(truth[i], 0, now)
      return { verdict: { ...verdict, exceeded: plannedVerdict.exceeded! } }
    })
    truth = statesAfter(truth, steps)
    return steps.map(({ verdict }) =>
      charged(verdict.allowed ? verdict : { ...verdict, allowed: true, retryAfterMs: 0 }, now),
    )
  })
}

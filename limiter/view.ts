import type { Verdict, Verdicts } from './algorithms/algorithm'
import type { Fields } from './algorithms/conditional-write'
import type { EpochMs } from './clock'
import { type CompiledPolicy, fieldsOf } from './compiled-policy'
import type { Seen } from './consistency/contention'
import { type Units, type UnitsOfAll, unitsOf } from './request'
import type { Item } from './stores/store'

/** What this instance last saw of a subject. */
export interface View extends Seen {
  /** Whether another instance wrote to it between the last two times that it was seen. */
  shared: boolean
  /** The last request that was denied by this view alone. */
  denial?: KnownDenial
}

/** How long a denial is trusted that ends when any running request does, in milliseconds. */
const RUNNING_DENIAL_TTL_MS = 200

/** Whether a view is at most so many milliseconds old, by a clock that may be set. */
export const isRecent = ({ seenAt }: View, now: EpochMs, ttlMs = RUNNING_DENIAL_TTL_MS): boolean =>
  Math.abs(now - seenAt) <= ttlMs

/** Whether others have written: our own marks stand in both views, theirs differ. */
export function othersWrote(known: Item, found: Item): boolean {
  for (const mark in known.marks) if (found.marks[mark] === undefined) return true
  for (const mark in found.marks) if (found.marks[mark] !== known.marks[mark]) return true
  return false
}

/** How far ahead a policy is asked whether it will still say the same, at first and at most, in milliseconds. */
const MAX_SPAN_MS = 4096

/** What one policy says of the request. */
interface Forecast {
  readonly policy: CompiledPolicy
  readonly fields: Fields | undefined
  /** What the request takes of it. */
  readonly units: number
  /** It says the same until then, with times that count down. */
  before: EpochMs
  /** How far ahead it is asked the next time whether it still will. */
  spanMs: number
}

/** What the policies of one subject said. */
export interface SubjectVerdicts {
  readonly policies: readonly CompiledPolicy[]
  readonly verdicts: Verdicts
  /** How long ago they said it, in milliseconds: times have counted down since. @default 0 */
  readonly elapsedMs?: number
}

/**
 * The denial of a request by what is known of its subject: what it says at every later moment, without asking policies
 * again whose numbers only count down.
 *
 * A policy is asked at two moments. Where its answers are the same, times counted down, so are those between: as time
 * passes over one state, room only grows, and what was to come at a moment comes then (the laws of verdicts in
 * docs/algorithms.md). Where they differ it is asked again a millisecond later, and less far ahead.
 *
 * None is remembered that has to be written down, or that ends when a running request does.
 */
export class KnownDenial {
  private readonly forecasts: readonly Forecast[]

  /** @param verdicts what the policies say at a moment, by these states. */
  constructor(
    private readonly policies: readonly CompiledPolicy[],
    states: readonly (Fields | undefined)[],
    units: Units,
    private verdicts: Verdicts,
    private at: EpochMs,
  ) {
    this.forecasts = policies.map((policy, i) => ({
      policy,
      fields: states[i],
      units: unitsOf(units, policy),
      before: at + 1,
      spanMs: MAX_SPAN_MS,
    }))
  }

  /** Whether another request takes the same. */
  isOf(charge: UnitsOfAll<CompiledPolicy>): boolean {
    if (charge.policies !== this.policies || charge.holds) return false
    for (const { policy, units } of this.forecasts) if (unitsOf(charge, policy) !== units) return false
    return true
  }

  /** Whether the request is denied at a later moment, too. */
  deniesAt(later: EpochMs): boolean {
    return this.forecasts.some(
      ({ policy, fields, units, before }, i) =>
        !this.verdicts[i]!.allowed &&
        ((this.at <= later && later < before) || !policy.counter.step(fields, units, later).verdict.allowed),
    )
  }

  /**
   * What the policies say now; `undefined`, from then on, where they deny the request no longer or the denial has to be
   * written down; and where the clock was set back.
   */
  saysNow(now: EpochMs): SubjectVerdicts | undefined {
    if (now >= this.at && this.forecasts.some(({ before }) => now >= before) && !this.askAgain(now)) this.at = Infinity
    return now < this.at ? undefined : { policies: this.policies, verdicts: this.verdicts, elapsedMs: now - this.at }
  }

  /** Asks the policies that may say something else by now; false where the denial is over. */
  private askAgain(now: EpochMs): boolean {
    const verdicts: Verdict[] = []
    for (const [i, forecast] of this.forecasts.entries()) {
      const past = this.verdicts[i]!
      const verdict = now < forecast.before ? countedDown(past, now - this.at) : ask(forecast, past.allowed, now)
      if (!verdict) return false
      verdicts.push(verdict)
    }
    this.verdicts = verdicts
    this.at = now
    return verdicts.some(({ allowed }) => !allowed)
  }
}

/** What a policy says, and until when; `undefined` where its denial has to be written down. */
function ask(forecast: Forecast, isAllowed: boolean, now: EpochMs): Verdict | undefined {
  const { policy, fields, spanMs } = forecast
  const step = policy.counter.step(fields, isAllowed ? 0 : forecast.units, now)
  if (!step.verdict.allowed && step.write) return undefined
  const isUncharged = isAllowed || step.verdict.allowed // others deny the request
  const { verdict } = isUncharged === isAllowed ? step : policy.counter.step(fields, 0, now)
  const later = policy.counter.step(fields, isUncharged ? 0 : forecast.units, now + spanMs)
  const isSame = saysTheSame(verdict, later.verdict, spanMs)
  forecast.before = now + (isSame ? spanMs : 0) + 1
  forecast.spanMs = isSame ? Math.min(4 * spanMs, MAX_SPAN_MS) : Math.max(1, Math.floor(spanMs / 4))
  return verdict
}

/** Whether a later answer is the earlier one with its times counted down, of which none is over yet. */
export function saysTheSame(earlier: Verdict, later: Verdict, elapsedMs: number): boolean {
  const isSameTime = (before = 0, after = 0) => (before === 0 ? after === 0 : after > 0 && before - elapsedMs === after)
  return (
    earlier.allowed === later.allowed &&
    earlier.remaining === later.remaining &&
    earlier.overage === later.overage &&
    earlier.exceeded === later.exceeded &&
    earlier.lockedOut === later.lockedOut &&
    isSameTime(earlier.resetAfterMs, later.resetAfterMs) &&
    isSameTime(earlier.retryAfterMs, later.retryAfterMs) &&
    isSameTime(earlier.delayMs, later.delayMs)
  )
}

/** Verdicts as they are now. */
export const verdictsNow = ({ verdicts, elapsedMs = 0 }: SubjectVerdicts): Verdicts =>
  elapsedMs === 0 ? verdicts : verdicts.map((verdict) => countedDown(verdict, elapsedMs))

function countedDown(verdict: Verdict, elapsedMs: number): Verdict {
  const { resetAfterMs, retryAfterMs, delayMs } = verdict
  return {
    ...verdict,
    resetAfterMs: leftOf(resetAfterMs, elapsedMs),
    retryAfterMs: leftOf(retryAfterMs, elapsedMs),
    ...(delayMs && { delayMs: leftOf(delayMs, elapsedMs) }),
  }
}

/** What is left of a time after so many milliseconds; 0 stays 0. */
export const leftOf = (ms: number, elapsedMs: number): number => (ms === 0 ? 0 : ms - elapsedMs)

/** Remembers a denial that need not be written down. One that ends when a running request does is asked for anew. */
export function rememberDenial(
  view: View,
  policies: readonly CompiledPolicy[],
  units: Units,
  verdicts: Verdicts,
  now: EpochMs,
): void {
  if (units.holds || policies.some(({ counter }) => counter.isEndedByOthers)) return
  const states = policies.map((policy) => fieldsOf(view.item, policy))
  view.denial = new KnownDenial(policies, states, units, verdicts, now)
}

import type { Exceeded, Verdict } from './algorithms/algorithm'
import type { EpochMs } from './clock'
import type { CompiledPolicy } from './compiled-policy'
import type { StoreFailure } from './errors'
import type { AnyText } from './policies/policy'
import { leftOf, type SubjectVerdicts } from './view'

/** The numbers of an answer. */
export interface Standing {
  readonly allowed: boolean
  /** Units per window, as the policy was configured. */
  readonly limit: number
  /** The policy's window, in milliseconds; of one on running requests, its timeout. */
  readonly windowMs: number
  /** What the policy counts, where that is not requests or units in time. */
  readonly counts?: 'running'
  /** Whole units still permitted at this instant, after this request; never negative. */
  readonly remaining: number
  /** Time until the quota is full again if no request comes; 0 when it is full. */
  readonly resetAfterMs: number
  /** Time until this very request would pass if no other comes first: 0 when allowed, `Infinity` when it never can. */
  readonly retryAfterMs: number
  /** How long an allowed request should wait for its turn; 0 unless a leaky bucket or `action: delay` queues it. */
  readonly delayMs: number
  /**
   * Units past the quota that are on record for the current window, this request's included. Absent where the policy
   * denies what is past its quota.
   */
  readonly overage?: number
  /** Allowed past the limit, and why: inside an `overrun`, or by the policy's action. Absent for all others. */
  readonly exceeded?: Exceeded
  /** Denied because the caller is locked out, until `retryAfterMs` is over at the earliest. Absent for all others. */
  readonly lockedOut?: true
}

/** The answer to one request over all its policies; the numbers are those of the policy that it is named after. */
export interface Decision<PolicyName extends string = string> extends Standing {
  /**
   * Name of the policy that denied, or of the tightest when allowed: the one with the least left, of several with
   * nothing left the furthest over. `reservations` where the caller has too many open.
   */
  readonly policy: PolicyName | AnyText
  /**
   * When the units were charged, in epoch milliseconds: what `refund` wants to know. Units of a lease were charged when
   * it was taken, those of a degraded decision in the memory of this limiter. `null` when nothing was charged: a
   * denial, a peek, or a degraded decision of the failure mode `allow`.
   */
  readonly chargedAt: EpochMs | null
  /** A cached denial: subjects that were not checked may make the request wait longer than `retryAfterMs`. */
  readonly retryAfterIsLowerBound: boolean
  /** The store could not be reached, and the failure mode decided. */
  readonly degraded: boolean
  /**
   * Why the store could not be reached. With `item` the subject's own item is refused, and the decision is a denial in
   * every failure mode. Absent where it could.
   */
  readonly failure?: StoreFailure
  /**
   * The failure mode that decided: the limiter's, and `deny` where the subject's own item is refused. Absent where the
   * store was reached.
   */
  readonly failureMode?: 'local' | 'allow' | 'deny'
  /** Allowed in the share by which a limit may be overrun. */
  readonly overrun: boolean
  /** Allowed although a policy with `action: observe` would have denied it. */
  readonly observed: boolean
  /** `low`: allowed past the limit of a policy with `action: deprioritize`. */
  readonly priority: 'normal' | 'low'
  /** The same numbers for each policy that was asked, by name. */
  readonly policies: Standings<PolicyName>
}

/** The numbers of policies, by the names that are known when a program is compiled, or by any. */
export type Standings<PolicyName extends string> = string extends PolicyName
  ? Readonly<Record<string, Standing>>
  : { readonly [Name in PolicyName]?: Standing }

/** Where policies share a name: the standing of each, of which a decision shows the tightest. */
const ofSameName = new WeakMap<Decision['policies'], ReadonlyMap<CompiledPolicy, Standing>>()

/** The numbers of a policy, also where another of its name leaves less. */
export const standingOf = ({ policies }: Decision, policy: CompiledPolicy): Standing | undefined => {
  const all = ofSameName.get(policies)
  return all ? all.get(policy) : policies[policy.name]
}

/**
 * One decision from what all policies said, in the order of evaluation.
 *
 * Denied: named after the first policy that denies; the retry is the latest of all that deny, for only then do all of
 * them allow. Allowed: named after the policy with the least left; of several the one that is furthest past its quota,
 * then the one that takes longest to be whole again.
 *
 * Units were charged at the earliest of several moments: looked for there, none that others were charged later is taken
 * for them.
 *
 * @param retryAfterIsLowerBound not all of the request's subjects were asked.
 */
export function compose(
  answers: readonly SubjectVerdicts[],
  degraded = false,
  retryAfterIsLowerBound = false,
): Decision {
  let name = ''
  let shown: Standing | undefined
  let retryAfterMs = 0
  let delayMs = 0
  let chargedAt = Infinity
  let isOverrun = false
  let isObserved = false
  let isDeprioritized = false
  const policies: Record<string, Standing> = {}
  let isNameShared = false
  for (const { policies: evaluated, verdicts, elapsedMs } of answers) {
    for (let i = 0; i < verdicts.length; i++) {
      const policy = evaluated[i]!
      const verdict = verdicts[i]!
      if (verdict.chargedAt !== undefined) chargedAt = Math.min(chargedAt, verdict.chargedAt)
      if (policy.isInternal && verdict.allowed && !verdict.exceeded && answers.some(hasExternal)) continue
      const standing = toStanding(policy, verdict, degraded, elapsedMs)
      if (!shown || comesBefore(standing, shown)) {
        name = policy.name
        shown = standing
      }
      retryAfterMs = Math.max(retryAfterMs, standing.retryAfterMs)
      delayMs = Math.max(delayMs, standing.delayMs)
      isOverrun ||= standing.exceeded === 'overrun'
      isObserved ||= standing.exceeded === 'observe'
      isDeprioritized ||= standing.exceeded === 'deprioritize'
      const other = Object.hasOwn(policies, policy.name) ? policies[policy.name] : undefined // subjects may share names
      isNameShared ||= other !== undefined
      if (!other || tighter(standing, other)) policies[policy.name] = standing
    }
  }
  if (isNameShared) {
    const each = ({ policies: evaluated, verdicts, elapsedMs }: SubjectVerdicts) =>
      verdicts.map((verdict, i) => [evaluated[i]!, toStanding(evaluated[i]!, verdict, degraded, elapsedMs)] as const)
    ofSameName.set(policies, new Map(answers.flatMap(each)))
  }
  const { allowed, limit, windowMs, remaining, resetAfterMs } = shown!
  const decision: Decision = {
    allowed,
    limit,
    windowMs,
    remaining,
    resetAfterMs,
    retryAfterMs,
    delayMs: allowed ? delayMs : 0,
    policy: name,
    overrun: allowed && isOverrun,
    observed: allowed && isObserved,
    priority: allowed && isDeprioritized ? 'low' : 'normal',
    chargedAt: allowed && chargedAt < Infinity ? chargedAt : null,
    retryAfterIsLowerBound: !allowed && retryAfterIsLowerBound,
    degraded,
    policies,
  }
  say(decision, shown!)
  return decision
}

/** Whether user-defined policies were checked: none is for a request that reserves 0 units of all policies. */
const hasExternal = ({ policies }: SubjectVerdicts): boolean => policies.some(({ isInternal }) => !isInternal)

/** What only some standings say. */
type Details = Pick<Standing, 'counts' | 'overage' | 'exceeded' | 'lockedOut'>

function say(to: { -readonly [Name in keyof Standing]: Standing[Name] }, from: Details): void {
  if (from.counts) to.counts = from.counts
  if (from.overage !== undefined) to.overage = from.overage
  if (from.exceeded) to.exceeded = from.exceeded
  if (from.lockedOut) to.lockedOut = from.lockedOut
}

/** Overage is reported only if it is recorded, which it is not without the store. */
function toStanding(
  { limit, windowMs, counter }: CompiledPolicy,
  verdict: Verdict,
  degraded: boolean,
  elapsedMs = 0,
): Standing {
  const { allowed, remaining, exceeded, lockedOut } = verdict
  const resetAfterMs = leftOf(verdict.resetAfterMs, elapsedMs)
  const retryAfterMs = leftOf(verdict.retryAfterMs, elapsedMs)
  const delayMs = leftOf(verdict.delayMs ?? 0, elapsedMs)
  const standing: Standing = { allowed, limit, windowMs, remaining, resetAfterMs, retryAfterMs, delayMs }
  const counts = counter.isEndedByOthers ? 'running' : undefined
  const overage = degraded ? undefined : verdict.overage
  if (counts || exceeded || lockedOut || overage !== undefined) say(standing, { counts, overage, exceeded, lockedOut })
  return standing
}

/** The first denial stays; among those that allow, the tighter one. */
const comesBefore = (one: Standing, shown: Standing): boolean => shown.allowed && tighter(one, shown)

/** Whether a standing leaves less than another: a denial less than any that allows. */
export function tighter(one: Standing, other: Standing): boolean {
  if (one.allowed !== other.allowed) return !one.allowed
  const less =
    other.remaining - one.remaining ||
    (one.overage ?? 0) - (other.overage ?? 0) ||
    one.resetAfterMs - other.resetAfterMs
  return less > 0
}

/** The denial of a request whose turn comes later than it would wait. */
export function tooLate(decision: Decision, leftMs: number): Decision {
  const late = ({ delayMs }: Standing): boolean => delayMs > leftMs
  const deny = (standing: Standing): Standing => ({
    ...standing,
    allowed: false,
    delayMs: 0,
    retryAfterMs: Math.ceil(standing.delayMs - leftMs),
  })
  const policies = Object.entries(decision.policies).map(
    ([name, standing]) => [name, late(standing) ? deny(standing) : standing] as const,
  )
  const [policy, standing] = policies.find(([, { allowed }]) => !allowed)!
  return {
    ...decision,
    ...standing,
    policy,
    retryAfterMs: Math.ceil(decision.delayMs - leftMs),
    chargedAt: null,
    overrun: false,
    observed: false,
    priority: 'normal',
    policies: Object.fromEntries(policies),
  }
}

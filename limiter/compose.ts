import type { Verdict } from './algorithms/algorithm'
import type { CompiledPolicy } from './compiled-policy'
import type { Decision, Standing } from './decision'
import { leftOf, type SubjectVerdicts } from './known-denial'

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
  let waitMs = 0
  let chargedAt = Infinity
  let isOverrun = false
  let isObserved = false
  let isDeprioritized = false
  const policies: Record<string, Standing> = {}
  let isNameShared = false
  for (const { policies: asked, verdicts, elapsedMs } of answers) {
    for (let i = 0; i < verdicts.length; i++) {
      const policy = asked[i]!
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
      if (policy.waits) waitMs = Math.max(waitMs, standing.delayMs)
      isOverrun ||= standing.exceeded === 'overrun'
      isObserved ||= standing.exceeded === 'observe'
      isDeprioritized ||= standing.exceeded === 'deprioritize'
      const other = Object.hasOwn(policies, policy.name) ? policies[policy.name] : undefined // subjects may share names
      isNameShared ||= other !== undefined
      if (!other || tighter(standing, other)) policies[policy.name] = standing
    }
  }
  if (isNameShared) {
    const each = ({ policies: asked, verdicts, elapsedMs }: SubjectVerdicts) =>
      verdicts.map((verdict, i) => [asked[i]!, toStanding(asked[i]!, verdict, degraded, elapsedMs)] as const)
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
    waitMs: allowed ? waitMs : 0,
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

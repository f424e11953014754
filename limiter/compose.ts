import type { Exceeded, Verdicts } from './algorithms/algorithm'
import type { CompiledPolicy } from './compiled-policy'
import type { Decision, Standing } from './decision'

/** What the policies of one subject said. */
export interface SubjectVerdicts {
  readonly policies: readonly CompiledPolicy[]
  readonly verdicts: Verdicts
}

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
  let shown: Named | undefined
  let retryAfterMs = 0
  let delayMs = 0
  let waitMs = 0
  let chargedAt = Infinity
  const exceeded = new Set<Exceeded>()
  const policies: Record<string, Standing> = {}
  let isNameShared = false
  for (const { policies: asked, verdicts } of answers) {
    for (const [i, verdict] of verdicts.entries()) {
      const { name, waits, isInternal } = asked[i]!
      if (verdict.chargedAt !== undefined) chargedAt = Math.min(chargedAt, verdict.chargedAt)
      if (isInternal && verdict.allowed && !verdict.exceeded && answers.some(hasExternal)) continue
      const standing = toStanding(asked[i]!, verdict, degraded)
      if (!shown || comesBefore(standing, shown.standing)) shown = { name, standing }
      retryAfterMs = Math.max(retryAfterMs, verdict.retryAfterMs)
      delayMs = Math.max(delayMs, standing.delayMs)
      if (waits) waitMs = Math.max(waitMs, standing.delayMs)
      if (standing.exceeded) exceeded.add(standing.exceeded)
      const other = Object.hasOwn(policies, name) ? policies[name] : undefined // two subjects may share a name
      isNameShared ||= other !== undefined
      if (!other || tighter(standing, other)) policies[name] = standing
    }
  }
  if (isNameShared) {
    const each = ({ policies: asked, verdicts }: SubjectVerdicts) =>
      verdicts.map((verdict, i) => [asked[i]!, toStanding(asked[i]!, verdict, degraded)] as const)
    ofSameName.set(policies, new Map(answers.flatMap(each)))
  }
  const { name, standing } = shown!
  const { allowed } = standing
  const did = (what: Exceeded) => allowed && exceeded.has(what)
  return {
    ...standing,
    policy: name,
    retryAfterMs,
    delayMs: allowed ? delayMs : 0,
    waitMs: allowed ? waitMs : 0,
    overrun: did('overrun'),
    observed: did('observe'),
    priority: did('deprioritize') ? 'low' : 'normal',
    chargedAt: allowed && chargedAt < Infinity ? chargedAt : null,
    retryAfterIsLowerBound: !allowed && retryAfterIsLowerBound,
    degraded,
    policies,
  }
}

/** Whether policies were asked that somebody wrote: of a request that reserves 0 units of all policies none is. */
const hasExternal = ({ policies }: SubjectVerdicts): boolean => policies.some(({ isInternal }) => !isInternal)

interface Named {
  readonly name: string
  readonly standing: Standing
}

/** Overage is reported only if it is recorded, which it is not without the store. */
const toStanding = (
  { limit, windowMs, counter }: CompiledPolicy,
  verdict: Verdicts[number],
  degraded: boolean,
): Standing => {
  const { allowed, remaining, resetAfterMs, retryAfterMs, delayMs = 0, overage, exceeded, lockedOut } = verdict
  const numbers = { allowed, limit, windowMs, remaining, resetAfterMs, retryAfterMs, delayMs }
  const counts = counter.isEndedByOthers && { counts: 'running' as const }
  const standing = { ...numbers, ...counts, ...(exceeded && { exceeded }), ...(lockedOut && { lockedOut }) }
  return overage === undefined || degraded ? standing : { ...standing, overage }
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

import type { Decision, Standing } from '../decision'
import type { CompiledPolicy } from './compiled-policy'
import type { Verdicts } from './plan'

/** What the policies of one subject said. */
export interface Answer {
  readonly policies: readonly CompiledPolicy[]
  readonly verdicts: Verdicts
}

/**
 * One decision from what all policies said, in the order of evaluation.
 *
 * Denied: named after the first policy that denies; the retry is the latest of all that deny, for only then do all of them allow. Allowed: named
 * after the policy with the least left, of several the one that takes longest to be whole again.
 */
export function compose(answers: readonly Answer[], degraded = false): Decision {
  let shown: Named | undefined
  let retryAfterMs = 0
  let delayMs = 0
  const policies: Record<string, Standing> = {}
  for (const { policies: asked, verdicts } of answers) {
    for (const [i, verdict] of verdicts.entries()) {
      const { name, limit } = asked[i]!
      const standing = toStanding(limit, verdict)
      if (!shown || comesBefore(standing, shown.standing)) shown = { name, standing }
      retryAfterMs = Math.max(retryAfterMs, verdict.retryAfterMs)
      delayMs = Math.max(delayMs, standing.delayMs)
      const other = Object.hasOwn(policies, name) ? policies[name] : undefined // two subjects may share a name
      if (!other || tighter(standing, other)) policies[name] = standing
    }
  }
  const { name, standing } = shown!
  const { allowed, limit, remaining, resetAfterMs } = standing
  return { allowed, policy: name, limit, remaining, resetAfterMs, retryAfterMs, delayMs: allowed ? delayMs : 0, degraded, policies }
}

interface Named {
  readonly name: string
  readonly standing: Standing
}

const toStanding = (limit: number, { allowed, remaining, resetAfterMs, retryAfterMs, delayMs = 0 }: Verdicts[number]): Standing => ({
  allowed,
  limit,
  remaining,
  resetAfterMs,
  retryAfterMs,
  delayMs,
})

/** The first denial stays; among those that allow, the tighter one. */
const comesBefore = (one: Standing, shown: Standing): boolean => shown.allowed && tighter(one, shown)

function tighter(one: Standing, other: Standing): boolean {
  if (one.allowed !== other.allowed) return !one.allowed
  return one.remaining < other.remaining || (one.remaining === other.remaining && one.resetAfterMs > other.resetAfterMs)
}

import type { Decision, Standing } from '../decision'
import type { CompiledPolicy } from './compiled-policy'
import type { Verdicts } from './plan'

interface Named extends Standing {
  readonly policy: string
}

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
  const standings = answers.flatMap(({ policies, verdicts }) => verdicts.map((verdict, i) => standing(policies[i]!, verdict)))
  const denying = standings.filter(({ allowed }) => !allowed)
  const shown = denying[0] ?? standings.reduce((least, one) => (tighter(one, least) ? one : least))
  return {
    ...shown,
    retryAfterMs: denying.reduce((latest, { retryAfterMs }) => Math.max(latest, retryAfterMs), 0),
    delayMs: denying.length > 0 ? 0 : Math.max(...standings.map(({ delayMs }) => delayMs)),
    degraded,
    policies: byName(standings),
  }
}

const standing = ({ name, limit }: CompiledPolicy, { delayMs = 0, ...verdict }: Verdicts[number]): Named => ({
  policy: name,
  limit,
  ...verdict,
  delayMs,
})

function tighter(one: Named, other: Named): boolean {
  if (one.allowed !== other.allowed) return !one.allowed
  return one.remaining < other.remaining || (one.remaining === other.remaining && one.resetAfterMs > other.resetAfterMs)
}

/** A name that two subjects share stands for the tighter one. */
function byName(standings: readonly Named[]): Record<string, Standing> {
  const named = new Map<string, Named>()
  for (const one of standings) {
    const other = named.get(one.policy)
    if (!other || tighter(one, other)) named.set(one.policy, one)
  }
  return Object.fromEntries([...named].map(([name, { policy: _, ...rest }]) => [name, rest]))
}

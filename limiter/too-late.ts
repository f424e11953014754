import type { Decision, Standing } from './decision'

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
    waitMs: 0,
    overrun: false,
    observed: false,
    priority: 'normal',
    policies: Object.fromEntries(policies),
  }
}

import type { Decision, Standing } from '../limiter/decision'
import { tighter } from '../limiter/decision'
import { ofProcess } from './of-process'

const decisions = ofProcess('decisions', () => new WeakMap<object, Decision>())

/**
 * The decision of the middlewares about a request: for a handler that serves `priority: 'low'` from a cache, or gives
 * units back. Several middlewares give one decision over all their policies.
 *
 * @param request what the framework passes to its middlewares: `req`, `request`, `c` or `ctx`.
 * @returns `undefined` if no middleware has counted the request.
 */
export function decisionOf(request: object): Decision | undefined {
  return decisions.get(request)
}

/** Adds a decision to those about the same request. Returns that over all their policies. */
export function remember(request: object, decision: Decision): Decision {
  const before = decisions.get(request)
  const all = before ? combined(before, decision) : decision
  decisions.set(request, all)
  return all
}

/** One decision of two: the numbers are those of the denial, else of the tighter one. */
function combined(first: Decision, second: Decision): Decision {
  const shown = tighter(second, first) ? second : first
  const policies: Record<string, Standing> = { ...first.policies }
  for (const [name, standing] of Object.entries(second.policies)) {
    const other = Object.hasOwn(policies, name) ? policies[name] : undefined
    if (!other || tighter(standing, other)) policies[name] = standing
  }
  const chargedAt = [first.chargedAt, second.chargedAt].filter((at) => at !== null)
  return {
    ...shown,
    chargedAt: shown.allowed && chargedAt.length > 0 ? Math.min(...chargedAt) : null,
    delayMs: shown.allowed ? Math.max(first.delayMs, second.delayMs) : 0,
    degraded: first.degraded || second.degraded,
    overrun: shown.allowed && (first.overrun || second.overrun),
    observed: shown.allowed && (first.observed || second.observed),
    priority: shown.allowed && [first, second].some(({ priority }) => priority === 'low') ? 'low' : 'normal',
    policies,
  }
}

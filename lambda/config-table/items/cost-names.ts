import type { Mistake } from '../../../limiter/errors'
import type { Policy } from '../../../limiter/policies/policy'
import { type Place, report } from '../../../limiter/policies/report'
import type { Costs } from './cost'

/** Names of costs in a policy set: each is a key of the authorizer's context, which has a largest size. */
export const MAX_COST_NAMES = 16

/**
 * The key of the authorizer's context that says what a request was charged of a cost: `costTokens`, `costInputTokens`
 * of `input-tokens`. Letters and digits are valid wherever API Gateway takes `$context.authorizer.<key>`.
 */
export const costKey = (name: string): `cost${Capitalize<string>}` =>
  `cost${name.replace(/(?:^|[_-]+)([A-Za-z0-9]?)/g, (_, first: string) => first.toUpperCase())}` as `cost${Capitalize<string>}`

type Keyed = Readonly<Record<ReturnType<typeof costKey>, number>>

const ofRoutes = new WeakMap<readonly Costs[], Keyed>()

/** These costs by their keys, and 0 for each other one that the routes name: a key that is set once is always set. */
export function withEachCost(routes: readonly Costs[] = [], costs: Keyed = {}): Keyed {
  const none = ofRoutes.get(routes) ?? Object.fromEntries(namesIn(routes).map((name) => [costKey(name), 0]))
  ofRoutes.set(routes, none)
  return Object.fromEntries(Object.entries({ ...none, ...costs }).slice(0, MAX_COST_NAMES))
}

const namesIn = (routes: readonly Costs[]): string[] =>
  [...new Set(routes.flatMap(({ costs = {} }) => Object.keys(costs)))].sort()

/** Reports costs that the authorizer's context cannot have apart. */
export function checkCostNames(
  routes: readonly Costs[],
  policies: readonly Policy[],
  place: Place,
  issues: Mistake[],
): void {
  const names = new Set([...namesIn(routes), ...policies.flatMap(({ written: { cost } }) => cost ?? [])])
  if (names.size > MAX_COST_NAMES)
    report(
      issues,
      'too_many',
      `names of costs must be at most ${MAX_COST_NAMES} in all routes and policies, got ${names.size}`,
      place,
    )
  const byKey = new Map<string, string>()
  for (const name of names) {
    const key = costKey(name)
    const other = byKey.get(key)
    byKey.set(key, other ?? name)
    if (other !== undefined)
      report(
        issues,
        'duplicate_name',
        `costs "${other}" and "${name}" would both be ${key} in the authorizer's context, rename one of them`,
        place,
      )
  }
}

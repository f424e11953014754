import { type Mistake, printed } from '../../../limiter/errors'
import type { Place } from '../../../limiter/policies/report'
import { bySpecificity } from '../../routing/route-pattern'
import { type Apis, checkScopes, type Scoped, scopedName } from './scopes'
import type { ScopedSettings } from './settings'
import type { Route, Tier } from './tiers'

/** The parts of a policy set that hold for some APIs only. */
export interface ScopedParts {
  /** By name. */
  readonly tiers: ReadonlyMap<string, readonly Tier[]>
  readonly settings: readonly ScopedSettings[]
  /** All routes, those for all APIs too. */
  readonly routes: readonly Route[]
  readonly apis: Apis
}

/** Orders items that are for all APIs before the others, and these by their key. */
export const byVariant = ({ scope: one }: Scoped, { scope: other }: Scoped): number => {
  const [a, b] = [one?.variant ?? '', other?.variant ?? '']
  return a < b ? -1 : Number(a > b)
}

/** @param routes in order. */
export function toScopedParts(
  tiers: readonly Tier[],
  routes: readonly Route[],
  settings: readonly ScopedSettings[],
  apis: Apis,
): ScopedParts | undefined {
  const byName = new Map<string, Tier[]>()
  for (const tier of tiers.filter(({ scope }) => scope).sort(byVariant))
    byName.set(tier.name, [...(byName.get(tier.name) ?? []), tier])
  if (byName.size === 0 && settings.length === 0 && !routes.some(({ scope }) => scope)) return undefined
  return { tiers: byName, settings: [...settings].sort(byVariant), routes, apis }
}

/** Reports items of one name that contradict each other. */
export function checkScoped({ tiers, settings, routes, apis }: ScopedParts, place: Place, issues: Mistake[]): void {
  const titled = (kind: string, base: string, { scope }: Scoped) => ({
    scope,
    title: `${kind} ${printed(scopedName(base, scope))}`,
  })
  for (const those of tiers.values())
    checkScopes(
      those.map((one) => titled('tier', one.name, one)),
      apis,
      place,
      issues,
    )
  for (const those of groupsOf(routes))
    checkScopes(
      those.map((one) => titled('route', one.pattern.text, one)),
      apis,
      place,
      issues,
    )
  checkScopes(
    settings.map(({ scope }) => ({ scope, title: `settings ${scope.variant}` })),
    apis,
    place,
    issues,
  )
}

/** Groups routes that match the same requests; these are next to each other in the list. */
export function groupsOf(routes: readonly Route[]): Route[][] {
  const groups: Route[][] = []
  for (const route of routes) {
    const last = groups.at(-1)
    if (last && bySpecificity(last[0]!.pattern, route.pattern) === 0) last.push(route)
    else groups.push([route])
  }
  return groups
}

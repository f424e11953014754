import { type Mistake, printed } from '../../../limiter/errors'
import type { Place } from '../../../limiter/policies/report'
import { bySpecificity } from '../../routing/route-pattern'
import type { PolicySet } from './policy-set'
import { type ApiStage, type Apis, checkScopes, mostSpecific, type Scoped, scopedName } from './scopes'
import { MODES, type ScopedSettings } from './settings'
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

interface ScopedSets {
  readonly byRequest: Map<string, PolicySet>
  /** By the names of the scoped items in force: APIs with the same ones share everything computed from the set. */
  readonly byItems: Map<string, PolicySet>
}

/** Pairs of API and stage remembered. */
const MOST_REMEMBERED = 1000

const remembered = new WeakMap<PolicySet, ScopedSets>()

/**
 * The policy set that holds for one stage of one API: of tiers and routes with the same name it has the most specific
 * ones only. The same object for the same items; the set itself where nothing in it is for some APIs only.
 */
export function setFor(set: PolicySet, request: ApiStage): PolicySet {
  const { scoped } = set
  if (!scoped) return set
  const { byRequest, byItems } = remembered.get(set) ?? { byRequest: new Map(), byItems: new Map() }
  remembered.set(set, { byRequest, byItems })
  const id = `${request.apiId}/${request.stageName}`
  const known = byRequest.get(id)
  if (known) return known

  const tiers = [...scoped.tiers.values()].map((those) => mostSpecific(those, request, scoped.apis))
  const routes = groupsOf(set.routes).flatMap((those) => mostSpecific(those, request, scoped.apis))
  const settings = strictest(mostSpecific(scoped.settings, request, scoped.apis))
  const items = JSON.stringify([
    tiers.flat().map(({ name, scope }) => scopedName(name, scope)),
    routes.flatMap(({ pattern, scope }) => (scope ? [[pattern.text, scope.variant]] : [])),
    settings?.scope.variant,
  ])
  if (byRequest.size >= MOST_REMEMBERED) {
    byRequest.clear()
    byItems.clear()
  }
  const made = byItems.get(items) ?? {
    ...set,
    tiers: new ScopedTiers(set.tiers, tiers.flatMap(mergeTiers)),
    routes: routes.length === set.routes.length ? set.routes : routes, // then they share what is worked out from them
    settings: settings ? { ...set.settings, mode: settings.mode } : set.settings,
  }
  byItems.set(items, made)
  byRequest.set(id, made)
  return made
}

const strictest = (settings: readonly ScopedSettings[]): ScopedSettings | undefined =>
  MODES.flatMap((mode) => settings.find((one) => one.mode === mode) ?? [])[0]

/** Tiers of one name that fit a request equally well, which is a mistake: its callers are held to all of them. */
function mergeTiers(tiers: readonly Tier[]): readonly Tier[] {
  const [first, ...others] = tiers
  if (!first || others.length === 0) return tiers
  const credentials =
    (['required', 'unknown'] as const).find((one) => tiers.some((tier) => tier.credentials === one)) ?? 'optional'
  const denies = tiers.some(({ failureMode }) => failureMode === 'deny')
  return [
    {
      ...first,
      credentials,
      ...(denies && { failureMode: 'deny' }),
      policies: tiers.flatMap(({ policies }) => policies),
    },
  ]
}

/** Groups routes that match the same requests; these are next to each other in the list. */
function groupsOf(routes: readonly Route[]): Route[][] {
  const groups: Route[][] = []
  for (const route of routes) {
    const last = groups.at(-1)
    if (last && bySpecificity(last[0]!.pattern, route.pattern) === 0) last.push(route)
    else groups.push([route])
  }
  return groups
}

/** Tiers of which some are replaced; the others may still be added to the underlying map. */
class ScopedTiers extends Map<string, Tier> {
  constructor(
    private readonly others: ReadonlyMap<string, Tier>,
    tiers: readonly Tier[],
  ) {
    super(tiers.map((tier) => [tier.name, tier]))
  }

  override get(name: string): Tier | undefined {
    return super.get(name) ?? this.others.get(name)
  }

  override *keys(): MapIterator<string> {
    yield* new Set([...super.keys(), ...this.others.keys()])
  }
}

import type { PolicySet } from './policy-set'
import { groupsOf } from './scoped-parts'
import { type ApiStage, mostSpecific, scopedName } from './scopes'
import { MODES, type ScopedSettings } from './settings'
import type { Tier } from './tiers'

interface ScopedSets {
  readonly byRequest: Map<string, PolicySet>
  /** By the names of the scoped items in force: APIs with the same ones share everything computed from the set. */
  readonly byItems: Map<string, PolicySet>
}

/** Pairs of API and stage remembered. */
const MAX_REMEMBERED = 1000

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
  if (byRequest.size >= MAX_REMEMBERED) {
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

import type { Mistake } from '../../../limiter/errors'
import { type Place, report } from '../../../limiter/policies/report'
import { bySpecificity } from '../../routing/route-pattern'
import { checkCombinations } from './check-combinations'
import { byVariant, checkScoped, type ScopedParts, toScopedParts } from './scoped-parts'
import { type Api, Apis, checkLabels } from './scopes'
import { DEFAULT_SETTINGS, type ModeSwitch, type ScopedSettings, type Settings, switched } from './settings'
import type { Displaced } from './storage'
import type { Route, Tier, TierPolicy } from './tiers'

/** Everything that an operator has configured except clients. */
export interface PolicySet {
  readonly settings: Settings
  readonly tiers: ReadonlyMap<string, Tier>
  /** The most specific first. */
  readonly routes: readonly Route[]
  /** Policies that hold for every request. */
  readonly global: readonly TierPolicy[]
  /** What is known of APIs. @default nothing */
  readonly apis?: Apis
  /** The parts that hold for some APIs only, if there are any: `setFor` returns the set that holds for a request. */
  readonly scoped?: ScopedParts
  /**
   * Policies that are stored under another attribute prefix, because theirs collides with another policy's. @default
   * none
   */
  readonly displaced?: Displaced
}

/** The parts of a policy set. */
export interface PolicySetParts {
  /** Overrides the mode in the settings, for all APIs. @default none */
  readonly modeSwitch?: ModeSwitch
  readonly settings?: Settings
  readonly scopedSettings?: readonly ScopedSettings[]
  readonly tiers: readonly Tier[]
  readonly routes: readonly Route[]
  readonly global?: readonly TierPolicy[]
  readonly apis?: readonly Api[]
}

/** Makes a policy set of settings, tiers, routes and global policies, and reports where they contradict each other. */
export function toPolicySet(parts: PolicySetParts, place: Place, issues: Mistake[]): PolicySet {
  const { tiers, routes, global = [], modeSwitch } = parts
  const settings = switched(parts.settings ?? DEFAULT_SETTINGS, modeSwitch)
  const scopedSettings = (parts.scopedSettings ?? []).map((one) => switched(one, modeSwitch))
  const apis = new Apis(parts.apis)
  const sorted = [...routes].sort((a, b) => bySpecificity(a.pattern, b.pattern) || byVariant(a, b))
  for (const [i, { pattern, scope }] of sorted.entries()) {
    const next = sorted[i + 1]
    if (next && !scope && !next.scope && bySpecificity(pattern, next.pattern) === 0) {
      report(
        issues,
        'duplicate_route',
        `routes "${pattern.text}" and "${next.pattern.text}" match the same requests, keep one`,
        place,
      )
    }
  }
  checkCombinations({ settings, tiers, routes, global }, place, issues)
  checkLabels(apis, place, issues)
  const scoped = toScopedParts(tiers, sorted, scopedSettings, apis)
  if (scoped) checkScoped(scoped, place, issues)
  const forAll = tiers.filter(({ scope }) => !scope)
  return {
    settings,
    tiers: new Map(forAll.map((tier) => [tier.name, tier])),
    routes: sorted,
    global,
    apis,
    ...(scoped && { scoped }),
  }
}

import type { Configuration, Policy, PolicySet, TierPolicy } from '../../facade/policies'

/** The rules of one side of a comparison. */
export interface RuleSet {
  /** Where they come from, in words. */
  readonly title: string
  readonly configuration: Configuration
  /** Whether anybody is blocked, or passes uncounted. */
  readonly hasAccess: boolean
}

/** All policies of a set, whichever APIs they are for. */
export function policiesIn({ global, routes, tiers, scoped, settings }: PolicySet): readonly (Policy | TierPolicy)[] {
  const allRoutes = scoped ? [...routes, ...scoped.routes] : routes
  const allTiers = [...tiers.values(), ...(scoped ? [...scoped.tiers.values()].flat() : [])]
  return [
    ...global,
    ...allRoutes.flatMap((route) => route.policies),
    ...allTiers.flatMap((tier) => tier.policies),
    settings.preflight,
  ]
}

/** The policies of a tier itself, for whichever APIs. */
export const policiesOfTier = ({ tiers, scoped }: PolicySet, tier: string): readonly TierPolicy[] =>
  [tiers.get(tier), ...(scoped?.tiers.get(tier) ?? [])].flatMap((one) => one?.policies ?? [])

/**
 * The policy of this name by which callers of a tier are counted, as it is configured: a client's override may have
 * other numbers.
 */
export function policyOf(set: PolicySet, tier: string, name: string): Policy | TierPolicy | undefined {
  return [...policiesOfTier(set, tier), ...policiesIn(set)].find((one) => one.name === name)
}

/** Names of the costs that policies of a set count. */
export function costNamesIn(set: PolicySet): string[] {
  return [...new Set(policiesIn(set).flatMap(({ written }) => written.cost ?? []))]
}

/** Whether all policies are strict, so that a request is decided in one step. */
export const isStrict = (set: PolicySet): boolean =>
  policiesIn(set).every(({ consistency }) => consistency === 'strict')

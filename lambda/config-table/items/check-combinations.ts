import { type Mistake, printed } from '../../../limiter/errors'
import { MAX_POLICIES, weightOf } from '../../../limiter/policies/parse-policies'
import { type Place, report } from '../../../limiter/policies/report'
import { checkCostNames } from './cost-names'
import { headersIn, possibleSubjects } from './counted-by'
import { scopedName } from './scopes'
import type { Settings } from './settings'
import { checkSettlingRoute } from './settling'
import { checkItemSizes } from './storage'
import { ANONYMOUS, type Route, type Tier, type TierPolicy } from './tiers'

/** The parts of a policy set of which a request can be held to several. */
interface CombinedParts {
  readonly settings: Settings
  readonly tiers: readonly Tier[]
  readonly routes: readonly Route[]
  readonly global: readonly TierPolicy[]
}

/** A group of policies that a request can be held to together with those of other groups. */
interface Group {
  readonly title: string
  readonly place: Place
  readonly policies: readonly TierPolicy[]
  /** Whether anonymous callers are held to it. */
  readonly anonymous: boolean
}

/**
 * One request is held to the global policies, its route's and its tier's: all of them must fit into one write, and no
 * two of them may share stored state.
 */
export function checkCombinations(
  { settings, tiers, routes, global }: CombinedParts,
  place: Place,
  issues: Mistake[],
): void {
  const ofTiers = tiers.map(({ name, policies, scope }): Group => {
    const title = `tier ${printed(scopedName(name, scope))}`
    return { title, place: [...place, title], policies, anonymous: name === ANONYMOUS }
  })
  const ofRoutes = routes.map(({ pattern, policies, scope }): Group => {
    const title = `route ${printed(scopedName(pattern.text, scope))}`
    return { title, place: [...place, title], policies, anonymous: true }
  })
  const ofAll: Group = { title: 'global', place: [...place, 'global'], policies: global, anonymous: true }

  checkNumber(ofTiers, ofRoutes, ofAll, issues)
  checkCostNames(
    routes,
    [...ofTiers, ...ofRoutes, ofAll].flatMap(({ policies }) => policies),
    place,
    issues,
  )
  for (const [i, route] of routes.entries()) {
    if (route.settleMs === undefined) continue
    const others = [...ofTiers, ofRoutes[i]!, ofAll]
    checkSettlingRoute(
      route,
      others.flatMap(({ policies }) => policies),
      ofRoutes[i]!.place,
      issues,
    )
  }
  checkItemSizes({ tiers, routes, global, defaultTier: settings.defaultTier }, place, issues)
  checkStateCollisions(ofTiers, [ofAll, ...ofRoutes], issues)
  checkStateCollisions(ofRoutes, [ofAll], issues)
  for (const { policies, place: here } of [...ofTiers, ...ofRoutes, ofAll])
    checkHeaders(policies, settings, here, issues)
  const names = tiers.map(({ name }) => name)
  for (const { policies, place: here } of [...ofRoutes, ofAll]) checkTierNames(policies, names, here, issues)
}

function checkNumber(tiers: readonly Group[], routes: readonly Group[], global: Group, issues: Mistake[]): void {
  const weight = (policies: readonly TierPolicy[]) => weightOf(policies.map(({ written }) => written))
  const [longest] = [...tiers].sort((a, b) => weight(b.policies) - weight(a.policies))
  if (!longest) return
  for (const route of [...routes, { ...global, policies: [] }]) {
    const total = weight([...route.policies, ...longest.policies, ...global.policies])
    if (total > MAX_POLICIES) {
      const others =
        global.policies.length > 0 && route.title !== global.title ? `${longest.title} and global` : longest.title
      report(
        issues,
        'too_many',
        `policies must be at most ${MAX_POLICIES} with those of ${others}, got ${total}`,
        route.place,
      )
    }
  }
}

/**
 * Reports policies of `groups` that would share stored state with one of `others`: the same subject under the same
 * name.
 */
function checkStateCollisions(others: readonly Group[], groups: readonly Group[], issues: Mistake[]): void {
  const counts = new Map(
    others.flatMap((other) =>
      other.policies.flatMap((one) => countsOf(one, other).map((count) => [count, other.title])),
    ),
  )
  for (const group of groups) {
    for (const policy of group.policies) {
      const title = countsOf(policy, group)
        .map((count) => counts.get(count))
        .find((found) => found !== undefined)
      if (title === undefined) continue
      const place = [...group.place, `policy "${policy.name}"`]
      report(
        issues,
        'duplicate_name',
        `name must differ from that of a policy of ${title}, or both would count as one`,
        place,
      )
    }
  }
}

/**
 * Each subject that a policy counts with the place of its state, as one text; two policies with the same text would
 * share stored state.
 */
function countsOf({ name, stateSchema, variant, by: { who, perRoute } }: TierPolicy, { anonymous }: Group): string[] {
  return possibleSubjects(who, anonymous).map((one) => `${one} ${perRoute} ${name} ${stateSchema} ${variant}`)
}

/** A tier that does not exist has no callers: most likely its name is misspelled. */
function checkTierNames(
  policies: readonly TierPolicy[],
  names: readonly string[],
  place: Place,
  issues: Mistake[],
): void {
  for (const { name, tiers = [] } of policies) {
    for (const tier of tiers.filter((one) => !names.includes(one))) {
      report(issues, 'unknown_tier', `tiers must be names of tiers, got ${printed(tier)}, but there is no such tier`, [
        ...place,
        `policy "${name}"`,
      ])
    }
  }
}

/** A header that callers can set would give each caller as many quotas as it likes. */
function checkHeaders(
  policies: readonly TierPolicy[],
  { trustedHeaders }: Settings,
  place: Place,
  issues: Mistake[],
): void {
  for (const { name, by } of policies) {
    const untrusted = headersIn(by.who).filter((header) => !trustedHeaders.includes(header))
    for (const header of untrusted) {
      const wanted = `settings must name "${header}" among its trustedHeaders, to say that callers cannot set it`
      report(issues, 'untrusted_header', `by counts by the header ${printed(header)}: ${wanted}`, [
        ...place,
        `policy "${name}"`,
      ])
    }
  }
}

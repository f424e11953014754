import { type Mistake, printed } from '../../../limiter/errors'
import { type Place, report } from '../../../limiter/policies/report'
import { type PolicySet, type PolicySetParts, toPolicySet } from './policy-set'
import { scopedName, splitVariant } from './scopes'
import type { Settings } from './settings'
import { checkAttributePrefixes } from './storage'
import { ANONYMOUS } from './tiers'

/**
 * A policy set of all its parts, and every mistake between them.
 *
 * @param names of its tiers, the invalid ones too; `undefined` where it is not known which there are.
 */
export function toCheckedPolicySet(
  parts: PolicySetParts,
  names: readonly string[] | undefined,
  place: Place,
  issues: Mistake[],
): PolicySet {
  const { settings, tiers, routes } = parts
  if (names) checkAnonymous(names, place, issues)
  if (names && settings) {
    const withoutScopes = names.map((name) => splitVariant(name)[0])
    checkDefaultTier(settings, withoutScopes, place, issues)
  }
  const set = toPolicySet(parts, place, issues)
  const shared = { tiers, routes, global: set.global, defaultTier: settings?.defaultTier }
  return { ...set, displaced: checkAttributePrefixes(shared, place, issues) }
}

/** Reports a missing anonymous tier. */
export function checkAnonymous(names: Iterable<string>, place: Place, issues: Mistake[]): void {
  if (![...names].includes(ANONYMOUS))
    report(
      issues,
      'missing_anonymous_tier',
      `tiers must have "${ANONYMOUS}", the tier of callers without a known key`,
      place,
    )
}

/** Reports a default tier that does not exist. */
export function checkDefaultTier(
  { defaultTier }: Settings,
  names: Iterable<string>,
  place: Place,
  issues: Mistake[],
): void {
  if (defaultTier !== undefined && ![...names].includes(defaultTier))
    report(
      issues,
      'unknown_tier',
      `defaultTier must be the name of a tier, got ${printed(defaultTier)}, but there is no such tier`,
      [...place, 'settings'],
    )
}

/** Reports required credentials where the deployment says that no caller has to show any. */
export function checkNoneRequired({ tiers, routes, scoped }: PolicySet, place: Place, issues: Mistake[]): void {
  const wrong = 'credentials must not be "required" where the deployment has authentication "none"'
  for (const { name, credentials, scope } of [...tiers.values(), ...(scoped ? [...scoped.tiers.values()].flat() : [])])
    if (credentials === 'required')
      report(issues, 'credentials_disabled', wrong, [...place, `tier ${printed(scopedName(name, scope))}`])
  for (const { pattern, credentials, scope } of routes)
    if (credentials === 'required')
      report(issues, 'credentials_disabled', wrong, [...place, `route ${printed(scopedName(pattern.text, scope))}`])
}

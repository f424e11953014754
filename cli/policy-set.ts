import { ConfigError } from '../lambda/errors'
import { type Policy, parsePolicies } from '../lambda/policies/policy'
import { checkAnonymous, type PolicySet, parseTiersFile, type Route, type Tier, toPolicySet } from '../lambda/policies/tiers'
import { parsePolicyItem } from '../lambda/tiers/config-items'
import type { PolicySetItem, TiersFile } from '../lambda/tiers/tiers-file'

/** The items of the partition `policy-set`, understood. */
export interface ReadSet {
  readonly set: PolicySet
  readonly global: readonly Policy[]
  /** What is wrong with the items, one sentence each. */
  readonly issues: readonly string[]
}

interface Parsed {
  readonly tier?: Tier
  readonly route?: Route
  readonly global?: readonly Policy[]
  readonly issues: readonly string[]
}

/** An item is looked at again and again while changes are put in order. */
const parsed = new WeakMap<PolicySetItem, Parsed>()

/** Reads items as the authorizer does, and says what is wrong with each of them and between them. */
export function readPolicySet(items: readonly PolicySetItem[]): ReadSet {
  const all = items.map(parse)
  const issues = all.flatMap((one) => one.issues)
  const tiers = all.flatMap(({ tier }) => tier ?? [])
  const routes = all.flatMap(({ route }) => route ?? [])
  checkAnonymous(
    items.flatMap(({ sk }) => (sk.startsWith('tier#') ? sk.slice('tier#'.length) : [])),
    [],
    issues,
  )
  const set = toPolicySet(tiers, routes, [], issues)
  return { set, global: all.flatMap(({ global }) => global ?? []), issues }
}

/**
 * Checks what a tiers file holds.
 *
 * @param name of the file, for the sentences.
 * @throws ConfigError with every mistake.
 */
export function checkTiersFile({ settings: _settings, global, exported: _exported, ...file }: TiersFile, name: string): void {
  const issues: string[] = []
  try {
    parseTiersFile(file, name)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    issues.push(...error.issues)
  }
  if (global !== undefined) parsePolicies(global?.policies, [name, 'global'], issues)
  if (issues.length > 0) throw new ConfigError(issues)
}

function parse(item: PolicySetItem): Parsed {
  const known = parsed.get(item)
  if (known) return known
  const issues: string[] = []
  const fresh = { ...parseKind(item, issues), issues }
  parsed.set(item, fresh)
  return fresh
}

function parseKind(item: PolicySetItem, issues: string[]): Omit<Parsed, 'issues'> {
  if (item.sk === 'global') return { global: parsePolicies(item.policies, ['item "global"'], issues) }
  if (item.sk === 'settings' || /^(block|allow)#(ip|client)#./.test(item.sk)) return {}
  return parsePolicyItem(item, issues)
}

import { checkRoom, type PolicySetItem } from '../../provisioning/tiers-file'
import { type AccessEntry, AccessList } from '../facade/callers'
import {
  type ConfigItem,
  type Configuration,
  parsePolicyItem,
  partsOf,
  toCheckedPolicySet,
  toPlaceholder,
} from '../facade/policies'
import type { Mistake } from '../facade/values'

/** The items of the partition `policy-set`, understood. */
export interface ReadSet {
  readonly configuration: Configuration
  /** What is wrong with the items, one sentence each. */
  readonly issues: readonly Mistake[]
}

/** Cached, because ordering changes reads each item many times. */
const parsed = new WeakMap<PolicySetItem, ConfigItem & { readonly issues: readonly Mistake[] }>()

/** Reads items as the authorizer does, and says what is wrong with each of them and between them. */
export function readPolicySet(items: readonly PolicySetItem[]): ReadSet {
  const all = items.map(readItem)
  const issues = all.flatMap((one) => one.issues)
  checkRoom(items.length, [], issues)
  const names = items.flatMap(({ sk }) => (sk.startsWith('tier#') ? sk.slice('tier#'.length) : []))
  const policies = toCheckedPolicySet(partsOf(all), names, [], issues)
  return { configuration: { policies, access: new AccessList(all.flatMap(({ access }) => access ?? [])) }, issues }
}

/** What an item says, and what is wrong with it: it is not in force as it stands then. */
export function readItem(item: PolicySetItem): ConfigItem & { readonly issues: readonly Mistake[] } {
  const known = parsed.get(item)
  if (known) return known
  const issues: Mistake[] = []
  const fresh = { ...parsePolicyItem(item, issues), issues }
  parsed.set(item, fresh)
  return fresh
}

/** The entry of a list that an item is. A block holds even where it has a mistake. */
export const accessOf = (item: PolicySetItem): AccessEntry | undefined =>
  readItem(item).access ?? toPlaceholder(item.sk).access

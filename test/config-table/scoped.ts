import { readPolicySet } from '../../cli/tiers/read-policy-set'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import type { PolicySet } from '../../lambda/config-table/items/policy-set'

/** Items of the partition `policy-set` by their sort key, without mistakes. */
export function setFrom(items: Readonly<Record<string, object>>): PolicySet {
  const { configuration, issues } = read(items)
  expect(issues).toEqual([])
  return configuration.policies
}

/** What is wrong with these items. */
export const issuesAmong = (items: Readonly<Record<string, object>>): readonly string[] =>
  read(items).issues.map(String)

const read = (items: Readonly<Record<string, object>>) =>
  readPolicySet(Object.entries(items).map(([sk, item]) => ({ pk: CONFIG_TABLE.policySet, sk, ...item })))

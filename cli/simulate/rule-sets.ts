import { switchKey } from '../../lambda/config-table/items/config-items'
import { isInFile, itemsOf, type PolicySetItem } from '../../provisioning/tiers-file'
import { UserError } from '../exit'
import type { ConfigTable } from '../tables/config-table'
import { readHmacKeys } from '../tables/hmac-key'
import { readPolicySet } from '../tiers/read-policy-set'
import { readTiersFile } from '../tiers/tiers-yaml'
import { ClientDirectory } from './decide/known-clients'
import type { RuleSet } from './decide/rule-set'

/** What compares with what is in force. */
export const CURRENT = 'current'

/** What a config table has of the rules, and of the callers. */
export interface TableContent {
  readonly items: readonly PolicySetItem[]
  readonly clients: ClientDirectory
}

export async function readTable(table: ConfigTable): Promise<TableContent> {
  const items = (await table.policySet()).map(({ item }) => item)
  const [records, { keys }] = [await table.clients(), await readHmacKeys(table)]
  return { items, clients: new ClientDirectory(records, keys) }
}

/**
 * The rules of a tiers file, by themselves. Labels of APIs, blocks and allowances are in no file: those of the table
 * hold, where it was read.
 */
export function rulesOfFile(path: string, table: TableContent | undefined): RuleSet {
  const file = readTiersFile(path)
  const beside = (table?.items ?? []).filter((item) => !isInFile(item) && item.sk !== switchKey().sk)
  const items = [...itemsOf(file), ...beside]
  return { title: path, configuration: readPolicySet(items).configuration, hasAccess: hasAccess(items) }
}

/** The rules in force, with the switch of `sluice off` and `sluice observe`. */
export function rulesInForce({ items }: TableContent): RuleSet & { readonly issues: readonly string[] } {
  if (!items.some(({ sk }) => sk.startsWith('tier#')))
    throw new UserError('the config table has no tier, so there is nothing in force to compare with')
  const { configuration, issues } = readPolicySet(items)
  return { title: CURRENT, configuration, hasAccess: hasAccess(items), issues: issues.map(String) }
}

const hasAccess = (items: readonly PolicySetItem[]): boolean => items.some(({ sk }) => /^(block|allow)#/.test(sk))

import { diff, isInFile, itemsOf, type PolicySetItem } from '../../provisioning/tiers-file'
import { UserError } from '../exit'
import { HMAC_RING, switchKey } from '../facade/tables'
import type { Connection } from '../tables/connection'
import { readKeyRing } from '../tables/key-ring'
import { itemDiff } from '../tiers/diff-text'
import { readPolicySet } from '../tiers/read-policy-set'
import { readTiersFile } from '../tiers/tiers-yaml'
import { titleOf } from '../tiers/titles'
import { ClientDirectory } from './decide/known-clients'
import type { RuleSet } from './decide/rule-set'
import type { ItemChange } from './report/comparison'
import type { Asked } from './report/summary'
import { type SetLimit, withLimits } from './set-limit'

/** What stands for the rules in force instead of a file. */
export const CURRENT = 'current'

/** What a config table has of the rules, and of the callers. */
export interface TableContent {
  /** Which table it is: `table sluice-config in eu-west-1`. */
  readonly name: string
  readonly items: readonly PolicySetItem[]
  readonly clients: ClientDirectory
}

export async function readTable(connection: Connection): Promise<TableContent> {
  const table = await connection.configTable()
  const items = (await table.policySet()).map(({ item }) => item)
  const [records, { ring }] = [await table.clients(), await readKeyRing(HMAC_RING, table)]
  return { name: await connection.describe('config'), items, clients: new ClientDirectory(records, ring) }
}

/** Whose exceptions count beside the limits of a file. */
export function askedOf(table: TableContent | undefined): Asked {
  const count = (kind: string) => table?.items.filter(({ sk }) => sk.startsWith(`${kind}#`)).length ?? 0
  const { count: clients = 0, overridden = 0 } = table?.clients ?? {}
  return { table: table?.name ?? null, clients, overridden, blocks: count('block'), allowances: count('allow') }
}

/** Rules as they are written. */
export interface WrittenRules {
  readonly title: string
  readonly items: readonly PolicySetItem[]
}

/**
 * The rules of a tiers file, by themselves. Labels of APIs, blocks and allowances are in no file: those of the table
 * hold, where it was read.
 */
export function rulesOfFile(path: string, table: TableContent | undefined): WrittenRules {
  const file = readTiersFile(path)
  const beside = (table?.items ?? []).filter((item) => !isInFile(item) && item.sk !== switchKey().sk)
  return { title: path, items: [...itemsOf(file), ...beside] }
}

/** The rules in force, with the switch of `sluice off` and `sluice observe`. */
export function rulesInForce({ name, items }: TableContent): WrittenRules {
  if (!items.some(({ sk }) => sk.startsWith('tier#')))
    throw new UserError(`${name} has no tier, so there is nothing in force`)
  return { title: `${CURRENT} (${name})`, items }
}

/** The same rules with other limits. */
export const rulesWith = ({ title, items }: WrittenRules, sets: readonly SetLimit[]): WrittenRules => ({
  title: `${title} with ${sets.map(({ text }) => text).join(', ')}`,
  items: withLimits(items, sets, title),
})

/** How rules differ from others, as they are written. */
export const changesBetween = (before: WrittenRules, after: WrittenRules): ItemChange[] =>
  diff(before.items, after.items).map((change) => ({
    item: titleOf(change.sk),
    lines: itemDiff(change.before, change.after).flatMap(({ sign, text }) => (sign === ' ' ? [] : `${sign} ${text}`)),
  }))

/** Rules, understood, and what is wrong with them. */
export function understood({ title, items }: WrittenRules): RuleSet & { readonly issues: readonly string[] } {
  const { configuration, issues } = readPolicySet(items)
  const hasAccess = items.some(({ sk }) => /^(block|allow)#/.test(sk))
  return { title, configuration, hasAccess, issues: issues.map(String) }
}

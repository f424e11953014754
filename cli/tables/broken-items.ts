import { createHash } from 'node:crypto'
import type { StoredItem } from '../../provisioning/documents'
import { isInFile, type PolicySetItem } from '../../provisioning/tiers-file'
import { isOfCredential } from '../callers/client-records'
import { UserError } from '../exit'
import { parseClientItem } from '../facade/callers'
import { switchKey } from '../facade/tables'
import { Mistake, printed } from '../facade/values'
import { quoted } from '../terminal/completion'
import { readItem } from '../tiers/read-policy-set'
import type { ConfigTable } from './config-table'

/** How a client's record is called: never by its key, which may be a secret in clear. */
export const recordName = (pk: string): string => `record-${createHash('sha256').update(pk).digest('hex').slice(0, 12)}`

/** A word of a command as a shell reads it. */
export const shellWord = (text: string): string => (/^[\w.:@/-]+$/.test(text) ? text : quoted(text))

/** What removes an item that no other command does. */
export const removal = (name: string): string =>
  name === switchKey().sk ? 'sluice on' : `sluice doctor --remove ${shellWord(name)}`

/** What is wrong with a client's record. */
export function mistakesOf({ item }: StoredItem): Mistake[] {
  const issues: Mistake[] = []
  parseClientItem(item, issues)
  if (!isOfCredential(item.pk))
    issues.push(
      new Mistake('invalid_item_key', 'pk must be "client#" and the SHA-256 of an API key, or a source and its value'),
    )
  return issues
}

const isInvalid = (item: PolicySetItem): boolean => readItem(item).issues.length > 0
const isSwitch = ({ sk }: PolicySetItem): boolean => sk === switchKey().sk

export const isInvalidSwitch = (item: PolicySetItem): boolean => isSwitch(item) && isInvalid(item)

/** Whether an item of the policy set is invalid, and neither in a tiers file nor the switch. */
export const isStray = (item: PolicySetItem): boolean => isInvalid(item) && !isInFile(item) && !isSwitch(item)

/** The item that `doctor` called by this name. @throws UserError where there is none, or it is valid */
export async function brokenItem(table: ConfigTable, name: string): Promise<StoredItem> {
  const ofSet = (await table.policySet()).find(({ item }) => item.sk === name && isStray(item))
  const found =
    ofSet ?? (await table.clients()).find((one) => recordName(one.item.pk) === name && mistakesOf(one).length > 0)
  if (!found)
    throw new UserError(`--remove must be an item that a check of sluice doctor names for it, got ${printed(name)}`)
  return found
}

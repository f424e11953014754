import { apiKey } from '../lambda/config-table/items/config-keys'
import { type Api, parseApi } from '../lambda/config-table/items/scopes'
import { Mistake, printed } from '../limiter/errors'
import { contentOf, type PolicySetItem } from './tiers-file'

/**
 * An item that is written in one transaction with each label that is given, on the condition that it is as it was
 * before labels were read. No condition of DynamoDB can check that no other item has a label; with this one, if two
 * processes give the same label at once, one fails. The authorizer never reads it.
 */
export const LABELS_VERSION = { pk: 'api-labels', sk: 'version' } as const

/** That item as it is to be after another label. @param before as it was read; `undefined` if there was none. */
export const nextLabelsVersion = (before: Readonly<Record<string, unknown>> | undefined) => ({
  ...LABELS_VERSION,
  version: (Number(before?.version) || 0) + 1,
})

const PREFIX = apiKey('').sk

/** The id of the API that an item is about. */
const idOf = ({ sk }: PolicySetItem): string | undefined =>
  sk.startsWith(PREFIX) ? sk.slice(PREFIX.length) : undefined

/** The names and labels of APIs by a policy set's items. An item with a mistake is left out, as the authorizer does. */
export function apisOf(items: readonly PolicySetItem[]): Api[] {
  return items.flatMap((item) => {
    const id = idOf(item)
    return id === undefined ? [] : (parseApi(id, contentOf(item), [], []) ?? [])
  })
}

/**
 * Why an API cannot be given a label, a sentence each; empty if it can. A label in another API's invalid item is not
 * free either: instances may still use that item's last valid version.
 */
export function labelIssues(
  items: readonly PolicySetItem[],
  id: string,
  fields: { readonly name?: unknown; readonly label: string },
): Mistake[] {
  const issues: Mistake[] = []
  parseApi(id, fields, [], issues)
  const { label } = fields
  const other = items.find(
    (item) => ![undefined, id].includes(idOf(item)) && [idOf(item), item.label, item.name].includes(label),
  )
  if (other)
    issues.push(
      new Mistake(
        'duplicate_label',
        `label ${printed(label)} is already used by API ${idOf(other)}: choose another one, or run sluice apis remove ${idOf(other)} first`,
      ),
    )
  return issues
}

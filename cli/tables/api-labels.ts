import { apisOf, LABELS_VERSION, labelIssues, nextLabelsVersion } from '../../provisioning/api-labels'
import type { StoredItem } from '../../provisioning/documents'
import type { GuardedWrite } from '../../provisioning/guarded-writes'
import { UserError } from '../exit'
import type { Api } from '../facade/policies'
import { apiKey, CONFIG_TABLE } from '../facade/tables'
import type { ConfigTable } from './config-table'

/** What APIs are called, as it was read. */
export interface ReadLabels {
  /** The policy set. */
  readonly items: readonly StoredItem[]
  /** As it was before the items were read. */
  readonly version: StoredItem | undefined
}

export async function readLabels(table: Pick<ConfigTable, 'item' | 'policySet'>): Promise<ReadLabels> {
  const version = await table.item(LABELS_VERSION) // first: whoever gives a label after this raises it
  return { version, items: await table.policySet() }
}

/** What the table says APIs are called. An item with a mistake is left out, as the authorizer does. */
export const apisIn = (items: readonly StoredItem[]): readonly Api[] => apisOf(items.map(({ item }) => item))

/** An API's item as it was read. */
export const apiItem = ({ items }: Pick<ReadLabels, 'items'>, id: string): StoredItem | undefined =>
  items.find(({ item }) => item.sk === apiKey(id).sk)

/**
 * The writes that give an API a label, over what was read: together they fail where anybody gave a label meanwhile.
 *
 * @param name of the API in API Gateway, where it is known.
 * @throws UserError for what is no label, or what another API is called.
 */
export function labelWrites(
  read: ReadLabels,
  id: string,
  label: string,
  name?: string,
): [version: GuardedWrite, item: GuardedWrite] {
  const { items, version } = read
  const fields = { name: name ?? apisIn(items).find((api) => api.id === id)?.name, label }
  const issues = labelIssues(
    items.map(({ item }) => item),
    id,
    fields,
  )
  if (issues.length > 0) throw new UserError(issues.join('; '))
  return [
    { key: LABELS_VERSION, before: version?.exact, after: nextLabelsVersion(version?.item) },
    { key: apiKey(id), before: apiItem(read, id)?.exact, after: { ...apiKey(id), ...fields } },
  ]
}

/** Whether a word can be the id of an API that has no label: one that API Gateway makes, or that of `npm start`. */
export const isLikeApiId = (word: string): boolean => /^[a-z0-9]{10}$/.test(word) || word === LOCAL_API_ID

/** As local/gateway says it in its events. */
const LOCAL_API_ID = 'sluicelocal'

/**
 * Words of `apis` that no API is known by and that do not look like an id: most likely misspelled, or of an API that
 * has no label yet.
 */
export function unknownWords(items: readonly StoredItem[]): readonly { readonly sk: string; readonly word: string }[] {
  const words = new Set(apisIn(items).flatMap(({ id, name, label }) => [id, name, label]))
  return items.flatMap(({ item: { pk, sk, apis } }) => {
    if (pk !== CONFIG_TABLE.policySet || !Array.isArray(apis)) return []
    const named = apis.flatMap((text) => (typeof text === 'string' ? text.split('/', 1) : []))
    return named
      .filter((word) => word !== '*' && !words.has(word) && !isLikeApiId(word!))
      .map((word) => ({ sk, word: word! }))
  })
}

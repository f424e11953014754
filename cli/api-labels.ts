import { printed } from '../lambda/errors'
import { type Api, Apis, checkLabels, parseApi } from '../lambda/policies/scopes'
import { apiKey, CONFIG_TABLE } from '../lambda/tiers/config-items'
import { type StoredItem, toAttributes } from './config-table'
import { UserError } from './exit'
import type { ItemWrite } from './item-writes'

/** What the table says APIs are called, by id. An item with a mistake is left out, as the authorizer does. */
export function apisIn(items: readonly StoredItem[]): readonly Api[] {
  const prefix = apiKey('').sk
  return items.flatMap(({ item: { pk: _pk, sk, ...fields } }) =>
    sk.startsWith(prefix) ? (parseApi(sk.slice(prefix.length), fields, [], []) ?? []) : [],
  )
}

/**
 * The write that gives an API a label, over what was read.
 *
 * @param name of the API in API Gateway, where it is known.
 * @throws UserError for what is no label, or what another API is called.
 */
export function labelWrite(items: readonly StoredItem[], id: string, label: string, name?: string): ItemWrite {
  const key = apiKey(id)
  const before = items.find(({ item }) => item.sk === key.sk)
  const known = apisIn(items).find((api) => api.id === id)
  const fields = { name: name ?? known?.name, label }
  const issues: string[] = []
  const api = parseApi(id, fields, [], issues)
  const others = apisIn(items).filter((one) => one.id !== id)
  const taken = others.find((one) => [one.id, one.label, one.name].includes(label))
  if (taken) issues.push(`label ${printed(label)} is what API ${taken.id} is called: take another one, or sluice apis remove ${taken.id}`)
  else if (api) checkLabels(new Apis([...others, api]), [], issues)
  if (issues.length > 0) throw new UserError(issues.join('; '))
  return { key, before: before?.attributes, after: toAttributes({ ...key, ...fields }) }
}

/** Words of `apis` that no API is known by and that do not look like an id: most likely misspelled, or of an API that has no label yet. */
export function unknownWords(items: readonly StoredItem[]): readonly { readonly sk: string; readonly word: string }[] {
  const words = new Set(apisIn(items).flatMap(({ id, name, label }) => [id, name, label]))
  return items.flatMap(({ item: { pk, sk, apis } }) => {
    if (pk !== CONFIG_TABLE.policySet || !Array.isArray(apis)) return []
    const named = apis.flatMap((text) => (typeof text === 'string' ? text.split('/', 1) : []))
    return named.filter((word) => word !== '*' && !words.has(word) && !/^[a-z0-9]{10}$/.test(word!)).map((word) => ({ sk, word: word! }))
  })
}

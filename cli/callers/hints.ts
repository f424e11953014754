import { UserError } from '../exit'
import { nearest, printed } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'

/** More names are not listed: the command that lists them is named instead. */
const MAX_LISTED = 12

/**
 * What to add to a sentence about a name that nothing has: `: did you mean "acme"?`, `: known are free, pro`.
 *
 * @param list the command that lists them, where there are too many to be named.
 */
export function hint(name: string, known: readonly string[], list?: string): string {
  const names = [...new Set(known)]
  const near = nearest(name, names)
  if (near !== undefined) return `: did you mean ${printed(near)}?`
  if (names.length === 0) return ': there is none yet'
  return list !== undefined && names.length > MAX_LISTED
    ? `: list them with ${list}`
    : `: known are ${names.join(', ')}`
}

/** The error for a client's id that no record has. @param advice what else may have been meant. */
export async function noSuchClient(table: ConfigTable, id: string, advice = ''): Promise<UserError> {
  const ids = (await table.clients()).map(({ item }) => String(item.id)).sort()
  return new UserError(`there is no client ${printed(id)}${hint(id, ids, 'sluice clients list')}${advice}`)
}

import type { Session } from '../command'
import { UserError } from '../exit'
import { clientKey } from '../facade/tables'
import { printed } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'
import { KINDS } from './asked'
import { foundText, whoHas } from './hashed-subject'
import { hint } from './hints'
import { ipv6Prefix } from './limits'
import { toHash } from './stored-hash'
import { readKnown } from './subjects'

/**
 * Whom a list can hold, an address, a network or a client, for what was given: also a hash of the log, and a user or
 * caller whom a client's credential names.
 *
 * @returns what `entryKey` reads.
 * @throws UserError for whom no list can hold, since requests are compared with addresses and clients only.
 */
export async function listable(session: Session, table: ConfigTable, text: string): Promise<string> {
  const hash = toHash(text)
  if (hash) {
    const found = await whoHas(hash, table, await readKnown(table), ipv6Prefix(session))
    if (found.name === undefined)
      throw new UserError(`${text} cannot be resolved, and a list names clients and addresses: ${found.why}`)
    session.print.note(`${text} is ${foundText(found)}`)
    const name = found.name.replace(/^preflight:/, '')
    if (name.startsWith('ip:')) return name
    if (found.client !== undefined && !name.startsWith('several:')) return `client:${found.client}`
    if (name.startsWith('client:')) return name
    throw new UserError(`${name} is neither a client nor an address, so it cannot be on a list`)
  }
  const [, kind] = KINDS.exec(text) ?? []
  if (kind === undefined || kind === 'client' || kind === 'ip') return text
  const record = /^(user|client)(@|$)/.test(kind) ? await table.item(clientKey(text)) : undefined
  if (record) {
    session.print.note(`${text} is a credential of client ${printed(record.item.id)}`)
    return `client:${String(record.item.id)}`
  }
  throw new UserError(
    `${text} is neither an address nor a client, so it cannot be on a list: a user or caller of a token is blocked by its client record ` +
      `(sluice clients create), or by its issuer; a client with this id is client:${text}`,
  )
}

/**
 * Throws unless a client of an entry, `client:acme`, has a record: requests are compared with records only.
 *
 * @returns whether it has; `true` for addresses.
 */
export async function checkListed(table: ConfigTable, who: string, force: boolean): Promise<boolean> {
  const [, id] = /^client:(.*)$/s.exec(who) ?? []
  if (id === undefined) return true
  const ids = (await table.clients()).map(({ item }) => String(item.id)).sort()
  if (ids.includes(id)) return true
  if (force) return false
  throw new UserError(
    `there is no client ${printed(id)}${hint(id, ids, 'sluice clients list')}; an entry for a client that is still to be created needs --force`,
  )
}

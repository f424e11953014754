import { AUDIT_PARTITION } from '../../provisioning/audit-partition'
import { type AuditEntry, refOf, withoutPerson } from '../../provisioning/audit-trail'
import type { StoredItem } from '../../provisioning/documents'
import type { GuardedWrite } from '../../provisioning/guarded-writes'
import { failureOf } from '../exit'
import { type IpAddress, masked, parseIpAddress, parseIpRange } from '../facade/callers'
import { clientKey, lastValidKey } from '../facade/tables'
import type { ConfigTable } from '../tables/config-table'
import { counted } from '../terminal/output'
import { entryOf } from './block-entries'
import { credentialOf } from './client-records'
import { signatureDeletions } from './signatures'

/** An item of the config table that is about somebody. */
interface Mention {
  /** In words: `client acme, by key 1a2b3c`. */
  readonly text: string
  /** Each is done by itself. */
  readonly writes: readonly GuardedWrite[]
}

/** The items of the config table about a caller, and listed networks that contain the caller's address among others. */
export interface Mentions {
  readonly items: readonly Mention[]
  readonly networks: readonly string[]
}

/** The client records of a caller, by client id, user and claim names. */
export async function recordsAbout(table: ConfigTable, names: readonly string[]): Promise<StoredItem[]> {
  const found = new Map<string, StoredItem>()
  for (const name of names) {
    const [, id] = /^client:(.*)$/s.exec(name) ?? []
    const named = /^(client|user)(@[^:]+)?:/.test(name) ? await table.item(clientKey(name)) : undefined
    for (const record of [...(id === undefined ? [] : await table.clients(id)), ...(named ? [named] : [])])
      found.set(record.item.pk, record)
  }
  return [...found.values()]
}

/** The name that a record's credential gives who shows it: `user:42`; `undefined` for keys, which give none. */
export const nameOfCredential = ({ item: { pk } }: StoredItem): string | undefined =>
  /^client#((?:user|client)(?:@[^:]+)?:.*)$/s.exec(pk)?.[1]

/** @param names of the caller, such as `client:acme`. @param addresses as they were given, whole. */
export async function mentionsOf(
  table: ConfigTable,
  records: readonly StoredItem[],
  names: readonly string[],
  addresses: readonly string[],
): Promise<Mentions> {
  const items: Mention[] = await Promise.all(
    records.map(async ({ item, exact }) => ({
      text: `client ${String(item.id)}, by ${credentialOf(item)}`,
      writes: [{ key: { pk: item.pk, sk: item.sk }, before: exact }, ...(await signatureDeletions(table, [item.pk]))],
    })),
  )
  const ids = names.flatMap((name) => /^client:(.*)$/s.exec(name)?.[1] ?? [])
  const networks: string[] = []
  const hosts = addresses.map(parseIpAddress).filter((address) => address !== undefined)
  for (const stored of await table.policySet()) {
    const entry = entryOf(stored.item.sk)
    if (!entry) continue
    const held = holdOf(entry.who, ids, hosts)
    if (held === 'others too') networks.push(`${entry.who} on the ${entry.list} list`)
    if (held !== 'alone') continue
    const key = { pk: stored.item.pk, sk: stored.item.sk }
    items.push({ text: `${entry.who} on the ${entry.list} list`, writes: [{ key, before: stored.exact }] })
    const copy = await table.item(lastValidKey(key.sk))
    if (copy)
      items.push({
        text: `the copy of ${entry.who} on the ${entry.list} list`,
        writes: [{ key: lastValidKey(key.sk), before: copy.exact }],
      })
  }
  const refs = [...records.map(({ item }) => item.pk), ...names.map((name) => clientKey(name).pk)].map(refOf)
  const writes = await trailWrites(table, ({ item = '', ref = '' }) => {
    if (refs.includes(ref) || ids.some((id) => item === `client#${id}`)) return true
    const entry = entryOf(item)
    return entry !== undefined && holdOf(entry.who, ids, hosts) === 'alone'
  })
  if (writes.length > 0)
    items.push({
      text: `what ${counted(writes.length, 'record')} of the audit trail ${writes.length === 1 ? 'says' : 'say'}`,
      writes,
    })
  return { items, networks }
}

/** The writes that take out of the audit trail what it says of somebody. */
async function trailWrites(table: ConfigTable, isTheirs: (entry: AuditEntry) => boolean): Promise<GuardedWrite[]> {
  return (await table.partition(AUDIT_PARTITION)).flatMap(({ item: { pk, sk }, exact }): GuardedWrite[] => {
    const after = withoutPerson(exact, isTheirs)
    return after === exact ? [] : [{ key: { pk, sk }, before: exact, after }]
  })
}

function holdOf(who: string, ids: readonly string[], hosts: readonly IpAddress[]): 'alone' | 'others too' | undefined {
  if (who.startsWith('client:')) return ids.includes(who.slice('client:'.length)) ? 'alone' : undefined
  const range = parseIpRange(who.slice('ip:'.length), { mask: true })
  if ('wrong' in range) return undefined
  const isIn = hosts.some((host) => range.first.join() === masked(host, range.bits).join())
  return isIn ? (range.bits === 128 ? 'alone' : 'others too') : undefined
}

/** Runs the work for all, and returns the failures as text. */
export async function eachOf<T>(
  all: readonly T[],
  text: (one: T) => string,
  work: (one: T) => Promise<void>,
): Promise<string[]> {
  const failures: string[] = []
  for (const one of all) {
    try {
      await work(one)
    } catch (error) {
      failures.push(`${text(one)}: ${failureOf(error).message}`)
    }
  }
  return failures
}

import {
  type AuditEntry,
  type AuditedChange,
  type AuditRecord,
  auditHash,
  nameOf,
} from '../../provisioning/audit-trail'
import { isMap, type StoredItem } from '../../provisioning/documents'
import type { EpochMs } from '../facade/values'

/** What one run of a command or one deployment changed. */
export interface RecordedChange extends AuditedChange {
  /** ISO 8601: of its last record. */
  readonly at: string
  readonly entries: readonly AuditEntry[]
}

/** A change that nothing recorded: of a console, a script, or a version without an audit trail. */
export interface UnrecordedChange {
  readonly item: string
  /** ISO 8601: the item was as it was left then. */
  readonly from: string
  /** ISO 8601: it was found to be another then. */
  readonly until: string
  /** Fields; none where there was no item, or where the record has none. */
  readonly left?: AuditEntry['after']
  readonly found?: AuditEntry['before']
}

export interface History {
  /** The latest first. */
  readonly changes: readonly RecordedChange[]
  /** The latest first. */
  readonly unrecorded: readonly UnrecordedChange[]
  /** Names of items of which nothing is recorded. */
  readonly withoutRecord: readonly string[]
}

/** Records of writers whose clocks differ by less may stand in another order than they were written. */
const CLOCKS_DIFFER_MS = 600_000

/** An entry, and when it was written. */
interface Dated {
  readonly entry: AuditEntry
  readonly at: string
}

/**
 * What was changed, by its records, and what nothing recorded: where an item is not what the record before left.
 *
 * @param present the items whose records are compared with them; what has records and is not compared is left out.
 * @param isCompared whether an item that is not present was deleted.
 */
export function historyOf(
  records: readonly AuditRecord[],
  present: readonly StoredItem[],
  isCompared: (item: string) => boolean,
  now: EpochMs,
): History {
  const byItem = new Map<string, Dated[]>()
  for (const { entries, at } of records)
    for (const entry of entries) {
      if (entry.item === undefined) continue
      const key = keyOf(entry)
      byItem.set(key, [...(byItem.get(key) ?? []), { entry, at }])
    }
  const held = new Map(present.flatMap((stored) => heldUnder(stored)))
  const unrecorded = [...byItem].flatMap(([key, entries]) => {
    const dated = inWrittenOrder(entries)
    const last = dated.at(-1)!
    const between = dated.slice(1).flatMap((one, i) => gap(dated[i]!, one.entry.was, one.at, one.entry.before))
    if (!isCompared(last.entry.item!)) return between
    const is = held.get(key)
    return [...between, ...gap(last, is?.hash, new Date(now).toISOString(), is?.fields)]
  })
  const withoutRecord = [...held].flatMap(([key, { item }]) => (byItem.has(key) ? [] : [item]))
  return {
    changes: grouped(records).reverse(),
    unrecorded: unrecorded.sort((a, b) => (a.until < b.until ? 1 : -1)),
    withoutRecord: [...new Set(withoutRecord)].sort(),
  }
}

/** What happened between a record and the next sight of its item. */
function gap(
  { entry: { item, is, after }, at }: Dated,
  hash: string | undefined,
  until: string,
  found: AuditEntry['before'],
): UnrecordedChange[] {
  if (is === hash) return []
  return [{ item: item!, from: at, until, ...(after && { left: after }), ...(found && { found }) }]
}

/** An item's entries as each left what the next one found, where the writers' clocks leave open which was first. */
function inWrittenOrder(dated: readonly Dated[]): Dated[] {
  const ordered: Dated[] = []
  for (let left = [...dated]; left.length > 0; ) {
    const until = Date.parse(left[0]!.at) + CLOCKS_DIFFER_MS
    const next = left.filter(({ at }) => Date.parse(at) <= until)
    const last = ordered.at(-1)?.entry
    const one =
      next.find(({ entry }) => last && entry.was === last.is) ??
      next.find(({ entry }) => !next.some((other) => other.entry !== entry && other.entry.is === entry.was)) ??
      left[0]!
    ordered.push(one)
    left = left.filter((other) => other !== one)
  }
  return ordered
}

function heldUnder({ item, exact }: StoredItem) {
  const name = nameOf(item.pk, item.sk, exact)
  if (name?.item === undefined) return []
  const { pk: _pk, sk: _sk, ...fields } = item
  const isShown = item.pk === 'policy-set'
  return [[keyOf(name), { item: name.item, hash: auditHash(item.pk, exact), ...(isShown && { fields }) }]] as [
    string,
    { readonly item: string; readonly hash: string; readonly fields?: AuditEntry['before'] },
  ][]
}

const keyOf = ({ item, ref = '' }: AuditEntry): string => JSON.stringify([item, ref])

function grouped(records: readonly AuditRecord[]): RecordedChange[] {
  const changes = new Map<string, RecordedChange>()
  for (const { change, by, how, at, entries } of records) {
    const known = changes.get(change)
    changes.delete(change) // the map is in the order of the last records
    changes.set(change, { change, by, how, at, entries: [...(known?.entries ?? []), ...entries] })
  }
  return [...changes.values()]
}

/** The records among items of the audit partition; what somebody else has put there is left out. */
export const recordsIn = (stored: readonly StoredItem[]): AuditRecord[] =>
  stored.flatMap(({ item }) => (isRecord(item) ? [item] : []))

const isRecord = (item: unknown): item is AuditRecord =>
  isMap(item) &&
  ['change', 'by', 'how', 'at'].every((field) => typeof item[field] === 'string') &&
  !Number.isNaN(Date.parse(String(item.at))) &&
  Array.isArray(item.entries) &&
  item.entries.every(isMap)

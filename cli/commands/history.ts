import { Option } from 'commander'
import { AUDIT_PARTITION } from '../../provisioning/audit-partition'
import type { AuditEntry } from '../../provisioning/audit-trail'
import type { StoredItem } from '../../provisioning/documents'
import { durationMs } from '../arguments'
import { type History, historyOf, type RecordedChange, recordsIn, type UnrecordedChange } from '../changes/history'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { CONFIG_TABLE, HMAC_RING, ringKey, SIGNING_RING } from '../facade/tables'
import { printed } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'
import { isLoopback } from '../tables/local-engine'
import { checkAuditTimeToLive } from '../tables/time-to-live'
import { counted } from '../terminal/output'
import { printChanges } from '../tiers/diff-text'
import { titlesOf } from '../tiers/titles'

interface Options extends OutputOptions {
  readonly item?: string
  readonly since: number
}

export const addHistory: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'history',
    'Show who changed what in the config table, the latest first: from the audit trail of this command line and of ' +
      'deployments; edits by other means as the items show them.',
    ['sluice history', 'sluice history --item tier#free --since 90d', 'sluice history --item client#acme --json'],
  )
    .option(
      '--item <key>',
      'only this item: tier#free, route#GET /a, settings, block#ip#…, client#ID, hmac-key, signing-key',
    )
    .addOption(
      new Option('--since <duration>', 'how far back: 12h, 90d; records are kept 400 days')
        .argParser(durationMs)
        .default(30 * DAY_MS, '30d'),
    )
    .action(async (options: Options) => {
      const connection = session.connect(options)
      const table = await connection.configTable()
      const now = session.io.clock()
      const all = await readHistory(table, options.item, now)
      const from = new Date(now - options.since).toISOString()
      const isAsked = ({ item }: { readonly item?: string }) => options.item === undefined || item === options.item
      const history: History = {
        changes: all.changes
          .filter(({ at }) => at >= from)
          .map((change) => ({ ...change, entries: change.entries.filter(isAsked) }))
          .filter(({ entries }) => entries.length > 0),
        unrecorded: all.unrecorded.filter((one) => one.until >= from && isAsked(one)),
        withoutRecord: all.withoutRecord.filter((item) => isAsked({ item })),
      }
      if (options.json) session.print.json(history)
      else show(history, session)
      if (options.item !== undefined && !isKnown(options.item, all))
        session.print.note(
          `neither the table nor its history has an item ${printed(options.item)}: items are named as tier#free, route#GET /a, client#ID`,
        )
      const { client, endpoint, name } = { ...connection, client: connection.client, name: table.name }
      const isOwn = endpoint !== undefined && isLoopback(endpoint)
      const check = await checkAuditTimeToLive(client, name, isOwn)
      if (check.status === 'warning')
        session.print.note(
          `warning: records are never deleted: time to live of ${name} is ${check.found}; ${check.remedy}`,
        )
    })
}

const DAY_MS = 86_400_000

/** Whether anything tells of an item, at whatever time. */
const isKnown = (item: string, { changes, unrecorded, withoutRecord }: History): boolean =>
  withoutRecord.includes(item) ||
  unrecorded.some((one) => one.item === item) ||
  changes.some(({ entries }) => entries.some((entry) => entry.item === item))

/** Whether an item is read and compared with its last record; clients only where one is asked for. */
const isCompared =
  (asked: string | undefined) =>
  (item: string): boolean =>
    item.startsWith('client#') ? item === asked : true

/**
 * The history as the table says it at one moment: what somebody changes while it is read must not look like a change
 * without a record.
 */
async function readHistory(table: ConfigTable, asked: string | undefined, now: number): Promise<History> {
  for (let attempt = 1; ; attempt++) {
    const records = recordsIn(await table.partition(AUDIT_PARTITION))
    const history = historyOf(records, await presentItems(table, asked), isCompared(asked), now)
    const isSeenNow = history.unrecorded.some(({ until }) => until === new Date(now).toISOString())
    if (!isSeenNow || attempt === 3) return history
    if ((await table.partition(AUDIT_PARTITION)).length === records.length) return history
  }
}

async function presentItems(table: ConfigTable, asked: string | undefined): Promise<StoredItem[]> {
  const id = asked?.startsWith('client#') ? asked.slice('client#'.length) : undefined
  const rings = await Promise.all([HMAC_RING, SIGNING_RING].map((kind) => table.item(ringKey(kind))))
  const clients = id === undefined ? [] : await table.clients(id)
  return [...(await table.partition(CONFIG_TABLE.policySet)), ...rings.flatMap((ring) => ring ?? []), ...clients]
}

function show({ changes, unrecorded, withoutRecord }: History, session: Session): void {
  const { print } = session
  const entries = [
    ...changes.map((change) => ({ at: change.at, tell: () => showChange(change, session) })),
    ...unrecorded.map((one) => ({ at: one.until, tell: () => showUnrecorded(one, session) })),
  ].sort((a, b) => (a.at < b.at ? 1 : -1))
  if (entries.length === 0) print.line('no changes')
  for (const { tell } of entries) tell()
  if (withoutRecord.length > 0)
    print.note(
      `without a record, because another program or an older version wrote ${withoutRecord.length === 1 ? 'it' : 'them'}: ${titlesOf(withoutRecord)}`,
    )
}

/** More entries than this are counted instead, as those of an import of clients. */
const MAX_ENTRIES = 100

function showChange({ at, change, by, how, entries }: RecordedChange, { print }: Session): void {
  print.line(print.style('bold', `${at} ${change}: ${how}, by ${by}`))
  for (const entry of entries.slice(0, MAX_ENTRIES)) {
    const { item, was, is, before, after, hidden, cut, forgotten } = entry
    if (forgotten) {
      print.line('  an item about an erased person')
      continue
    }
    printChanges(
      [{ sk: item!, kind: kindOf(was, is), before: withKey(item!, before), after: withKey(item!, after) }],
      print,
    )
    if (hidden) print.line(`      changed, not shown: ${hidden.join(', ')}`)
    if (cut) print.line('      too large to be recorded in full: the former value is unknown')
  }
  if (entries.length > MAX_ENTRIES) print.line(`… and ${counted(entries.length - MAX_ENTRIES, 'item')} more: --json`)
}

function showUnrecorded({ item, from, until, left, found }: UnrecordedChange, { print }: Session): void {
  print.line(print.style('bold', `${until} changed by another program between ${from} and ${until}`))
  printChanges(
    [{ sk: item, kind: kindOf(left, found), before: withKey(item, left), after: withKey(item, found) }],
    print,
  )
}

const kindOf = (was: unknown, is: unknown) => (was === undefined ? 'add' : is === undefined ? 'remove' : 'change')

/** Fields as an item, so that they are shown in the order of its kind. */
const withKey = (item: string, fields: AuditEntry['before']) =>
  fields && { ...fields, pk: '', sk: item.startsWith('client#') ? 'client' : item }

import { keepExact, type StoredItem } from '../../provisioning/documents'
import { durationMs } from '../arguments'
import { writeRecords } from '../callers/client-changes'
import { credentialOf, hasOwnKey, isExpired, recordsOf } from '../callers/client-records'
import { newApiKey } from '../callers/signatures'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { printed } from '../facade/values'

interface Options extends OutputOptions {
  /** Milliseconds. */
  readonly grace?: number
  readonly key?: string
}

export const addClientsRotateKey: AddCommand = (group, session) => {
  describeTableCommand(group, 'rotate-key <id>', 'Replace a client’s API key. The new one is shown once.', [
    'sluice clients rotate-key acme',
    'sluice clients rotate-key acme --grace 24h',
  ])
    .option('--grace <duration>', 'how long the old key still works (default: 0)', durationMs)
    .option('--key <hash>', 'which of several keys: the beginning of its hash, from clients get')
    .action(async (id: string, options: Options) => {
      const { io, print } = session
      const table = await session.connect(options).configTable()
      const old = chosen(await recordsOf(table, id), id, options, io.clock())
      const { apiKey, key, signedBy, signature } = await newApiKey(table, io.clock())
      const ends = options.grace === undefined ? undefined : graceEnd(old, io.clock() + options.grace)
      await io.interrupts.during(async () => {
        await writeRecords(session, table, id, [
          signature,
          { key, after: keepExact({ ...old.item, ...key }, old) },
          {
            key: { pk: old.item.pk, sk: old.item.sk },
            before: old.exact,
            ...(ends !== undefined && { after: keepExact({ ...old.item, expiresAt: ends }, old) }),
          },
        ])
        if (options.json) return print.json({ id, apiKey, signedBy, oldKeyExpiresAt: ends ?? null })
        print.note(
          `the old key ${ends === undefined ? 'is deleted' : `works until ${ends}`}; the new one, signed (${signedBy}) and shown only once:`,
        )
        print.line(apiKey)
      })
    })
}

/** The only key that can be meant. Keys in their grace period are not. */
function chosen(records: readonly StoredItem[], id: string, { key }: Options, now: number): StoredItem {
  const own = records.filter(hasOwnKey)
  if (own.length === 0)
    throw new UserError(`client ${printed(id)} has no API key of Sluice: it is identified by ${known(records)}`)
  const matching = own.filter(({ item }) =>
    key === undefined ? !isExpired(item, now) : item.pk.startsWith(`client#${key}`),
  )
  const lasting = matching.filter(({ item }) => item.expiresAt === undefined)
  const [only, ...others] = lasting.length > 0 ? lasting : matching
  if (only && others.length === 0) return only
  throw new UserError(`choose a key of client ${printed(id)} with --key: it has ${known(own)}`)
}

/** A client's own expiry stays if it is earlier than the end of the grace period. */
function graceEnd({ item: { expiresAt } }: StoredItem, at: number): string {
  const before = typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.NaN
  return new Date(Number.isNaN(before) ? at : Math.min(before, at)).toISOString().replace(/\.\d{3}Z$/, 'Z')
}

const known = (records: readonly StoredItem[]) => records.map(({ item }) => credentialOf(item)).join(', ')

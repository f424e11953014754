import { assertRoom } from '../../provisioning/tiers-file'
import { moment } from '../arguments'
import { entryKey, entryOf } from '../callers/block-entries'
import { tell } from '../callers/client-changes'
import { isExpired } from '../callers/client-records'
import { checkListed, listable } from '../callers/listed'
import { type AddCommand, describeTableCommand, type OutputOptions, type Session } from '../command'
import { UserError } from '../exit'
import { printed } from '../facade/values'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly allow?: boolean
  readonly note?: string
  readonly expires?: string
  readonly force?: boolean
  readonly yes?: boolean
}

/** What people set of an entry. */
interface Fields {
  readonly note?: string
  readonly expiresAt?: string
}

export const addBlockAdd: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'add <who>',
    'Block an address, a network, a client or a hash of the log. If it is blocked already, only the given options change.',
    [
      'sluice block add 203.0.113.0/24 --note "scraper" --expires 24h',
      'sluice block add client:acme',
      'sluice block add 198.51.100.7 --allow',
    ],
  )
    .option('--allow', 'allow it without counting instead')
    .option('--note <text>', 'reason; "" for none')
    .option('--expires <when>', 'when it ends: 24h, 2027-01-31T00:00:00Z, never')
    .option('--force', 'accept a client without a record, for when it has one')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (text: string, options: Options) => {
      const end = endOf(options.expires, session)
      const connection = session.connect(options)
      const table = await connection.configTable()
      const key = entryKey(options.allow ? 'allow' : 'block', await listable(session, table, text))
      const { who, list } = entryOf(key.sk)!
      const isVerified = await checkListed(table, who, options.force === true)
      const stored = await table.policySet()
      const before = stored.find(({ item }) => item.sk === key.sk)
      if (!before) assertRoom(stored.length + 1)
      const was = before?.item as (Fields & Readonly<Record<string, unknown>>) | undefined
      if (was && options.expires === undefined && isExpired(was, session.io.clock()))
        throw new UserError(
          `${who} is on the ${list} list, but only until ${was.expiresAt}, which is past: give --expires, such as 24h or never`,
        )
      const fields: Fields = {
        note: options.note === undefined ? was?.note : options.note || undefined,
        expiresAt: options.expires === undefined ? was?.expiresAt : end,
      }
      const until = fields.expiresAt === undefined ? '' : ` until ${fields.expiresAt}`
      if (list === 'allow')
        await confirm(`Allow ${who} without counting${until}?`, session.io, options, () =>
          connection.describe('config'),
        )
      await session.io.interrupts.during(() =>
        table.write([{ key, before: before?.exact, after: { ...key, ...fields } }]),
      )
      const isBlockedToo =
        list === 'allow' && stored.some(({ item }) => item.sk === key.sk.replace(/^allow/, 'block') && inForce(item))
      tell(
        session,
        options,
        [
          `${who} is ${list === 'allow' ? 'allowed' : 'blocked'}${until}`,
          ...(was ? [`it was on the ${list} list already: ${changesText(was, fields)}`] : []),
          ...(isVerified ? [] : ['no client has this id, so the entry has no effect until one has']),
          ...(isBlockedToo ? [`but it is on the block list as well, which wins: sluice block remove ${who}`] : []),
        ].join('; '),
        {
          list,
          who,
          expiresAt: fields.expiresAt ?? null,
          note: fields.note ?? null,
          existed: was !== undefined,
          verified: isVerified,
        },
      )

      function inForce(item: Readonly<Record<string, unknown>>): boolean {
        return !isExpired(item, session.io.clock())
      }
    })
}

/** @throws UserError for an end that is past: such an entry would hold for nobody. */
function endOf(expires: string | undefined, { io }: Session): string | undefined {
  if (expires === undefined || expires === 'never') return undefined
  const end = moment(expires, '--expires', io.clock)
  if (Date.parse(end) <= io.clock()) throw new UserError(`--expires must be in the future, got ${printed(expires)}`)
  return end
}

/** `end kept, note changed from "scraper" to "again"`. */
function changesText(was: Fields, is: Fields): string {
  const text = (value: unknown) => (value === undefined ? 'none' : printed(value))
  const changes = (
    [
      ['end', was.expiresAt, is.expiresAt],
      ['note', was.note, is.note],
    ] as const
  ).flatMap(([field, before, after]) =>
    before === after
      ? before === undefined
        ? []
        : [`${field} kept, ${text(after)}`]
      : [`${field} changed from ${text(before)} to ${text(after)}`],
  )
  return changes.join('; ') || 'nothing changed'
}

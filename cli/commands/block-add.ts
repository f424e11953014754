import { moment } from '../arguments'
import { entryKey, entryOf } from '../callers/block-entries'
import { tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'

interface Options extends OutputOptions {
  readonly allow?: boolean
  readonly note?: string
  readonly expires?: string
}

export const addBlockAdd: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'add <who>',
    'Block an address, a network or a client. A repeated call changes only the options that it gives.',
    [
      'sluice block add 203.0.113.0/24 --note "scraper" --expires 24h',
      'sluice block add client:acme',
      'sluice block add 198.51.100.7 --allow',
    ],
  )
    .option('--allow', 'allow it without counting instead')
    .option('--note <text>', 'reason; "" removes it')
    .option('--expires <when>', 'a duration such as 24h, or a time such as 2027-01-31T00:00:00Z; "never" removes it')
    .action(async (who: string, options: Options) => {
      const key = entryKey(options.allow ? 'allow' : 'block', who)
      const end =
        options.expires === undefined || options.expires === 'never'
          ? undefined
          : moment(options.expires, '--expires', session.io.clock)
      const table = await session.connect(options).configTable()
      const before = (await table.policySet()).find(({ item }) => item.sk === key.sk)
      const note = options.note === undefined ? before?.item.note : options.note || undefined
      const expiresAt = options.expires === undefined ? (before?.item.expiresAt as string | undefined) : end
      const item = { ...key, note, expiresAt }
      await session.io.interrupts.during(() => table.write([{ key, before: before?.exact, after: item }]))
      const { who: spelled, list } = entryOf(key.sk)!
      const until = expiresAt === undefined ? '' : ` until ${expiresAt}`
      tell(session, options, `${spelled} is ${list === 'allow' ? 'allowed' : 'blocked'}${until}`, {
        list,
        who: spelled,
        expiresAt: expiresAt ?? null,
      })
    })
}

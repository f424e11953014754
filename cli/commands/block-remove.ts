import { entryKey, entryOf } from '../callers/block-entries'
import { tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'

interface Options extends OutputOptions {
  readonly allow?: boolean
}

export const addBlockRemove: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'remove <who>',
    'Unblock an address, a network or a client, spelled as it was added or as block list shows it.',
    ['sluice block remove 203.0.113.0/24'],
  )
    .option('--allow', 'remove it from the allow list instead')
    .action(async (who: string, options: Options) => {
      const key = entryKey(options.allow ? 'allow' : 'block', who)
      const table = await session.connect(options).configTable()
      const { who: spelled, list } = entryOf(key.sk)!
      const before = (await table.policySet()).find(({ item }) => item.sk === key.sk)
      if (!before) throw new UserError(`${spelled} is not on the ${list} list: see sluice block list`)
      await session.io.interrupts.during(() => table.write([{ key, before: before.exact }]))
      tell(session, options, `${spelled} was removed from the ${list} list`, { list, who: spelled, removed: true })
    })
}

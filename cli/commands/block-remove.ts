import { entryKey, entryOf } from '../block-entries'
import { tell } from '../client-changes'
import { type AddCommand, type Answering, describeAnswering } from '../command'
import { UserError } from '../exit'

interface Options extends Answering {
  readonly allow?: boolean
}

export const addBlockRemove: AddCommand = (group, session) => {
  describeAnswering(
    group,
    'remove <who>',
    'Take an address, a network or a client off the list, spelled as when it was added or as listed.',
    ['sluice block remove 203.0.113.0/24'],
  )
    .option('--allow', 'off the list of those who pass uncounted')
    .action(async (who: string, options: Options) => {
      const key = entryKey(options.allow ? 'allow' : 'block', who)
      const table = await session.connect(options).configTable()
      const { who: spelled, list } = entryOf(key.sk)!
      const before = (await table.policySet()).find(({ item }) => item.sk === key.sk)
      if (!before) throw new UserError(`${spelled} is not on the ${list} list: sluice block list shows who is`)
      await session.io.interrupts.during(() => table.write([{ key, before: before.exact }]))
      tell(session, options, `${spelled} is off the ${list} list`, { list, who: spelled, removed: true })
    })
}

import { entryKey, entryOf, rangeOf } from '../callers/block-entries'
import { tell } from '../callers/client-changes'
import { entryFor, entryText } from '../callers/deciding-entry'
import { hint } from '../callers/hints'
import { listable } from '../callers/listed'
import { toHash } from '../callers/stored-hash'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { confirm } from '../terminal/question'
import { readPolicySet } from '../tiers/read-policy-set'

interface Options extends OutputOptions {
  readonly allow?: boolean
  readonly yes?: boolean
}

export const addBlockRemove: AddCommand = (group, session) => {
  describeTableCommand(group, 'remove <who>', 'Unblock what block list shows, or a hash of the log.', [
    'sluice block remove 203.0.113.0/24',
  ])
    .option('--allow', 'remove it from the allow list instead')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (text: string, options: Options) => {
      const connection = session.connect(options)
      const table = await connection.configTable()
      const who = toHash(text) ? await listable(session, table, text) : text
      const key = entryKey(options.allow ? 'allow' : 'block', who)
      const { who: spelled, list } = entryOf(key.sk)!
      const stored = await table.policySet()
      const before = stored.find(({ item }) => item.sk === key.sk)
      if (!before) {
        const listed = stored.flatMap(({ item }) => entryOf(item.sk) ?? []).filter((one) => one.list === list)
        const known = hint(spelled, listed.map((one) => one.who).sort(), 'sluice block list')
        throw new UserError(`${spelled} is not on the ${list} list${known}`)
      }
      if (list === 'block')
        await confirm(`Unblock ${spelled}?`, session.io, options, () => connection.describe('config'))
      await session.io.interrupts.during(() => table.write([{ key, before: before.exact }]))
      const others = stored.filter((one) => one !== before).map(({ item }) => item)
      const { access } = readPolicySet(others).configuration
      const now = session.io.clock()
      const whom = spelled.startsWith('ip:') ? rangeOf(spelled).first : spelled.slice('client:'.length)
      const left = typeof whom === 'string' ? access.ofClient(whom, now) : access.ofAddress(whom, now)
      const by = left && entryFor(others, left, whom, now)
      const still = by ? `; it is still ${left === 'block' ? 'blocked' : 'allowed'} by ${entryText(by)}` : ''
      tell(session, options, `${spelled} was removed from the ${list} list${still}`, {
        list,
        who: spelled,
        removed: true,
        still: left ?? null,
        ...(by && { by }),
      })
    })
}

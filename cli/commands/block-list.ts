import { entryOf } from '../callers/block-entries'
import { isExpired } from '../callers/client-records'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'

export const addBlockList: AddCommand = (group, session) => {
  describeTableCommand(group, 'list', 'List blocked and exempt addresses and clients.', ['sluice block list']).action(
    async (options: OutputOptions) => {
      const { print, io } = session
      const items = await (await session.connect(options).configTable()).policySet()
      const entries = items.flatMap(({ item }) => {
        const entry = entryOf(item.sk)
        return entry
          ? [{ ...entry, note: item.note, expiresAt: item.expiresAt, expired: isExpired(item, io.clock()) }]
          : []
      })
      if (options.json) return print.json(entries)
      if (entries.length === 0) return print.note('no caller is blocked')
      print.table(
        ['list', 'who', 'until', 'note'],
        entries.map(({ list, who, note, expiresAt, expired }) => [
          list,
          who,
          `${String(expiresAt ?? '-')}${expired ? ' (expired)' : ''}`,
          String(note ?? ''),
        ]),
      )
    },
  )
}

import { credentialOf, stateOf } from '../callers/client-records'
import { overridesText } from '../callers/overrides'
import { withoutSecrets } from '../callers/usage-key'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'

interface Options extends OutputOptions {
  readonly tier?: string
}

export const addClientsList: AddCommand = (group, session) => {
  describeTableCommand(group, 'list', 'List all clients, one line per credential. This reads the whole config table.', [
    'sluice clients list',
    'sluice clients list --tier pro --json',
  ])
    .option('--tier <name>', 'only clients of this tier')
    .action(async (options: Options) => {
      const { print, io } = session
      const all = await (await session.connect(options).configTable()).clients()
      const items = all
        .map(({ item }) => item as Readonly<Record<string, unknown>> & { readonly pk: string })
        .filter(({ tier }) => options.tier === undefined || tier === options.tier)
        .sort((a, b) => String(a.id).localeCompare(String(b.id)) || (a.pk < b.pk ? -1 : 1))
      if (options.json)
        return print.json(
          items.map(({ pk, sk: _sk, ...fields }) => ({ ...withoutSecrets(fields), credential: credentialOf({ pk }) })),
        )
      if (items.length === 0) return print.note('no clients')
      print.table(
        ['id', 'tier', 'name', 'overrides', 'credential', 'state'],
        items.map((item) => [
          String(item.id),
          String(item.tier),
          String(item.name ?? ''),
          overridesText(item.overrides, io.clock()),
          credentialOf(item),
          stateOf(item, io.clock()),
        ]),
      )
    })
}

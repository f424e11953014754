import { tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { apiKey } from '../facade/tables'
import { printed } from '../facade/values'
import { confirm } from '../terminal/question'

export const addApisRemove: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'remove <id>',
    'Remove an API’s label. Tiers and routes that name the label then apply to no API.',
    ['sluice apis remove a1b2c3d4e5 --yes'],
  )
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (id: string, options: OutputOptions & { readonly yes?: boolean }) => {
      const key = apiKey(id)
      const connection = session.connect(options)
      const table = await connection.configTable()
      const before = (await table.policySet()).find(({ item }) => item.sk === key.sk)
      if (!before) throw new UserError(`there is no API ${printed(id)} here: list them with sluice apis list`)
      await confirm(`Remove the label of API ${id}?`, session.io, options, () => connection.describe('config'))
      await session.io.interrupts.during(() => table.write([{ key, before: before.exact }]))
      tell(session, options, `API ${id} has no label`, { id, removed: true })
    })
}

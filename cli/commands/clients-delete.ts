import { changeClient, tell } from '../callers/client-changes'
import { credentialOf, recordsOf } from '../callers/client-records'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { printed } from '../facade/values'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly yes?: boolean
}

export const addClientsDelete: AddCommand = (group, session) => {
  describeTableCommand(group, 'delete <id>', 'Delete a client with all its keys, after confirmation.', [
    'sluice clients delete acme --yes',
  ])
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (id: string, options: Options) => {
      const connection = session.connect(options)
      const table = await connection.configTable()
      const records = await recordsOf(table, id)
      const known = records.map(({ item }) => credentialOf(item)).join(', ')
      await confirm(`Delete client ${printed(id)}, identified by ${known}?`, session.io, options, () =>
        connection.describe('config'),
      )
      await changeClient(session, table, id, () => undefined)
      tell(session, options, `client ${printed(id)} is deleted`, { id, deleted: true })
    })
}

import { printed } from '../../limiter/errors'
import { changeClient, tell } from '../client-changes'
import { credentialOf, recordsOf } from '../client-records'
import { type AddCommand, type Answering, describeAnswering } from '../command'
import { confirm } from '../question'

interface Options extends Answering {
  readonly yes?: boolean
}

export const addClientsDelete: AddCommand = (group, session) => {
  describeAnswering(group, 'delete <id>', 'Delete a client with all its keys, after confirmation.', [
    'sluice clients delete acme --yes',
  ])
    .option('-y, --yes', 'do not ask')
    .action(async (id: string, options: Options) => {
      const table = await session.connect(options).configTable()
      const records = await recordsOf(table, id)
      const known = records.map(({ item }) => credentialOf(item)).join(', ')
      await confirm(`Delete client ${printed(id)}, identified by ${known}?`, session.io, options)
      await changeClient(session, table, id, () => undefined)
      tell(session, options, `client ${printed(id)} is deleted`, { id, deleted: true })
    })
}

import { changeClient, tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { printed } from '../facade/values'

export const addClientsDisable: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'disable <id>',
    'Reject a client’s requests until clients set --enable. Its keys and limits are kept.',
    ['sluice clients disable acme'],
  ).action(async (id: string, options: OutputOptions) => {
    await changeClient(session, await session.connect(options).configTable(), id, (item) => ({
      ...item,
      disabled: true,
    }))
    tell(session, options, `client ${printed(id)} is disabled`, { id, disabled: true })
  })
}

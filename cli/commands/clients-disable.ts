import { printed } from '../../limiter/errors'
import { changeClient, tell } from '../client-changes'
import { type AddCommand, type Answering, describeAnswering } from '../command'

export const addClientsDisable: AddCommand = (group, session) => {
  describeAnswering(
    group,
    'disable <id>',
    'Reject a client’s requests until clients set --enable. Its keys and limits are kept.',
    ['sluice clients disable acme'],
  ).action(async (id: string, options: Answering) => {
    await changeClient(session, await session.connect(options).configTable(), id, (item) => ({
      ...item,
      disabled: true,
    }))
    tell(session, options, `client ${printed(id)} is disabled`, { id, disabled: true })
  })
}

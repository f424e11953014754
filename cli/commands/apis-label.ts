import { labelWrite } from '../api-labels'
import { tell } from '../client-changes'
import { type AddCommand, type Answering, describeAnswering } from '../command'

export const addApisLabel: AddCommand = (group, session) => {
  describeAnswering(
    group,
    'label <id> <label>',
    'Give an API a label, by which "apis", metrics and the log call it. No other may have it.',
    ['sluice apis label a1b2c3d4e5 shop'],
  ).action(async (id: string, label: string, options: Answering) => {
    const table = await session.connect(options).configTable()
    const write = labelWrite(await table.policySet(), id, label)
    await session.io.interrupts.during(() => table.write([write]))
    tell(session, options, `API ${id} is called ${label}`, { id, label })
  })
}

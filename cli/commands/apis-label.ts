import { WriteConflictError } from '../../provisioning/guarded-writes'
import { labelWrites, readLabels } from '../api-labels'
import { tell } from '../client-changes'
import { type AddCommand, type Answering, describeAnswering } from '../command'
import type { ConfigTable } from '../config-table'
import { UserError } from '../exit'

export const addApisLabel: AddCommand = (group, session) => {
  describeAnswering(
    group,
    'label <id> <label>',
    'Give an API a label for "apis", metrics and the log. Labels are unique.',
    ['sluice apis label a1b2c3d4e5 shop'],
  ).action(async (id: string, label: string, options: Answering) => {
    const table = await session.connect(options).configTable()
    await session.io.interrupts.during(() => give(table, id, label))
    tell(session, options, `API ${id} now has the label ${label}`, { id, label })
  })
}

/** How often somebody else's label may come in between. */
const ATTEMPTS = 5

async function give(table: ConfigTable, id: string, label: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const [version, item] = labelWrites(await readLabels(table), id, label)
    try {
      return await table.write([version, item])
    } catch (error) {
      if (!(error instanceof WriteConflictError)) throw error
      if (attempt === ATTEMPTS || error.keys.some(({ sk }) => sk === item.key.sk))
        throw new UserError('somebody changed a label just now: check sluice apis list and try again')
    }
  }
}

import { WriteConflictError } from '../../provisioning/guarded-writes'
import { tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { labelWrites, readLabels } from '../tables/api-labels'
import type { ConfigTable } from '../tables/config-table'

export const addApisLabel: AddCommand = (group, session) => {
  describeTableCommand(group, 'label <id> <label>', 'Give an API a unique label for "apis", metrics and the log.', [
    'sluice apis label a1b2c3d4e5 shop',
  ]).action(async (id: string, label: string, options: OutputOptions) => {
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
        throw new UserError('a label was changed at the same moment: check sluice apis list and try again')
    }
  }
}

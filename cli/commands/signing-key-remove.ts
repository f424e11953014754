import { tell } from '../callers/client-changes'
import { deleteSignaturesBy, recordsBySigner } from '../callers/signatures'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { SIGNING_RING, signingKeyId } from '../facade/tables'
import { printed } from '../facade/values'
import { readKeyRing, writeKeyRing } from '../tables/key-ring'
import { counted } from '../terminal/output'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly yes?: boolean
}

/** Clients that are told by name. */
const MAX_NAMED = 20

export const addSigningKeyRemove: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'remove <id>',
    'Remove a former signing key. Refused while API keys that it signed are in use; it names their clients, for clients rotate-key.',
    ['sluice signing-key remove 3f9a1c2b4d --yes'],
  )
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (id: string, options: Options) => {
      const { io } = session
      const connection = session.connect(options)
      const table = await connection.configTable()
      const { ring, stored } = await readKeyRing(SIGNING_RING, table)
      const key = ring.keys.find((one) => signingKeyId(one) === id)
      if (!key)
        throw new UserError(
          `there is no signing key ${printed(id)}: known are ${ring.keys.map(signingKeyId).join(', ') || 'none'}`,
        )
      if (key === ring.activeAt(io.clock()))
        throw new UserError(`${id} signs new API keys: replace it with sluice signing-key rotate first`)
      const users = (await recordsBySigner(table, io.clock())).get(id) ?? []
      if (users.length > 0) throw new UserError(inUse(users.map(({ item }) => String(item.id))))
      await confirm(`Remove signing key ${id}?`, io, options, () => connection.describe('config'))
      await io.interrupts.during(async () => {
        await writeKeyRing(
          SIGNING_RING,
          table,
          stored,
          ring.keys.filter((one) => one !== key),
        )
        await deleteSignaturesBy(table, id)
      })
      tell(session, options, `signing key ${id} is removed`, { id, removed: true })
    })
}

function inUse(ids: readonly string[]): string {
  const clients = [...new Set(ids)].sort()
  const more = clients.length > MAX_NAMED ? ` and ${clients.length - MAX_NAMED} more` : ''
  const named = clients.slice(0, MAX_NAMED).map(printed).join(', ')
  return `${counted(ids.length, 'API key')} in use ${ids.length === 1 ? 'is' : 'are'} signed with it, of ${named}${more}: replace ${ids.length === 1 ? 'it' : 'them'} with sluice clients rotate-key`
}

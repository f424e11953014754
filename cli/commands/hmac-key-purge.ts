import { tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { HMAC_RING, RING_KEY_LEAD_MS } from '../facade/tables'
import { iso, readKeyRing } from '../tables/key-ring'
import { purgeWithoutSecret } from '../tables/state-items'
import { counted } from '../terminal/output'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly yes?: boolean
}

export const addHmacKeyPurge: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'purge',
    'Delete state that is still stored without a secret. Without this command, it stays until it expires.',
    ['sluice hmac-key purge --yes'],
  )
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (options: Options) => {
      const { io } = session
      const connection = session.connect(options)
      const { ring } = await readKeyRing(HMAC_RING, await connection.configTable())
      const first = ring.keys[0]
      const settledAt = (first?.activeFrom ?? Infinity) + RING_KEY_LEAD_MS
      if (!first) throw new UserError('there is no secret, so all state is stored without one: sluice hmac-key enable')
      if (io.clock() < settledAt)
        throw new UserError(`state without a secret may still be in use: wait until ${iso(settledAt)}`)
      await confirm(
        'Delete all state that is stored without a secret? Authorizers of a version without secrets would start at zero.',
        io,
        options,
        () => connection.describe('state'),
      )
      const state = { client: connection.client, name: await connection.tableName('state') }
      const deleted = await io.interrupts.during(() => purgeWithoutSecret(state))
      tell(session, options, `deleted: ${counted(deleted, 'item')} without a secret`, { deleted })
    })
}

import { newRingKey } from '../../provisioning/make-key-ring'
import { tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { HMAC_RING } from '../facade/tables'
import { activation } from '../tables/activation'
import { iso, readKeyRing, writeKeyRing } from '../tables/key-ring'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly at?: string
  readonly yes?: boolean
}

export const addHmacKeyEnable: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'enable',
    'Give a deployment without a secret its first. Then copy the counters with hmac-key carry.',
    ['sluice hmac-key enable', 'sluice hmac-key enable --at 2027-02-01T00:00:00Z --yes'],
  )
    .option('--at <when>', 'when it is active: a time or a duration of at least 10m (default: 15m)')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(async (options: Options) => {
      const { io } = session
      const connection = session.connect(options)
      const table = await connection.configTable()
      const { stored } = await readKeyRing(HMAC_RING, table)
      if (stored)
        throw new UserError(
          'this deployment already has a secret (sluice hmac-key status): replace it with sluice hmac-key rotate',
        )
      const whenActive = await activation(options.at, connection, io.clock)
      await confirm(
        `At ${iso(whenActive())} all counters move to new keys, and start at zero there unless sluice hmac-key carry copies them. ` +
          'Authorizers of versions without this command do not know the secret and would continue with the old keys: deploy first. Write the secret?',
        io,
        options,
        () => connection.describe('config'),
      )
      const activeFrom = whenActive()
      await io.interrupts.during(() => writeKeyRing(HMAC_RING, table, stored, [newRingKey(activeFrom)]))
      tell(
        session,
        options,
        `the secret is written, and active from ${iso(activeFrom)}; now run sluice hmac-key carry, which waits until then`,
        {
          activeFrom: iso(activeFrom),
        },
      )
    })
}

import { MOST_HMAC_KEYS } from '../../lambda/config-table/items/hmac-key-item'
import { newHmacKey } from '../../provisioning/make-hmac-key'
import { tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { activation, checkLead, iso, readHmacKeys, writeHmacKeys } from '../tables/hmac-key'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly at?: string
  readonly yes?: boolean
}

export const addHmacKeyRotate: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'rotate',
    'Replace a leaked secret from a given time on. All counters then start at zero and cannot be copied.',
    ['sluice hmac-key rotate --at 2027-02-01T00:00:00Z'],
  )
    .option(
      '--at <when>',
      'when it becomes active, a time or a duration from now, 10 minutes or more (default: in 15 minutes)',
    )
    .option('-y, --yes', 'do not ask')
    .action(async (options: Options) => {
      const { io } = session
      const connection = session.connect(options)
      const table = await connection.configTable()
      const { keys, stored } = await readHmacKeys(table)
      if (!stored) throw new UserError('this deployment has no secret yet: create one with sluice hmac-key enable')
      const next = keys.nextAfter(io.clock())
      if (next)
        throw new UserError(`there already is a new secret, active from ${iso(next.activeFrom)}: wait until then`)
      const activeFrom = await activation(options.at, connection, io.clock)
      await confirm(
        `At ${iso(activeFrom)} all counters start at zero: a caller can use each limit once more in the current window, a monthly quota as well. ` +
          'Recorded overage stays under the old secret, where sluice usage does not look: read it first. Write a new secret?',
        io,
        options,
        () => connection.describe('config'),
      )
      checkLead(activeFrom, io.clock())
      const all = [...keys.keys, newHmacKey(activeFrom)].slice(-MOST_HMAC_KEYS)
      await io.interrupts.during(() => writeHmacKeys(table, stored, all))
      tell(session, options, `the new secret is written, and active from ${iso(activeFrom)}`, {
        activeFrom: iso(activeFrom),
      })
    })
}

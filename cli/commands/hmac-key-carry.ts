import { durationMs } from '../arguments'
import { tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { InterruptedError, UserError } from '../exit'
import { HMAC_RING, type RingKey } from '../facade/tables'
import { iso, readKeyRing, writeKeyRing } from '../tables/key-ring'
import { carryState } from '../tables/state-items'
import { counted } from '../terminal/output'
import { pause } from '../terminal/pause'

interface Options extends OutputOptions {
  /** Milliseconds. */
  readonly lead: number
}

/** So that a machine that was asleep meanwhile is late by no more, in milliseconds. */
const MAX_PAUSE_MS = 60_000

export const addHmacKeyCarry: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'carry',
    'Copy all counters to the keys of the first secret: shortly before it becomes active. Charges between the copy and that ' +
      'moment are not copied. It can be run again.',
    ['sluice hmac-key carry', 'sluice hmac-key carry --lead 10m'],
  )
    .option(
      '--lead <duration>',
      'how long before that to begin: about a second per thousand callers',
      durationMs,
      30_000,
    )
    .action(async (options: Options) => {
      const { io, print } = session
      const connection = session.connect(options)
      const table = await connection.configTable()
      const state = { client: connection.client, name: await connection.tableName('state') }
      await io.interrupts.during(async (pressed) => {
        const { activeFrom } = (await readFirst()).key
        if (io.clock() < activeFrom - options.lead) print.note(`waiting until ${iso(activeFrom - options.lead)}`)
        for (let leftMs = 1; leftMs > 0 && !pressed.aborted; await pause(Math.min(leftMs, MAX_PAUSE_MS), pressed))
          leftMs = activeFrom - options.lead - io.clock()
        if (pressed.aborted)
          throw new InterruptedError(
            'nothing was copied: without it, all counters start at zero when the secret becomes active',
          )
        const { ring, stored, key } = await readFirst() // it may have been long
        const [now, [, ...others]] = [io.clock(), ring.keys]
        if (key.carriedFrom === undefined)
          await writeKeyRing(HMAC_RING, table, stored, [
            { ...key, carriedFrom: Math.min(now, key.activeFrom) },
            ...others,
          ])
        const counts = await carryState(state, key.secret, Math.floor(now / 1000))
        const late =
          now > key.activeFrom
            ? '; the secret was already active, so callers counted under it keep their new counters'
            : ''
        tell(
          session,
          options,
          `${counted(counts.copied, 'counter')} copied, ${counts.kept} already existed, ${counts.expired} had expired${late}`,
          { ...counts },
        )
      })

      /** Only from keys without a secret does it follow where they are with one. */
      async function readFirst() {
        const found = await readKeyRing(HMAC_RING, table)
        const key: RingKey | undefined = found.ring.keys[0]
        if (!key) throw new UserError('there is no secret to copy counters to: create one with sluice hmac-key enable')
        if (found.ring.keys.length > 1)
          throw new UserError('counters can be copied to the first secret only, and there is a newer one')
        if (key.activeFrom === 0)
          throw new UserError(
            'the secret is active from the beginning, so no counter is stored without one: there is nothing to copy',
          )
        return { ...found, key }
      }
    })
}

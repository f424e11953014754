import { newRingKey } from '../../provisioning/make-key-ring'
import { tell } from '../callers/client-changes'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { UserError } from '../exit'
import { MAX_RING_KEYS, type RingKind } from '../facade/tables'
import { activation } from '../tables/activation'
import { iso, readKeyRing, writeKeyRing } from '../tables/key-ring'
import { confirm } from '../terminal/question'

interface Options extends OutputOptions {
  readonly at?: string
  readonly yes?: boolean
}

/** What commands say about turning a ring over. */
const WORDS = {
  'hmac-key': {
    description: 'Replace a leaked secret from a given time on. All counters then start at zero and cannot be copied.',
    missing: 'this deployment has no secret yet: create one with sluice hmac-key enable',
    consequence:
      'all counters start at zero: a caller can use each limit once more in the current window, a monthly quota as well. ' +
      'Recorded overage stays under the old secret, where sluice usage does not look: read it first. Write a new secret?',
    full: undefined, // the oldest is dropped: only forget looks for it
  },
  'signing-key': {
    description:
      'Sign new API keys with a new signing key from a given time on. API keys in use stay valid: replace those of a leaked one with clients rotate-key, then remove it.',
    missing: 'this deployment has no signing key yet: sluice clients create makes it',
    consequence: 'new API keys are signed with a new signing key. Write it?',
    full: `there are ${MAX_RING_KEYS} signing keys, the maximum: remove one with sluice signing-key remove`,
  },
} as const

export const addKeyRingRotate =
  (kind: RingKind): AddCommand =>
  (group, session) => {
    const { description, missing, consequence, full } = WORDS[kind.name]
    describeTableCommand(group, 'rotate', description, [`sluice ${kind.name} rotate --at 2027-02-01T00:00:00Z`])
      .option('--at <when>', 'when it is active: a time or a duration of at least 10m (default: 15m)')
      .option('-y, --yes', 'do not ask for confirmation')
      .action(async (options: Options) => {
        const { io } = session
        const connection = session.connect(options)
        const table = await connection.configTable()
        const { ring, stored } = await readKeyRing(kind, table)
        if (!stored) throw new UserError(missing)
        if (full !== undefined && ring.keys.length === MAX_RING_KEYS) throw new UserError(full)
        const next = ring.nextAfter(io.clock())
        if (next)
          throw new UserError(`there already is a new secret, active from ${iso(next.activeFrom)}: wait until then`)
        const whenActive = await activation(options.at, connection, io.clock)
        await confirm(`At ${iso(whenActive())} ${consequence}`, io, options, () => connection.describe('config'))
        const activeFrom = whenActive()
        const all = [...ring.keys, newRingKey(activeFrom)].slice(-MAX_RING_KEYS)
        await io.interrupts.during(() => writeKeyRing(kind, table, stored, all))
        tell(session, options, `the new secret is written, and active from ${iso(activeFrom)}`, {
          activeFrom: iso(activeFrom),
        })
      })
  }

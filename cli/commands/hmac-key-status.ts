import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { fromText, iso, readHmacKeys } from '../tables/hmac-key'

export const addHmacKeyStatus: AddCommand = (group, session) => {
  describeTableCommand(
    group,
    'status',
    'Show how many secrets the deployment has and from when each is active, but not the secrets.',
    ['sluice hmac-key status'],
  ).action(async (options: OutputOptions) => {
    const { print, io } = session
    const { keys } = await readHmacKeys(await session.connect(options).configTable())
    const active = keys.activeAt(io.clock())
    const all = keys.keys.map((key) => ({
      state: key === active ? 'active' : key.activeFrom > io.clock() ? 'to come' : 'former',
      activeFrom: iso(key.activeFrom),
      carriedFrom: key.carriedFrom === undefined ? null : iso(key.carriedFrom),
    }))
    if (options.json) return print.json({ keyed: active !== undefined, keys: all })
    if (!active)
      print.line(
        'subjects are stored under SHA-256 without a secret: anybody who can read the state table can find out which addresses are in it',
      )
    if (all.length === 0) return print.note('create a secret with sluice hmac-key enable')
    print.table(
      ['secret', 'active from', 'counters copied from'],
      all.map(({ state, carriedFrom }, i) => [state, fromText(keys.keys[i]!.activeFrom), carriedFrom ?? '-']),
    )
  })
}

import { type AddCommand, type Answering, describeAnswering } from '../command'
import { iso, readHmacKeys } from '../hmac-key'

export const addHmacKeyStatus: AddCommand = (group, session) => {
  describeAnswering(group, 'status', 'Say which secrets the deployment has, and since when. Shows none of them.', [
    'sluice hmac-key status',
  ]).action(async (options: Answering) => {
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
        'subjects are stored under SHA-256 without a secret: whoever has the state table can find out which addresses are in it',
      )
    if (all.length === 0) return print.note('sluice hmac-key enable gives this deployment a secret')
    print.table(
      ['secret', 'active from', 'counters copied from'],
      all.map(({ state, activeFrom, carriedFrom }) => [state, activeFrom, carriedFrom ?? '-']),
    )
  })
}

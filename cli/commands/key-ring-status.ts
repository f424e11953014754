import { recordsBySigner } from '../callers/signatures'
import { type AddCommand, describeTableCommand, type OutputOptions } from '../command'
import { type RingKey, type RingKind, signingKeyId } from '../facade/tables'
import type { EpochMs } from '../facade/values'
import type { ConfigTable } from '../tables/config-table'
import { fromText, iso, readKeyRing } from '../tables/key-ring'

/** What is shown of a secret beside its times. */
type Details = Readonly<Record<string, string | number | null>>

interface Shown {
  readonly description: string
  readonly headings: readonly string[]
  readonly advice: string
  /** What the absence of an active secret means. */
  readonly withoutActive?: string
  detailsOf(table: ConfigTable, now: EpochMs): Promise<(key: RingKey) => Details>
}

const SHOWN: Readonly<Record<RingKind['name'], Shown>> = {
  'hmac-key': {
    description: 'Show the secrets of the deployment and from when each is active.',
    headings: ['counters copied from'],
    advice: 'create a secret with sluice hmac-key enable',
    withoutActive:
      'subjects are stored under SHA-256 without a secret: readers of the state table can find out which addresses are in it',
    detailsOf: async () => (key) => ({ carriedFrom: key.carriedFrom === undefined ? null : iso(key.carriedFrom) }),
  },
  'signing-key': {
    description:
      'Show the signing keys: their ids, from when each is active and how many API keys in use it has signed.',
    headings: ['id', 'API keys'],
    advice: 'there is no signing key yet: sluice clients create makes it',
    async detailsOf(table, now) {
      const records = await recordsBySigner(table, now)
      return (key) => ({ id: signingKeyId(key), apiKeys: records.get(signingKeyId(key))?.length ?? 0 })
    },
  },
}

export const addKeyRingStatus =
  (kind: RingKind): AddCommand =>
  (group, session) => {
    const { description, headings, advice, withoutActive, detailsOf } = SHOWN[kind.name]
    describeTableCommand(group, 'status', description, [`sluice ${kind.name} status`]).action(
      async (options: OutputOptions) => {
        const { print, io } = session
        const table = await session.connect(options).configTable()
        const { keys, ...ring } = await allOf(table)
        const all = keys.map(({ key, details }) => ({
          state: key === ring.active ? 'active' : key.activeFrom > io.clock() ? 'to come' : 'former',
          activeFrom: iso(key.activeFrom),
          ...details,
        }))
        if (options.json) return print.json({ ...(withoutActive && { keyed: ring.active !== undefined }), keys: all })
        if (withoutActive && !ring.active) print.line(withoutActive)
        if (all.length === 0) return print.note(advice)
        print.table(
          ['secret', 'active from', ...headings],
          keys.map(({ key, details }, i) => [
            all[i]!.state,
            fromText(key.activeFrom),
            ...Object.values(details).map((value) => String(value ?? '-')),
          ]),
        )
      },
    )

    async function allOf(table: ConfigTable) {
      const { ring } = await readKeyRing(kind, table)
      const details = await detailsOf(table, session.io.clock())
      return {
        active: ring.activeAt(session.io.clock()),
        keys: ring.keys.map((key) => ({ key, details: details(key) })),
      }
    }
  }

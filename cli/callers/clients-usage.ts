import type { StoredItem } from '../../provisioning/documents'
import type { Session } from '../command'
import { parseClientItem } from '../facade/callers'
import { type Usage, usageOf } from '../facade/counters'
import { limiterOver, readOnlyParts } from '../facade/decisions'
import { poolsNamedIn } from '../facade/pools'
import type { StateStore } from '../facade/tables'
import type { Connection } from '../tables/connection'
import { claimWith } from './asked'
import { batchStates } from './batch-states'
import { stateOf } from './client-records'
import { type Counted, countedOf } from './counted'
import { ipv6Prefix } from './limits'
import { NOWHERE, placeNamed } from './place'
import { type Known, readKnown, type Subject, toSubject } from './subjects'

/** How near a client is to one of its limits. */
interface ClientUsage {
  readonly id: string
  readonly tier: string | null
  readonly state: string
  /** Why limits do not decide its requests, such as `blocked`; null where they do. */
  readonly reason: string | null
  /** The part of the policy's quota that is gone; 1 and more where nothing is left. */
  readonly nearness: number
  /** The policy that is nearest to its limit. */
  readonly nearest: Usage
}

export interface NearestClients {
  readonly clients: readonly ClientUsage[]
  /** Of how many. */
  readonly count: number
  /** Clients that no policy counts, as they were asked for. */
  readonly uncounted: number
  /** Records that are invalid. */
  readonly invalid: number
}

/** Clients whose state is read at once, and how many such reads are under way. */
const TOGETHER = 100
const AT_ONCE = 4

/** A store that has been read. */
const readAlready = (items: ReadonlyMap<string, Awaited<ReturnType<StateStore['read']>>>): StateStore => {
  const none = () => Promise.reject(new Error('nothing is written here'))
  return { read: async (key) => items.get(key)!, write: none, delete: none }
}

/**
 * The clients that are nearest to a limit, the nearest first. The authorizer's own steps say what each is held to, as
 * for `usage`; nothing is charged. Of the table no more is kept than a page and the nearest so far.
 *
 * @param most clients returned.
 * @param place the API or stage that requests are for; `undefined`: what holds for all.
 * @param tier of which clients are looked at; `undefined`: all.
 */
export async function nearestClients(
  session: Session,
  connection: Connection,
  most: number,
  place: string | undefined,
  tier: string | undefined,
): Promise<NearestClients> {
  const { clock } = session.io
  const table = await connection.configTable()
  const stateTable = await connection.tableName('state')
  const known = await readKnown(table)
  const at = place === undefined ? NOWHERE : placeNamed(place, '--api', known.configuration.policies.apis)
  const seen = new Set<string>()
  let clients: readonly ClientUsage[] = []
  let uncounted = 0
  let invalid = 0
  const look = async (records: readonly StoredItem[]) => {
    const subjects = await subjectsOf(records)
    const counted = subjects.map(countedOf)
    const keys = counted.flat().map(({ key }) => key)
    const items = await batchStates(connection.client, stateTable, keys)
    const pools = [...items].flatMap(([key, item]) => poolsNamedIn(key, item).flatMap(({ keys }) => keys))
    const store = readAlready(new Map([...items, ...(await batchStates(connection.client, stateTable, pools))]))
    const limiter = limiterOver(store, clock)
    const found = await Promise.all(
      subjects.map((subject, i) => usageOfClient(subject, counted[i]!, { limiter, store }, clock())),
    )
    uncounted += found.filter((one) => one === undefined).length
    const all = [...clients, ...found.filter((one) => one !== undefined)]
    clients = all.sort((a, b) => b.nearness - a.nearness || (a.id < b.id ? -1 : 1)).slice(0, most)
  }
  const subjectsOf = (records: readonly StoredItem[]): Promise<Subject[]> => {
    const byCredential = new Map(records.map((record) => [record.item.pk.slice('client#'.length), record]))
    const parts = {
      ...readOnlyParts({
        client: connection.client,
        configTable: table.name,
        limiter: { peek: () => Promise.reject(new Error('no quota is read here')) },
        clock,
        ipv6Prefix: ipv6Prefix(session),
      }),
      configuration: { current: async () => known.configuration },
      clients: {
        find: async (credential: string) => {
          const record = byCredential.get(credential)
          return record && parseClientItem(record.item, [])
        },
      },
    }
    return Promise.all(records.map((record) => subjectFor(record, at, known, parts)))
  }

  for await (const page of table.clientPages()) {
    const due = page.filter((record) => {
      if (tier !== undefined && record.item.tier !== tier) return false
      const client = parseClientItem(record.item, [])
      if (!client) invalid++
      if (!client || seen.has(client.id)) return false
      seen.add(client.id)
      return true
    })
    const chunks = Array.from({ length: Math.ceil(due.length / TOGETHER) }, (_, i) =>
      due.slice(i * TOGETHER, (i + 1) * TOGETHER),
    )
    const work = async () => {
      for (let chunk = chunks.pop(); chunk; chunk = chunks.pop()) await look(chunk)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }
  return { clients, count: seen.size, uncounted, invalid }
}

function subjectFor(
  record: StoredItem,
  at: Subject['at'],
  known: Known,
  parts: Parameters<typeof toSubject>[2],
): Promise<Subject> {
  const claim = claimWith(record.item.pk, known.configuration.policies.settings.identity)
  return toSubject({ name: `client:${record.item.id}`, at, kind: 'client', claim, record }, known, parts)
}

async function usageOfClient(
  subject: Subject,
  counted: readonly Counted[],
  asked: Parameters<typeof usageOf>[0],
  now: number,
): Promise<ClientUsage | undefined> {
  if (counted.length === 0) return undefined
  const { record } = subject.asked
  const all = await usageOf(asked, counted, now)
  const [nearest] = all.map((usage) => ({ usage, nearness: nearnessOf(usage) })).sort((a, b) => b.nearness - a.nearness)
  return (
    nearest && {
      id: String(record!.item.id),
      tier: subject.tier?.name ?? null,
      state: stateOf(record!.item, now),
      reason: subject.beforeLimits ?? null,
      nearness: nearest.nearness,
      nearest: nearest.usage,
    }
  )
}

/** A part of a quota that is gone; who is locked out, or is past it, has nothing left. */
function nearnessOf({ used, remaining, limit, lockedOutMs }: Usage): number {
  if (remaining === 0 || lockedOutMs !== undefined) return Math.max(1, used / limit)
  return used / (used + remaining)
}

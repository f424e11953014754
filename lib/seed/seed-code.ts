import { type DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import { splitVariant } from '../../lambda/config-table/items/scopes'
import { type AuditTrail, withRecords } from '../../provisioning/audit-trail'
import { inWritingOrder } from '../../provisioning/change-order'
import { allPages, type ExactItem, keepExact, readPartition, type StoredItem } from '../../provisioning/documents'
import { fitOneTransaction, type GuardedWrite } from '../../provisioning/guarded-writes'
import { assertRoom, type Change, contentHash, diff, isInFile, type PolicySetItem } from '../../provisioning/tiers-file'
import { AUTHORITY_KEY, type Authority, beginning, type Deployment, hashOfCode, joinedBy } from './authority'
import { retried, write } from './retried'
import { SEED_PARTITION } from './seed-partition'

/** The result for each item, by sort key. */
type CodeReport = Readonly<Record<string, 'written' | 'removed' | 'unchanged' | 'kept'>>

/** The result of a deployment with authority. */
export interface SeededCode {
  readonly report: CodeReport
  /** Edits of others that were undone, such as `tier#free (changed)`: the first of them, and their number. */
  readonly undone: readonly string[]
  readonly undoneCount: number
}

/** As many names as an output can show. */
const MAX_UNDONE = 100

/** One item and its note, which are written together. */
interface Step {
  readonly sk: string
  readonly writes: readonly GuardedWrite[]
  /** The edits of others that it undoes. */
  readonly undoes?: string
}

/**
 * Makes the tiers, routes and settings of a table those of the code, if the code differs from the last one seeded:
 * nothing else is written, and others' edits since are logged and then undone. Tiers that clients still name are not
 * removed: the deployment fails before it writes anything, or, if it returns to the previous code, as a rollback does,
 * they are kept.
 *
 * More than fits one transaction is written in several, in an order in which nothing refers to a tier that is missing.
 *
 * @param log gets each item that is undone, before that.
 * @param trail records what is written.
 */
export async function seedCode(
  documents: DynamoDBDocumentClient,
  table: string,
  deployment: Deployment,
  items: readonly PolicySetItem[],
  log: (line: object) => void,
  trail?: AuditTrail,
): Promise<SeededCode> {
  const code = hashOfCode(items)
  const logged = new Set<string>()
  /** Tiers that this deployment removes, retries included. */
  const leaving = new Set<string>()
  return retried(async () => {
    const notes = bySortKey(await readPartition(documents, table, SEED_PARTITION))
    const stored = await readPartition(documents, table, CONFIG_TABLE.policySet)
    const held = bySortKey(stored.filter(({ item }) => isInFile(item)))
    const present = [...held.values()].map(({ item }) => item)
    const last = notes.get(AUTHORITY_KEY.sk)
    const known = last?.item as Authority | undefined
    const joined = joinedBy(known, deployment)
    const writeWith = async (after: Authority, before: ExactItem | undefined, writes: readonly GuardedWrite[] = []) => {
      await write(documents, table, [{ key: AUTHORITY_KEY, before, after }, ...writes], trail)
      return after
    }
    // before anything else, so that a later deployment finds this one, and ends it
    if (joined !== known) await writeWith(joined, last?.exact)
    let all = diff(present, items)
    // edits stay until the code changes
    if (joined.code === code && joined.done) return seeded(reportOf(items, [], all), joined)
    const leave = tiersLeaving(all, items)
    const used = await clientsOf(documents, table, leave)
    const kept = used.size > 0 && joined.before === code ? all.filter((change) => isRemovalOf(change, used)) : []
    if (used.size > 0 && kept.length === 0) throw stillNamed(used, 'nothing was written')
    all = all.filter((change) => !kept.includes(change))
    for (const tier of leave) if (!used.has(tier)) leaving.add(tier)
    assertRoom(stored.length + all.reduce((sum, { kind }) => sum + { add: 1, change: 0, remove: -1 }[kind], 0), [
      'table',
    ])

    const steps = [
      ...inWritingOrder(all).map((change) => toStep(change, held, notes)),
      ...noteSteps(items, held, notes, all),
    ]
    for (const { sk, undoes: edit } of steps) {
      const was = held.get(sk)?.item
      const text = JSON.stringify([sk, was && contentHash(was)])
      if (edit === undefined || logged.has(text)) continue
      logged.add(text)
      log({ level: 'warn', message: 'undoes an edit of the config table', table, item: sk, edit, was })
    }
    let before = joined === known ? last!.exact : joined
    let authority = beginning(joined, code)
    for (let left: readonly Step[] = steps; left.length > 0; ) {
      const batch = asManyAsFit(left)
      const undone = batch.flatMap(({ sk, undoes }) => (undoes === undefined ? [] : [`${sk} (${undoes})`]))
      authority = {
        ...authority,
        undone: [...authority.undone, ...undone].slice(0, MAX_UNDONE),
        undoneCount: authority.undoneCount + undone.length,
      }
      before = await writeWith(
        authority,
        before,
        batch.flatMap(({ writes }) => writes),
      )
      left = left.slice(batch.length)
    }
    const late = await clientsOf(documents, table, [...leaving])
    if (late.size > 0) throw stillNamed(late, 'they were given it at this moment, and it has left the table')
    return seeded(reportOf(items, all, kept), await writeWith({ ...authority, done: true }, before))
  })
}

const seeded = (report: CodeReport, { undone, undoneCount }: Authority): SeededCode => ({ report, undone, undoneCount })

/** @param kept changes that were not made. */
function reportOf(items: readonly PolicySetItem[], done: readonly Change[], kept: readonly Change[]): CodeReport {
  return Object.fromEntries([
    ...items.map(({ sk }) => [sk, 'unchanged'] as const),
    ...done.map(({ sk, kind }) => [sk, kind === 'remove' ? 'removed' : 'written'] as const),
    ...kept.map(({ sk }) => [sk, 'kept'] as const),
  ])
}

/** Names of tiers that callers can no longer have after these changes. */
function tiersLeaving(changes: readonly Change[], items: readonly PolicySetItem[]): string[] {
  const names = new Set(items.map(({ sk }) => sk))
  return [...new Set(changes.flatMap((change) => (isTierRemoval(change) ? baseOf(change.sk) : [])))].filter(
    (name) => !names.has(`tier#${name}`),
  )
}

const isTierRemoval = ({ kind, sk }: Change): boolean => kind === 'remove' && sk.startsWith('tier#')
const isRemovalOf = (change: Change, tiers: ReadonlyMap<string, unknown>): boolean =>
  isTierRemoval(change) && tiers.has(baseOf(change.sk))

const baseOf = (sk: string): string => splitVariant(sk.slice('tier#'.length))[0]

/** The ids of clients that name one of these tiers, by tier. No other attribute is read. */
async function clientsOf(
  documents: DynamoDBDocumentClient,
  TableName: string,
  tiers: readonly string[],
): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  if (tiers.length === 0) return found
  const clients = await allPages((ExclusiveStartKey) =>
    documents.send(
      new ScanCommand({
        TableName,
        FilterExpression: 'begins_with(#pk, :client)',
        ProjectionExpression: '#id, #tier',
        Select: 'SPECIFIC_ATTRIBUTES', // the function's permission covers only these
        ExpressionAttributeNames: { '#pk': CONFIG_TABLE.partitionKey, '#id': 'id', '#tier': 'tier' },
        ExpressionAttributeValues: { ':client': 'client#' },
        ConsistentRead: true,
        ExclusiveStartKey,
      }),
    ),
  )
  for (const { item } of clients) {
    const tier = String(item.tier)
    if (tiers.includes(tier)) found.set(tier, (found.get(tier) ?? new Set()).add(String(item.id)))
  }
  return found
}

function stillNamed(used: ReadonlyMap<string, ReadonlySet<string>>, what: string): Error {
  const tiers = [...used].slice(0, 5).map(([tier, ids]) => {
    const [some, more] = [[...ids].slice(0, 5), ids.size - 5]
    return `${JSON.stringify(tier)}: ${some.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  })
  return new Error(
    `clients still have tiers that are not in the code (${what}): ${tiers.join('; ')}. ` +
      'Leave the tier in the code, move them (sluice clients set ID --tier NAME), then remove it',
  )
}

function toStep(
  { sk, kind, after }: Change,
  held: ReadonlyMap<string, StoredItem>,
  notes: ReadonlyMap<string, StoredItem>,
): Step {
  const [now, note] = [held.get(sk), notes.get(sk)]
  const key = { pk: CONFIG_TABLE.policySet, sk }
  const isOurs = now && contentHash(now.item) === note?.item.hash
  const edit = isOurs ? undefined : now ? (note ? 'changed' : 'added') : note ? 'deleted' : undefined
  return {
    sk,
    ...(edit !== undefined && { undoes: edit }),
    writes: [
      { key, before: now?.exact, after: after && keepExact(after, now) },
      ...noteWrites(sk, note, kind === 'remove' ? undefined : after),
    ],
  }
}

/**
 * Notes to write or delete for items that need no write: a missing one, or one for an item that is neither in the table
 * nor in the code.
 */
function noteSteps(
  items: readonly PolicySetItem[],
  held: ReadonlyMap<string, StoredItem>,
  notes: ReadonlyMap<string, StoredItem>,
  changes: readonly Change[],
): Step[] {
  const changed = new Set(changes.map(({ sk }) => sk))
  const wanted = bySk(items)
  const stale = [...notes.keys()].filter((sk) => isInFile({ sk }) && !wanted.has(sk) && !held.has(sk))
  return [...items.map(({ sk }) => sk), ...stale].flatMap((sk) => {
    const writes = changed.has(sk) ? [] : noteWrites(sk, notes.get(sk), wanted.get(sk))
    return writes.length > 0 ? [{ sk, writes }] : []
  })
}

function noteWrites(sk: string, note: StoredItem | undefined, item: PolicySetItem | undefined): GuardedWrite[] {
  const key = { pk: SEED_PARTITION, sk }
  const hash = item && contentHash(item)
  if (note?.item.hash === hash) return []
  return [{ key, before: note?.exact, after: hash === undefined ? undefined : { ...key, hash } }]
}

/** As many of the first steps as fit one transaction beside the authority; at least one. */
function asManyAsFit(steps: readonly Step[]): readonly Step[] {
  const own: GuardedWrite = { key: AUTHORITY_KEY, after: { text: 'x'.repeat(20_000) } }
  const fits = (some: readonly Step[]) => fitOneTransaction(withRecords([own, ...some.flatMap(({ writes }) => writes)]))
  let length = Math.min(steps.length, 99)
  while (length > 1 && !fits(steps.slice(0, length))) length -= 1
  return steps.slice(0, length)
}

const bySortKey = (stored: readonly StoredItem[]) => new Map(stored.map((one) => [one.item.sk, one]))
const bySk = (items: readonly PolicySetItem[]) => new Map(items.map((item) => [item.sk, item]))

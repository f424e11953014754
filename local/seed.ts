import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { planApply } from '../cli/tiers/apply-plan'
import { CONFIG_TABLE, clientKey } from '../lambda/config-table/items/config-keys'
import { splitVariant } from '../lambda/config-table/items/scopes'
import { ANONYMOUS } from '../lambda/config-table/items/tiers'
import { hashApiKey } from '../lambda/identity/api-key'
import { seedItems, seedKeyRings } from '../lib/seed/seed-items'
import { ConfigError } from '../limiter/errors'
import { createStateTable } from '../limiter/stores/state-table'
import { AuditTrail, newChangeId, withRecords } from '../provisioning/audit-trail'
import { documentsOf, keepExact, readPartition } from '../provisioning/documents'
import { fitOneTransaction, type GuardedWrite, tryWrite } from '../provisioning/guarded-writes'
import { writeRecorded } from '../provisioning/recorded-writes'
import { itemsOf, type TiersFile } from '../provisioning/tiers-file'
import { createConfigTable } from '../tiered/create-config-table'
import { reasonOf, StartError } from './start-error'

interface Tables {
  readonly state: string
  readonly config: string
}

interface SampleKey {
  readonly apiKey: string
  readonly id: string
  readonly tier: string
}

/**
 * A key for each tier but the anonymous one, to try the local gateway. They are in clear because they give access to
 * nothing.
 */
export const keysOf = ({ tiers }: TiersFile): SampleKey[] =>
  [...new Set(Object.keys(tiers).map((tier) => splitVariant(tier)[0]))]
    .filter((tier) => tier !== ANONYMOUS)
    .map((tier) => ({ apiKey: `demo-${tier}-key`, id: `demo-${tier}`, tier }))

/**
 * Creates missing tables, and seeds the config table as a deployment does: the tiers and routes of the file, the
 * secrets of a deployment, and the sample keys. Edited items are kept.
 *
 * @returns the sort keys of items that were kept because they were edited, and differ from those of the file.
 */
export async function seed(client: DynamoDBClient, tables: Tables, file: TiersFile): Promise<string[]> {
  await createStateTable(client, tables.state)
  await createConfigTable(client, tables.config)
  const documents = documentsOf(client)
  const trail = newTrail()
  await seedKeyRings(documents, tables.config, trail)
  const report = await seedItems(documents, tables.config, itemsOf(file), trail)
  await seedKeys(client, tables, file)
  return Object.keys(report).filter((sk) => report[sk] === 'kept')
}

/**
 * Writes a file that was saved while the gateway runs: it writes what the file has, and deletes what was deleted from
 * the file. What others put into the table stays, and so do clients, the block list and the switch. In one transaction,
 * if the engine has transactions.
 *
 * @param last the file as it was in force before.
 * @returns the sort keys of items that were deleted, and of those that the file has never had.
 * @throws ConfigError if the table would be invalid, WriteConflictError if an item was edited meanwhile.
 */
export async function replaceTiers(
  client: DynamoDBClient,
  tables: Tables,
  file: TiersFile,
  last: TiersFile,
): Promise<{ readonly removed: readonly string[]; readonly kept: readonly string[] }> {
  const documents = documentsOf(client)
  const stored = await readPartition(documents, tables.config, CONFIG_TABLE.policySet)
  const had = new Set(itemsOf(last).map(({ sk }) => sk))
  const { changes, kept, issues } = planApply(
    stored.map(({ item }) => item),
    file,
    (sk) => had.has(sk),
  )
  if (issues.length > 0) throw new ConfigError(issues)
  const before = new Map(stored.map((one) => [one.item.sk, one]))
  const writes = changes.map(
    ({ sk, after }): GuardedWrite => ({
      key: { pk: CONFIG_TABLE.policySet, sk },
      before: before.get(sk)?.exact,
      after: after && keepExact(after, before.get(sk)),
    }),
  )
  const trail = newTrail()
  const isDone =
    fitOneTransaction(withRecords(writes)) && (await writeRecorded(documents, tables.config, writes, trail))
  if (!isDone) await writeOneByOne(documents, tables.config, writes, trail)
  await seedKeys(client, tables, file)
  const removed = changes.filter(({ kind }) => kind === 'remove').map(({ sk }) => sk)
  const samples = new Set(keysOf(file).map(({ apiKey }) => apiKey))
  for (const one of keysOf(last)) if (!samples.has(one.apiKey)) await removeKey(client, tables, one)
  return { removed, kept }
}

/** The gateway's writes are recorded like a deployment's. */
const newTrail = (): AuditTrail => {
  const about = { change: newChangeId(), by: 'sluice dev', how: 'sluice dev' }
  return new AuditTrail(async () => about, Date.now)
}

/** An instance that reads the table in between keeps what it has if that is invalid. */
async function writeOneByOne(
  documents: DynamoDBDocumentClient,
  table: string,
  writes: readonly GuardedWrite[],
  trail: AuditTrail,
): Promise<void> {
  for (const [done, write] of writes.entries()) {
    await writeRecorded(documents, table, [write], trail).catch((error) => {
      throw new StartError(`${done} of ${writes.length} changes were written: ${reasonOf(error)}. Save the file again`)
    })
  }
}

async function seedKeys(client: DynamoDBClient, { config }: Tables, file: TiersFile): Promise<void> {
  for (const { apiKey, ...sample } of keysOf(file)) {
    const key = clientKey(hashApiKey(apiKey))
    await tryWrite(documentsOf(client), config, { key, after: { ...key, ...sample } })
  }
}

/** The sample key of a removed tier, unless it was made another client's. */
async function removeKey(client: DynamoDBClient, { config }: Tables, { apiKey, ...sample }: SampleKey): Promise<void> {
  const key = clientKey(hashApiKey(apiKey))
  await tryWrite(documentsOf(client), config, { key, before: { ...key, ...sample } })
}

import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb'
import { CONFIG_TABLE } from '../../lambda/config-table/items/config-keys'
import { SIGNING_RING } from '../../lambda/config-table/items/signing-keys'
import { HMAC_RING } from '../../lambda/config-table/subject-keys'
import type { AuditTrail } from '../../provisioning/audit-trail'
import { readPartition, type StoredItem } from '../../provisioning/documents'
import { makeKeyRing } from '../../provisioning/make-key-ring'
import { tryRecorded } from '../../provisioning/recorded-writes'
import { contentHash, type PolicySetItem } from '../../provisioning/tiers-file'
import { SEED_PARTITION } from './seed-partition'

/** The result for each item, by sort key. */
export type SeedReport = Readonly<Record<string, 'written' | 'unchanged' | 'kept'>>

/**
 * Writes items of the policy set, but never over an edit: an item is written if it does not exist or still is what the
 * last deployment wrote. Items that are no longer in the file are kept.
 *
 * @param trail records the writes; without it nothing is recorded.
 */
export async function seedItems(
  documents: DynamoDBDocumentClient,
  tableName: string,
  items: readonly PolicySetItem[],
  trail?: AuditTrail,
): Promise<SeedReport> {
  const present = bySortKey(await readPartition(documents, tableName, CONFIG_TABLE.policySet))
  const seeded = bySortKey(await readPartition(documents, tableName, SEED_PARTITION))
  const report: Record<string, SeedReport[string]> = {}
  for (const item of items) {
    const { pk, sk } = item
    const [hash, now, last] = [contentHash(item), present.get(sk), seeded.get(sk)?.item.hash]
    const isWanted = now !== undefined && contentHash(now.item) === hash
    const isFree = now === undefined || contentHash(now.item) === last
    const write = { key: { pk, sk }, before: now?.exact, after: item }
    report[sk] = isWanted
      ? 'unchanged'
      : isFree && (await tryRecorded(documents, tableName, write, trail))
        ? 'written'
        : 'kept'
    // After the item: if this write is lost, the next deployment finds the item as wanted and writes the note.
    if (report[sk] !== 'kept' && last !== hash)
      await documents.send(new PutCommand({ TableName: tableName, Item: { pk: SEED_PARTITION, sk, hash } }))
  }
  return report
}

/**
 * Gives a deployment its secrets if it has none: the one with which API keys are signed, and, if it is new, the one
 * under which it stores subjects. A table with tiers gets none of the latter, because its counters may be in use and
 * would start at zero: use `sluice hmac-key enable` there.
 */
export async function seedKeyRings(
  documents: DynamoDBDocumentClient,
  tableName: string,
  trail?: AuditTrail,
): Promise<void> {
  const present = await readPartition(documents, tableName, CONFIG_TABLE.policySet)
  const kinds = present.length === 0 ? [HMAC_RING, SIGNING_RING] : [SIGNING_RING]
  for (const kind of kinds) await makeKeyRing(kind, documents, tableName, trail)
}

const bySortKey = (stored: readonly StoredItem[]) => new Map(stored.map((one) => [one.item.sk, one]))

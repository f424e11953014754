import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { parse } from 'yaml'
import { CONFIG_TABLE, clientKey } from '../lambda/config-table/items/config-items'
import { hashApiKey } from '../lambda/identity/api-key'
import { seedHmacKey, seedItems } from '../lib/seed/seed-items'
import { createStateTable, createTable } from '../limiter/stores/state-table'
import { documentsOf } from '../provisioning/documents'
import { tryWrite } from '../provisioning/guarded-writes'
import { checkTiersFile, itemsOf, type TiersFile } from '../provisioning/tiers-file'

/** Keys to try the local gateway with. They are in clear because they give access to nothing. */
export const SAMPLE_KEYS = [
  { apiKey: 'demo-free-key', id: 'demo-free', tier: 'free' },
  { apiKey: 'demo-pro-key', id: 'demo-pro', tier: 'pro' },
  { apiKey: 'demo-enterprise-key', id: 'demo-enterprise', tier: 'enterprise' },
] as const

const TIERS_FILE = path.join(__dirname, '..', 'tiers.yaml')

/**
 * Creates both tables where they are missing, and seeds the config table as a deployment does: the tiers and routes of
 * `tiers.yaml`, a secret for the hashes of subjects where there are no tiers yet, and the sample keys. Edited items are
 * kept.
 *
 * @returns the sort keys of items that were kept because they were edited, and differ from those of the file.
 * @throws ConfigError with every mistake in `tiers.yaml`; nothing is written then.
 */
export async function seed(
  client: DynamoDBClient,
  tables: { readonly state: string; readonly config: string },
): Promise<string[]> {
  const file: unknown = parse(await readFile(TIERS_FILE, 'utf8'))
  checkTiersFile(file, 'tiers.yaml')

  await createStateTable(client, tables.state)
  await createTable(client, tables.config, [CONFIG_TABLE.partitionKey, CONFIG_TABLE.sortKey])
  const documents = documentsOf(client)
  await seedHmacKey(documents, tables.config)
  const report = await seedItems(documents, tables.config, itemsOf(file as TiersFile))
  for (const { apiKey, ...sample } of SAMPLE_KEYS) {
    const key = clientKey(hashApiKey(apiKey))
    await tryWrite(documents, tables.config, { key, after: { ...key, ...sample } })
  }
  return Object.keys(report).filter((sk) => report[sk] === 'kept')
}

import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { parse } from 'yaml'
import { CONFIG_TABLE, clientKey } from '../lambda/config-table/items/config-items'
import { parseTiersFile } from '../lambda/config-table/items/policy-set'
import { hashApiKey } from '../lambda/identity/api-key'
import { createStateTable, createTable } from '../limiter/stores/state-table'
import { documentsOf } from '../provisioning/documents'
import { makeHmacKey } from '../provisioning/make-hmac-key'
import { itemsOf, type TiersFile } from '../provisioning/tiers-file'

/** Keys to try the local gateway with. They are in the clear because they open nothing. */
export const SAMPLE_KEYS = [
  { apiKey: 'demo-free-key', id: 'demo-free', tier: 'free' },
  { apiKey: 'demo-pro-key', id: 'demo-pro', tier: 'pro' },
  { apiKey: 'demo-enterprise-key', id: 'demo-enterprise', tier: 'enterprise' },
] as const

const TIERS_FILE = path.join(__dirname, '..', 'tiers.yaml')

/**
 * Makes both tables where they are missing, and writes the tiers and routes of `tiers.yaml`, the sample keys and, where
 * there is none, a secret for the subjects' hashes into the config table.
 *
 * @throws ConfigError with every mistake in `tiers.yaml`; nothing is written then.
 */
export async function seed(
  client: DynamoDBClient,
  tables: { readonly state: string; readonly config: string },
): Promise<void> {
  const file: unknown = parse(await readFile(TIERS_FILE, 'utf8'))
  parseTiersFile(file, 'tiers.yaml')

  await createStateTable(client, tables.state)
  await createTable(client, tables.config, [CONFIG_TABLE.partitionKey, CONFIG_TABLE.sortKey])
  const documents = documentsOf(client)
  await makeHmacKey(documents, tables.config)
  const clients = SAMPLE_KEYS.map(({ apiKey, ...sample }) => ({ ...clientKey(hashApiKey(apiKey)), ...sample }))
  const items = [...itemsOf(file as TiersFile), ...clients]
  for (const Item of items) await documents.send(new PutCommand({ TableName: tables.config, Item }))
}

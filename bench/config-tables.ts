import { BatchWriteCommand, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { clientKey } from '../lambda/config-table/items/config-keys'
import { hashApiKey } from '../lambda/identity/api-key'
import type { PolicyInput } from '../limiter'
import { type PolicySetItem as Item, itemsOf } from '../provisioning/tiers-file'
import { createConfigTable } from '../tiered/create-config-table'
import type { CountingClient } from './engine'
import { PLENTY } from './policies'

/** What a config table holds: so many of each, three policies to a tier. */
export interface ConfigSize {
  readonly tiers: number
  readonly clients: number
  readonly routes: number
}

/** Items that DynamoDB takes in one `BatchWriteItem`. */
const BATCH = 25

/** The API key of one client; that of `client-0` comes first. */
export const apiKeyOf = (client: number): string => `bench key of client ${client}`

/** Makes a config table of that size: the tiers are `anonymous`, `tier-1`, …, and each client has one of them. */
export async function fillConfigTable(client: CountingClient, table: string, size: ConfigSize): Promise<void> {
  await createConfigTable(client, table)
  await putAll(client, table, itemsOfSize(size))
}

/** Writes any number of items, in batches. */
export async function putAll(
  client: CountingClient,
  table: string,
  items: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const documents = DynamoDBDocumentClient.from(client)
  for (let from = 0; from < items.length; from += BATCH) {
    const requests = items.slice(from, from + BATCH).map((Item) => ({ PutRequest: { Item: { ...Item } } }))
    await documents.send(new BatchWriteCommand({ RequestItems: { [table]: requests } }))
  }
}

function itemsOfSize({ tiers, clients, routes }: ConfigSize): Item[] {
  const tierName = (i: number): string => (i % tiers === 0 ? 'anonymous' : `tier-${i % tiers}`)
  const named = <Of>(count: number, name: (i: number) => string, of: (i: number) => Of) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [name(i), of(i)]))
  const set = itemsOf({
    tiers: named(tiers, tierName, () => ({ policies: THREE })),
    routes: named(
      routes,
      (i) => `GET /things/${i}/{id}`,
      (i) => ({ cost: 1 + (i % 3) }),
    ),
  })
  return [...set, ...clientItems(clients, (i) => tierName(i + 1))]
}

/** So many clients with an API key each, and the tiers that they have. */
export const clientItems = (count: number, tierOf: (client: number) => string): Item[] =>
  Array.from({ length: count }, (_, i) => ({
    ...clientKey(hashApiKey(apiKeyOf(i))),
    id: `client-${i}`,
    tier: tierOf(i),
    name: `Client number ${i}`,
  }))

const THREE: readonly PolicyInput[] = [
  { name: 'per-second', algorithm: 'token-bucket', limit: PLENTY, window: '1s', burst: PLENTY },
  { name: 'per-minute', limit: PLENTY, window: '1m' },
  { name: 'per-day', algorithm: 'fixed-window', limit: PLENTY, window: 'day', timezone: 'Europe/Berlin' },
]

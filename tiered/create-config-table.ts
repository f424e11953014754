import { CONFIG_TABLE } from '../lambda/config-table/items/config-keys'
import type { DynamoDbStoreOptions } from '../limiter/stores/dynamodb-store'
import { createTable } from '../limiter/stores/state-table'

/**
 * Makes an empty config table, as `createStateTable` makes a state table, for development and tests. The command
 * `tiers apply` fills it.
 */
export const createConfigTable = (
  client: NonNullable<DynamoDbStoreOptions['client']>,
  tableName: string,
): Promise<void> => createTable(client, tableName, [CONFIG_TABLE.partitionKey, CONFIG_TABLE.sortKey])

import { CONFIG_TABLE } from '../lambda/config-table/items/config-keys'
import type { ConnectionOptions } from '../limiter/stores/connection'
import { createTable } from '../limiter/stores/state-table'

/**
 * Makes an empty config table, as `createStateTable` makes a state table, for development and tests: `npx sluice tiers
 * apply` fills it.
 */
export const createConfigTable = (client: NonNullable<ConnectionOptions['client']>, tableName: string): Promise<void> =>
  createTable(client, tableName, [CONFIG_TABLE.partitionKey, CONFIG_TABLE.sortKey])

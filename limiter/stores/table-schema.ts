import { EXPIRY } from './attributes'

/**
 * Key and expiry of the state table: as `createStateTable` makes it, and as the stack declares it. Here, and not beside
 * what makes tables, so that constructs load without an SDK.
 */
export const STATE_TABLE = { partitionKey: 'pk', timeToLiveAttribute: EXPIRY } as const

/**
 * Beside each seeded item, under the same sort key: the hash of what was last written there. The authorizer never reads
 * this partition.
 */
export const SEED_PARTITION = 'seed'

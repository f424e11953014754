/** The partition of the config table that has a record of each change. The authorizer never reads it. */
export const AUDIT_PARTITION = 'audit'

/** The attribute by which DynamoDB deletes records: epoch seconds. */
export const AUDIT_TIME_TO_LIVE = 'exp'

import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { AuditTrail } from './audit-trail'
import { type GuardedWrite, isWritten, tryWrite, WriteConflictError, writeAlone, writeTogether } from './guarded-writes'

/**
 * Writes items and their record in the audit trail: all of it, or nothing. The SDK gives a transaction a token, so one
 * that it sends again after a lost answer is applied once.
 *
 * An engine without transactions, which AWS's is not, writes one item and then its record.
 *
 * @param trail none: nothing is recorded.
 * @returns false, with nothing written, where several items need a transaction and the engine has none.
 * @throws WriteConflictError when an item has changed; then nothing is written.
 */
export async function writeRecorded(
  documents: DynamoDBDocumentClient,
  tableName: string,
  writes: readonly GuardedWrite[],
  trail: AuditTrail | undefined,
): Promise<boolean> {
  const [only, ...others] = writes
  if (!only) return true
  const records = (await trail?.recordsOf(writes)) ?? []
  if (others.length > 0 || records.length > 0) {
    try {
      if (await writeTogether(documents, tableName, [...writes, ...records])) return true
    } catch (error) {
      // Another writer wrote the same: the item is as wanted, and its record is theirs.
      if (!(error instanceof WriteConflictError) || others.length > 0) throw error
      if (await isWritten(documents, tableName, only)) return true
      throw error
    }
    if (others.length > 0) return false
  }
  await writeAlone(documents, tableName, only)
  for (const record of records) await tryWrite(documents, tableName, record)
  return true
}

/**
 * Writes one item and its record, or nothing if the item has changed.
 *
 * @returns whether it was written.
 */
export async function tryRecorded(
  documents: DynamoDBDocumentClient,
  tableName: string,
  write: GuardedWrite,
  trail: AuditTrail | undefined,
): Promise<boolean> {
  const records = (await trail?.recordsOf([write])) ?? []
  if (records.length > 0)
    try {
      if (await writeTogether(documents, tableName, [write, ...records])) return true
    } catch (error) {
      if (!(error instanceof WriteConflictError) || error.isUnderWay) throw error
      return false
    }
  if (!(await tryWrite(documents, tableName, write))) return false
  for (const record of records) await tryWrite(documents, tableName, record)
  return true
}

import { setTimeout as pause } from 'node:timers/promises'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { AuditTrail } from '../../provisioning/audit-trail'
import { type GuardedWrite, WriteConflictError, writeTogether } from '../../provisioning/guarded-writes'

/** Others may write at the same time, such as the labels of all APIs of an app: each tries for a minute. */
const MAX_WAIT_MS = 60_000
const PAUSE_MS = 400

/** Starts again from the read when another writer wrote in between. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  const until = Date.now() + MAX_WAIT_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof WriteConflictError) || Date.now() > until) throw error
      await pause(Math.random() * PAUSE_MS)
    }
  }
}

/**
 * Writes everything and its record, or nothing.
 *
 * @throws WriteConflictError when an item has changed.
 */
export async function write(
  documents: DynamoDBDocumentClient,
  table: string,
  writes: readonly GuardedWrite[],
  trail?: AuditTrail,
): Promise<void> {
  const records = (await trail?.recordsOf(writes)) ?? []
  if (!(await writeTogether(documents, table, [...writes, ...records])))
    throw new Error('the seed needs a DynamoDB with transactions')
}

import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb'
import type { Clock, EpochMs } from '../../limiter/clock'
import type { Mistake } from '../../limiter/errors'
import { assertDynamoDbResponse } from '../../limiter/stores/dynamodb-response'
import { errorDetails, type Log } from '../telemetry/log'
import { CONFIG_TABLE, fromAttributes } from './items/config-items'
import { HMAC_KEY_ITEM, HMAC_KEY_LEAD_MS, parseHmacKeys } from './items/hmac-key-item'
import { readWithRetry } from './read-with-retry'
import type { SubjectKeys } from './subject-keys'

export interface HmacKeysOptions {
  readonly client: Pick<DynamoDBClient, 'send'>
  readonly tableName: string
  readonly clock: Clock
  /** Time for the first reading, in milliseconds. */
  readonly deadlineMs: number
  readonly log: Log
}

/** How old what is known may get before it is read again, in the background. */
const TTL_MS = 60_000

/**
 * From here on a request waits for the reading: a secret that was written since may be active in a minute. That minute
 * is for clocks that differ.
 */
const CERTAIN_MS = HMAC_KEY_LEAD_MS - 60_000

/**
 * Time for a reading for which a request waits although something is known, and pause after one that failed, in
 * milliseconds.
 */
const LATER_DEADLINE_MS = 600
const RETRY_AFTER_MS = 1000

/**
 * The deployment's secrets in the config table, by which subjects are stored. An instance that has looked within nine
 * minutes knows of every change before it is due; one that was frozen for longer looks before it counts.
 *
 * What cannot be read or understood is never taken for "no secret": an instance goes on with what it knew, and a new
 * one knows nothing.
 */
export class HmacKeys {
  private keys: SubjectKeys | undefined
  /** The item as it was read last. */
  private text: string | undefined
  private issues: readonly Mistake[] = []
  private readAt: EpochMs = Number.NEGATIVE_INFINITY
  private failedAt: EpochMs | undefined
  private reading: Promise<void> | undefined

  constructor(private readonly options: HmacKeysOptions) {}

  /** What is in force, the same object while nothing changes; `undefined` only while nothing could ever be read. */
  async current(): Promise<SubjectKeys | undefined> {
    const age = this.options.clock() - this.readAt
    if ((age >= TTL_MS || age < 0) && !this.hasJustFailed()) this.reading ??= this.read()
    if (this.keys === undefined || age >= CERTAIN_MS || age < 0) await this.reading
    return this.keys
  }

  private hasJustFailed(): boolean {
    const age = this.options.clock() - (this.failedAt ?? -Infinity)
    return age >= 0 && age < RETRY_AFTER_MS
  }

  private async read(): Promise<void> {
    const { client, tableName, log, clock } = this.options
    const isFirst = this.keys === undefined
    try {
      const deadlineMs = isFirst ? this.options.deadlineMs : LATER_DEADLINE_MS
      const startedAt = clock()
      const Key = {
        [CONFIG_TABLE.partitionKey]: { S: HMAC_KEY_ITEM.pk },
        [CONFIG_TABLE.sortKey]: { S: HMAC_KEY_ITEM.sk },
      }
      const { Item } = await readWithRetry({ tableName, deadlineMs, awaited: true }, async (abortSignal) =>
        assertDynamoDbResponse(
          await client.send(new GetItemCommand({ TableName: tableName, Key, ConsistentRead: true }), { abortSignal }),
        ),
      )
      this.take(Item && fromAttributes(Item), JSON.stringify(Item ?? null))
      if (this.keys === undefined) this.failedAt = clock()
      else this.readAt = startedAt
    } catch (error) {
      this.failedAt = clock()
      log('error', 'hmac_key_unreadable', { table: tableName, ...errorDetails(error) })
    } finally {
      this.reading = undefined
    }
  }

  private take(item: Readonly<Record<string, unknown>> | undefined, text: string): void {
    const { log, tableName } = this.options
    if (this.text !== text) {
      const issues: Mistake[] = []
      const parsed = parseHmacKeys(item, issues)
      if (!item && this.keys?.keys.length) log('error', 'hmac_key_missing', { table: tableName }, 'ConfigErrors')
      if (issues.length === 0) this.keys = parsed
      this.issues = issues
      this.text = text
    }
    if (this.issues.length === 0) return
    const details = { item: HMAC_KEY_ITEM.pk, issues: this.issues }
    log('error', 'config_item_invalid', details, 'ConfigErrors')
  }
}
